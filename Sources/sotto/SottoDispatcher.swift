import Arguments
import Glibc
import SottoBytes
import SottoProgram

@main
struct SottoDispatcher: Program {
    static let configuration = CommandConfiguration(
        name: "sotto",
        abstract: "End-to-end encrypted messaging from the shell: finds and runs the tools.",
        usage: """
            sotto init [--relay URL] [--name NAME]
            sotto add [--name NAME] WHO
            sotto meet [CODE]
            sotto say [--attach FILE] WHO [TEXT ...]
            sotto read [WHO]
            sotto save NUMBER | save --all WHO
            sotto whoami
            sotto help
            sotto TOOL [ARGUMENT ...] [--send]
            """,
        discussion: """
            The tools are keygen, fingerprint, qr, contact, device, group, chat, compose, encrypt, decrypt, history, bridge, pad, \
            send, recv and relay. `sotto send` runs `sotto-send`. `sotto help` lists the tools, `sotto TOOL --help` explains one, and \
            the manual page sotto(7) shows a complete example.

            With --send, what a command prints is sent: `sotto group sync --send` runs group sync | encrypt | send, and \
            `sotto encrypt --to bob --send` runs encrypt --to bob | send. This works with encrypt, with compose, with group and device where \
            they change something, and with history read, history repeat, contact repair, keygen public, keygen prekeys, keygen set, keygen rotate and bridge card.
            """,
        version: sottoVersion,
        subcommands: [
            InitCommand.self, AddCommand.self, MeetCommand.self, SayCommand.self, ReadCommand.self,
            SaveCommand.self, WhoamiCommand.self,
        ],
        takesOtherWords: true)

    @Argument("tool", help: "The tool and its arguments.", values: .theRest)
    var arguments: [String] = []

    func execute() throws {
        guard let name = arguments.first else {
            try list()
            throw Failure(.usage, "no tool is given", hint: "list the tools: sotto help")
        }
        if let sent = try SentCommand(arguments) { return try sent.run() }
        switch name {
        case "help" where arguments.count == 1: try list()
        case "help" where arguments[1] == "--help" || arguments[1] == "-h":
            throw TextRequest(Self.help)
        case "help" where Self.verbs.contains(arguments[1]):
            _ = try Self.parse([arguments[1], "--help"])
        case "help": try Tool.run(arguments[1], arguments.dropFirst(2) + ["--help"])
        case "--help", "-h": throw TextRequest(Self.help)
        case "--version": throw TextRequest(sottoVersion)
        case _ where name.hasPrefix("-"):
            throw UsageError(
                "unknown option '\(name)'" + suggestion(for: name, among: ["--help", "--version"]))
        default: try Tool.run(name, Array(arguments.dropFirst()))
        }
    }

    /// The names of the commands that run other tools.
    fileprivate static let verbs = configuration.subcommands.map { $0.configuration.name }

    private func list() throws {
        let output = try Output(path: "-", content: .text)
        let verbs = [
            ("init", "create your identity, show its words once, publish its card"),
            ("add", "add a contact from a card, a URI, a QR code or an id"),
            ("meet", "make a verified contact with a spoken code"),
            ("say", "send a message to a contact or a group"),
            ("read", "receive messages, show the unread ones, and mark them as read"),
            ("save", "fetch the file of a message, and save it"),
            ("whoami", "show your identity, and whether your card is published"),
        ]
        for (name, purpose) in verbs + Tool.allCases.map({ ($0.rawValue, $0.purpose) }) {
            let gap = String(repeating: " ", count: 13 - name.count)
            try output.writeText("\(name)\(gap)\(purpose)\n")
        }
        try output.finish()
    }
}

extension SottoDispatcher {
    /// Replaces this process by a tool that ``Sibling`` finds, else by the one in `PATH`. Returns if neither exists.
    static func replaceProcess(by tool: Tool, _ arguments: [String]) {
        let name = tool.rawValue
        if let path = Sibling.path(of: name) { become(path, [name] + arguments, execv) }
        become("sotto-\(name)", [name] + arguments, execvp)
    }

    private static func become(
        _ path: String, _ arguments: [String],
        _ exec: (UnsafePointer<CChar>, UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Int32
    ) {
        ClosedPipe.restore()
        var pointers = arguments.map { strdup($0) } + [nil]
        _ = exec(path, &pointers)
        for pointer in pointers { free(pointer) }
    }
}

/// The tools of this version, in the usual order of use.
enum Tool: String, CaseIterable {
    case keygen, fingerprint, qr, contact, device, group, chat, compose, encrypt, decrypt, history,
        bridge, pad,
        send, recv
    case relay

    var purpose: String {
        switch self {
        case .keygen: "create an identity, restore it from words, print its public card"
        case .fingerprint: "show and compare safety numbers of keys"
        case .qr: "encode bytes in a QR code, and read it back to exactly these bytes"
        case .contact: "the address book and its trust: add, verify, block, accept"
        case .device: "several machines of one person: add, list and remove devices"
        case .group: "create groups, invite, remove, and change the rules"
        case .chat: "talk to people and groups in the terminal"
        case .compose: "write replies, reactions, edits, receipts and other messages for encrypt"
        case .encrypt: "encrypt a file or pipe, or messages"
        case .decrypt: "decrypt a file or messages; print only authentic data"
        case .history: "read, search and delete sent and received messages"
        case .bridge: "exchange messages, keys and codes with other messengers"
        case .pad: "hide the length of data by padding, or remove the padding"
        case .send: "send envelopes through a relay, or keep them until it can be reached"
        case .recv: "receive envelopes from a relay"
        case .relay: "run a relay, which stores and forwards messages without reading them"
        }
    }

    /// Replaces this process by the tool `name`: in the directory of this program as `sotto-NAME` or `NAME`, in
    /// `libexec/sotto`, or in `PATH` as `sotto-NAME`.
    static func run(_ name: String, _ arguments: [String]) throws -> Never {
        guard let tool = Tool(rawValue: name) else {
            let names = SottoDispatcher.verbs + allCases.map(\.rawValue)
            throw Failure(
                .usage, "unknown tool \"\(name)\"" + suggestion(for: name, among: names),
                hint: "list the tools: sotto help")
        }
        SottoDispatcher.replaceProcess(by: tool, arguments)
        throw Failure.notInstalled(tool.rawValue)
    }
}
