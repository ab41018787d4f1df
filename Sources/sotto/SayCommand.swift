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
            text on standard input. Input that is not UTF-8 is refused. If the words of TEXT are names of files, a terminal \
            asks first: the files are sent with --attach.

            EXAMPLES
              sotto say bob 'dinner at 8?'
              sotto say climbing --attach route.jpg 'friday'
              date | sotto say bob
            """)

    @Option(
        "--attach", value: "file",
        help:
            "Send this file, or - for standard input; may be repeated, and each file is a message.")
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
                ["file"] + (quiet ? ["-q"] : []) + (anyway ? ["--anyway"] : [])
                + (file == "-" ? ["--name", "data"] : []) + ["--", file, who]
            do {
                try send(arguments, of: identity, file == "-" ? nil : place == 0 ? input : [])
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

    /// Returns the text. It is empty without one beside a file.
    private func words() throws -> [UInt8] {
        guard text.isEmpty else {
            try checkNoFiles()
            return Array(text.joined(separator: " ").utf8)
        }
        if attach.contains("-") { return [] }
        guard !Terminal.isTerminal(0) else {
            guard attach.isEmpty else { return [] }
            return try Terminal.ask("To \(who): ", secret: false).withBytes { Array($0) }
        }
        let bytes = try Input(path: nil).readAll(limit: Self.textLimit)
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw Failure(
                .malformed, "the input is not text: it is not UTF-8",
                hint:
                    "to send it as a file: \(command(attaching: [RegularFile.path(of: 0) ?? "-"]))")
        }
        return bytes
    }

    /// The most bytes that are read; compose has a lower limit of its own.
    private static let textLimit = 64 << 20

    /// Asks about a text that is the names of files. In a script a note tells it.
    private func checkNoFiles() throws {
        guard !attach.contains("-") else {
            throw UsageError("standard input is the file, so the message has no text")
        }
        guard text.allSatisfy({ RegularFile.exists(at: $0) }) else { return }
        let isOne = text.count == 1
        let hint = "to send the \(isOne ? "file" : "files"): \(command(attaching: text))"
        guard Terminal.isTerminal(0) else {
            if !quiet { Terminal.note("the text names \(isOne ? "a file" : "files"); \(hint)") }
            return
        }
        let question =
            isOne
            ? "\(text[0]) is a file. Type yes to send its name as the text: "
            : "\(sentence(of: text) ?? "") are files. Type yes to send their names as the text: "
        guard try Terminal.confirms(Terminal.escapingControls(question)) else {
            throw Failure(.no, "nothing was sent", hint: hint)
        }
    }

    /// Returns the command that sends files.
    private func command(attaching files: [String]) -> String {
        let attached = (attach + files).map { " --attach \(shellWord($0))" }.joined()
        return "sotto say\(identity.option)\(attached) \(shellWord(who))"
    }
}
