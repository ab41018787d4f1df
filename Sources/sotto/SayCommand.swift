import Arguments
import SottoBytes
import SottoProgram

/// `sotto say`: sends a message to a contact or a group.
struct SayCommand: Program {
    static let configuration = CommandConfiguration(
        name: "say", abstract: "Send a message to a contact or a group.",
        usage: "sotto say [--attach FILE] [--anyway] WHO [TEXT ...]",
        discussion: """
            Runs compose text WHO | encrypt | send. With --attach it runs compose file FILE WHO | encrypt | send for \
            each file, and the first one has the text.

            Without TEXT a line is asked for; if standard input is not a terminal, it is the text. Other users of the \
            machine can see the arguments of a command while it runs, so type a secret at the prompt. The tools get the \
            text on standard input.

            EXAMPLES
              sotto say bob 'dinner at 8?'
              sotto say climbing --attach route.jpg 'friday'
              date | sotto say bob
            """)

    @Option(
        "--attach", value: "file",
        help: "Send this file; may be repeated, and each file is a message.")
    var attach: [String] = []

    @Flag(
        "--anyway",
        help:
            "Send a text or file all the same if it is a secret key, an identity or recovery words."
    )
    var anyway = false

    @OptionGroup var identity: SharedIdentityOptions

    @Flag("-q", "--quiet", help: "Print no notes, and not that the message was sent.")
    var quiet = false

    @Argument("who", help: "A contact or a group.")
    var who: String

    @Argument("text", help: "The text; its words are joined by spaces.", values: .any)
    var text: [String] = []

    func execute() throws {
        let identity = try identity.open()
        let input = try words()
        guard !attach.isEmpty else {
            return try send(["text", "--", who], of: identity, input)
        }
        var left: Failure?
        for (place, file) in attach.enumerated() {
            let arguments =
                ["file"] + (quiet ? ["-q"] : []) + (anyway ? ["--anyway"] : []) + [
                    "--", file, who,
                ]
            do {
                try send(arguments, of: identity, place == 0 ? input : [])
            } catch let failure as Failure where failure.status == .tryAgain {
                // The file is in the outbox, so the next one can follow.
                left = failure
            }
        }
        if let left { throw left }
    }

    private func send(
        _ arguments: [String], of identity: SharedIdentity, _ input: [UInt8]?
    ) throws {
        let compose = PipeRun.Stage(
            "compose", arguments.prefix(1) + identity.options + arguments.dropFirst())
        try Delivery(
            compose, of: identity, input: input, quiet: quiet, encrypt: anyway ? ["--anyway"] : []
        ).run(
            needsRecipient: true, printsResults: !quiet)
    }

    /// Returns the text, or `nil` for that on standard input.
    private func words() throws -> [UInt8]? {
        guard text.isEmpty else { return Array(text.joined(separator: " ").utf8) }
        guard Terminal.isTerminal(0) else { return nil }
        guard attach.isEmpty else { return [] }
        return try Terminal.ask("To \(who): ", secret: false).withBytes { Array($0) }
    }
}
