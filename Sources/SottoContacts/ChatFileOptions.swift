public import Arguments
import Sotto
public import SottoBytes
public import SottoProgram
import SottoState
import SottoTool

/// The options of `keygen chat` and `bridge chat`: they make a chat from a phrase, in a file or in the state, list and delete the
/// stored chats, or read or print the public record of a chat.
public struct ChatFileOptions: ArgumentGroup {
    /// The name of the chat, at most 128 bytes.
    @Option("--name", value: "name", help: "The name of the chat.")
    public var name: String?

    @Option(
        "--phrase", value: "source",
        help: "The chat's phrase: @ENV:NAME, @FD:N or @FILE:PATH. Default: stdin, or ask.")
    var phrase: SecretSource?

    @OptionGroup var destination: SecretFileOptions

    @Flag(
        "--store",
        help: "Store the chat in the state of your identity instead of a file; needs --name.")
    var isStored = false

    @Option(
        "--add", value: "file",
        help: "Store the chat in this file in the state of your identity.")
    var added: String?

    @Flag("--list", help: "List the names of the stored chats.")
    var isListed = false

    @Option(
        "--forget", value: "name",
        help: "Delete the keys of this stored chat; its messages stay in the history.")
    var forgotten: String?

    @Option(
        "--public", value: "file",
        help:
            "Print the public record of this chat file or stored chat: its id and its encrypted name."
    )
    var publicRecord: String?

    @Option(
        "--read-name", value: "chat",
        help: "Print the name in a public record on stdin with this chat file or stored chat.")
    var readName: String?

    @OptionGroup var lock: LockOptions

    @OptionGroup var identity: IdentityOptions

    /// Whether no notes are printed.
    @Flag("-q", "--quiet", help: "Print only warnings on stderr.")
    public var quiet = false

    /// Creates the options with none given.
    public init() {}

    /// Checks the name and the source.
    public func validate() throws {
        try phrase?.validate()
        if let name { try checkName(name) }
        guard !isStored || name != nil else { throw UsageError("--store requires --name NAME") }
    }

    /// The mode that the options select.
    public var mode: ChatMode {
        if publicRecord != nil { return .printed }
        if readName != nil { return .read }
        if added != nil { return .added }
        if isListed { return .listed }
        if forgotten != nil { return .forgotten }
        return isStored ? .stored : .new
    }

    /// Does what the options select. `tool` is the name in messages.
    ///
    /// - Parameters:
    ///   - make: Returns the secret record of the chat with a phrase.
    ///   - record: Writes the public record of the chat with a secret record.
    ///   - name: Returns the name in a public record of the chat with a secret record; `record` reads it from standard input.
    public func run(
        tool: String, make: (_ phrase: borrowing SecretBytes) throws -> JSONObject,
        record: (_ chat: JSONObject, _ output: Output) throws -> Void,
        name: (_ chat: JSONObject, _ record: () throws -> JSONObject) throws -> String
    ) throws {
        let book = AddressBook(identity.choice.load, lockTimeout: lock.timeout)
        switch mode {
        case .printed:
            let chat = try book.chatRecord(publicRecord ?? "")
            let output = try Output(path: "-", content: .text)
            try record(chat, output)
            try output.finish()
        case .read:
            let text = try name(book.chatRecord(readName ?? "")) {
                try JSON.object(parsing: Input(path: nil).readText(limit: 1 << 20))
            }
            let output = try Output(path: "-", content: .text)
            try output.writeText(text + "\n")
            try output.finish()
        case .new:
            // The file is opened before any other work.
            let output = try destination.open(tool: tool, quiet: quiet)
            try output.write(make(readPhrase(tool: tool)).serialized() + [UInt8(ascii: "\n")])
            try output.finish()
        case .stored:
            // The identity is read before the phrase, and the name is checked before both.
            _ = try ContactName.checked(self.name ?? "")
            _ = try book.identity()
            try store(make(readPhrase(tool: tool)), book, tool)
        case .added:
            var chat = try ChatFile.record(added ?? "")
            if let name = self.name { chat["name"] = .string(name) }
            try store(chat, book, tool)
        case .listed: try list(book)
        case .forgotten:
            let named = forgotten ?? ""
            guard let chat = try book.storedChat(named) else {
                throw Failure(
                    .noInput, "no stored chat has the name \(named)",
                    hint: "list them: sotto keygen chat --list")
            }
            try book.writableStore().transaction { try $0.forget(chat: chat) }
            say("the keys of the chat \(chat["name"]?.string ?? named) are deleted", tool)
        }
    }

    private func store(_ chat: JSONObject, _ book: AddressBook, _ tool: String) throws {
        try book.store(chat: chat)
        let name = chat["name"]?.string ?? ""
        say("the chat \(name) is stored; to write to it: --chat \(shellWord(name))", tool)
    }

    private func say(_ text: String, _ tool: String) {
        if !quiet { Terminal.say("\(tool): \(text)") }
    }

    /// Prints the names of the stored chats.
    private func list(_ book: AddressBook) throws {
        _ = try book.identity()
        let chats = try book.chatRecords([])
        guard !chats.isEmpty else { throw Failure(.no, quiet ? "" : "no chat is stored") }
        let output = try Output(path: "-", content: .text)
        for chat in chats { try output.writeText((chat["name"]?.string ?? "") + "\n") }
        try output.finish()
    }

    /// Reads the phrase from its source, from the first line of a pipe, or twice from a prompt.
    private func readPhrase(tool: String) throws -> SecretBytes {
        if phrase == nil, !Terminal.isTerminal(0) { return try SecretSource.descriptor(0).read() }
        return try NewSecret("phrase", tool: tool).read(phrase, warns: false)
    }
}

/// The ways to use `keygen chat` and `bridge chat`, with the options of each.
public enum ChatMode: String, CommandMode {
    /// Creates a chat file.
    case new = ""
    /// Creates a chat in the state.
    case stored = "--store"
    /// Stores the chat of a file in the state.
    case added = "--add"
    /// Lists the chats of the state.
    case listed = "--list"
    /// Deletes a chat from the state.
    case forgotten = "--forget"
    /// Prints the public record of a chat.
    case printed = "--public"
    /// Reads the name of a chat.
    case read = "--read-name"

    /// The mode in messages.
    public var title: String { self == .new ? "a new chat file" : rawValue }

    /// The arguments that have an effect. Only `bridge` has `--show-secret`.
    public var takes: String {
        switch self {
        case .new: "--name --phrase -o -q"
        case .stored: "--store --name --phrase -q \(Self.state)"
        case .added: "--add --name -q \(Self.state)"
        case .listed: "--list -q \(Self.state)"
        case .forgotten: "--forget -q \(Self.state)"
        case .printed: "--public --show-secret -q \(Self.state)"
        case .read: "--read-name -q \(Self.state)"
        }
    }

    private static let state = "-i --identity-passphrase --lock-timeout"
}
