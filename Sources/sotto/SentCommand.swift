import Arguments
import Glibc
import SottoBytes
import SottoProgram

/// `sotto COMMAND … --send`: a command and the tools that send what it prints, as one pipe.
///
/// The tools do not know the option: a program without the network starts none that uses it.
struct SentCommand {
    private let tool: Tool
    private let arguments: [String]
    private let route: SendRoute

    /// Takes the option from the words of a command line; `nil` if they do not have it before `--`.
    ///
    /// Throws a usage error for a command that prints nothing to send.
    init?(_ words: [String]) throws {
        guard let tool = words.first.flatMap({ Tool(rawValue: $0) }),
            let place = Self.place(in: words)
        else {
            return nil
        }
        var arguments = words
        arguments.remove(at: place)
        self.tool = tool
        self.arguments = Array(arguments.dropFirst())
        // send reads the pipe, and an output in a file would leave it nothing.
        let options = self.arguments.prefix { $0 != "--" }
        let isFile = options.contains { option in
            option.hasPrefix("-o") || option == "--output" || option.hasPrefix("--output=")
        }
        guard tool != .encrypt || !isFile else {
            throw UsageError("--send and -o cannot be combined")
        }
        guard let route = SendRoute(tool, command: self.arguments.first) else {
            let command = self.arguments.first.map { " " + $0 } ?? ""
            throw UsageError("\(tool.rawValue)\(command) prints nothing that can be sent")
        }
        self.route = route
    }

    private static func place(in words: [String]) -> Int? {
        words.prefix { $0 != "--" }.firstIndex(of: "--send")
    }

    /// Runs the pipe. Ends with the status of ``PipeRun/Result/status``.
    func run() throws {
        // The help is not sent.
        let options = arguments.prefix { $0 != "--" }
        if options.contains(where: { ["--help", "-h", "--version"].contains($0) }) {
            try Tool.run(tool.rawValue, arguments)
        }
        let words = IdentityWords(arguments)
        let first = { PipeRun.Stage(tool.rawValue, $0) }
        switch route {
        case .messages:
            let identity = try SharedIdentity(path: words.path, source: words.source)
            let pipe = Delivery(
                first(words.arguments(identity)), of: identity, quiet: words.isQuiet)
            // Other commands can have nothing to send.
            try pipe.run(needsRecipient: tool == .compose)
        case .meeting:
            let pairing = try PairingWords(arguments)
            let run = try MeetingRun(tool, pairing.command, code: pairing.code)
            try run.meet(pairing.options, relay: pairing.relay)
            guard pairing.command == "add" else { return }
            let told = IdentityWords(["announce"] + pairing.identity)
            let identity = try SharedIdentity(path: told.path, source: told.source)
            let announce = PipeRun.Stage(tool.rawValue, told.arguments(identity))
            try Delivery(announce, of: identity, quiet: words.isQuiet).run(needsRecipient: false)
        case .envelopes:
            // One stage opens the identity, and asks itself.
            let send = PipeRun.Stage("send", words.isQuiet ? ["-q"] : [])
            let names = NamedRecipients(arguments)
            let pipe = Delivery(PipeRun([first(arguments), send]), names, quiet: words.isQuiet)
            try pipe.run()
        }
    }
}
