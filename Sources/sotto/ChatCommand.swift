import Arguments
import Glibc
import SottoBytes
import SottoProgram

/// `sotto chat`: a conversation in a terminal.
struct ChatCommand: Program {
    static let configuration = CommandConfiguration(
        name: "chat",
        abstract:
            "Talk to a contact or a group in the terminal: messages appear as they come, and a line is sent.",
        usage: "sotto chat [-i FILE] WHO",
        discussion: """
            Prints the last 20 messages, then new ones, and marks them as read. A typed line is sent. /reply, /react, \
            /edit and /delete apply to the last message, or with -2 to the one before; /help explains them. Ctrl-D \
            ends the program when the lines are sent, or are in the outbox. In a group, joins, leaves and a new name are \
            lines too.

            A Python script runs group, history, recv, decrypt, compose, encrypt and send. A protected identity must be \
            unlocked before: sotto keygen unlock
            """)

    @Option(
        "-i", "--identity", value: "file",
        help: "Your identity. Default: SOTTO_IDENTITY, else the default identity file.")
    var identity: String?

    @Argument("who", help: "A contact or a group.")
    var who: String

    func execute() throws {
        if let identity { setenv("SOTTO_IDENTITY", identity, 1) }
        let own = try Self.pathOfThisProgram()
        // The first argument is the script's name, which the interpreter replaces.
        SottoDispatcher.replaceProcess(by: "sotto-chat", onPath: "sotto-chat", [own, who])
        throw Failure(
            .configuration, "the program sotto-chat or python3 is not installed",
            hint: "install python3, and sotto-chat next to sotto or on the PATH")
    }

    private static func pathOfThisProgram() throws(Failure) -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        guard count > 0 else { throw Failure(errno: errno, "read", "/proc/self/exe") }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
