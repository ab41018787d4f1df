import Arguments
import Glibc
import Sotto
import SottoBytes
import SottoChat
import SottoProgram

/// `chat`: conversations in a terminal. It runs the other tools, and stores no keys and no messages.
@main
struct ChatTool: Program {
    static let configuration = CommandConfiguration(
        name: "chat",
        abstract: "Talk to people and groups in the terminal.",
        usage: "sotto chat [-i FILE] [--notify COMMAND] [WHO]",
        discussion: """
            Without WHO, chat lists the conversations, message requests and invitations: the arrow keys and Enter open one. In a \
            conversation, Enter sends what is typed, and messages appear as they come; what was on the screen is marked as read. \
            The arrow keys select a message, and /help explains the keys and the commands. Mail of all conversations is \
            received while chat runs.

            If standard input or output is no terminal, or if TERM is dumb or not set, chat needs WHO: each line of the input is sent, \
            and messages are printed as lines.

            EXAMPLES
              sotto chat
              sotto chat bob
              sotto chat --notify 'notify-send -- "$1" "$2 new"'
              printf 'dinner at 8\\n' | sotto chat bob
            """,
        version: sottoVersion)

    @Option(
        "-i", "--identity", value: "file",
        help: "Identity file. Default: $SOTTO_IDENTITY, else the default identity file.")
    var identity: String?

    @Option(
        "--notify", value: "command",
        help:
            "Run this command in sh for new messages of a conversation that is not muted; $1 is its name, and $2 the number of unread messages."
    )
    var notify: String?

    @Argument("who", help: "A contact or a group. Default: the list of conversations.")
    var who: String?

    /// Whether the terminal says that it has 256 colours or more, and the user wants colours.
    private static var hasManyColors: Bool {
        environmentVariable("NO_COLOR") == nil
            && (environmentVariable("COLORTERM") != nil
                || environmentVariable("TERM")?.hasSuffix("256color") == true)
    }

    func execute() throws {
        // All tools that are started use this identity.
        if let identity { setenv("SOTTO_IDENTITY", identity, 1) }
        let isScreen =
            Terminal.isTerminal(0) && Terminal.isTerminal(1)
            && environmentVariable("TERM").map { $0 != "dumb" } ?? false
        guard isScreen || who != nil else {
            throw UsageError("without a terminal, chat needs the name of a contact or a group")
        }
        var options = ChatOptions(now: .now()) { LocalClock.time(of: $0) }
        options.who = who
        options.form = isScreen ? .screen : .lines
        options.isInteractive = Terminal.isTerminal(0)
        options.notifies = notify != nil
        options.showsPictures = isScreen && Self.hasManyColors
        options.home = environmentVariable("HOME") ?? ""
        options.hasStandardRelay = environmentVariable("SOTTO_RELAY") != nil
        let signals = try SignalPipe.open()
        let status: Int32
        if isScreen {
            try RawTerminal.open()
            (options.columns, options.rows) = RawTerminal.size()
        }
        var loop = ChatLoop(options, signals: signals, notify: notify)
        do throws(Failure) {
            status = try loop.run()
        } catch {
            loop.end()
            throw error
        }
        loop.end()
        exit(status)
    }
}
