import Arguments

/// The ways to use `encrypt`, with the options of each. An option that a mode does not list is refused in it.
enum EncryptMode: String, CommandMode {
    /// Messages to the mailboxes that their records name.
    case records = ""
    /// An age file to cards.
    case recipients = "-r or -R"
    /// An age file with a passphrase.
    case passphrase = "-p or --passphrase"
    /// Messages to mailboxes.
    case mailboxes = "--to"
    /// Messages to a group.
    case group = "--group"
    /// Messages to a chat, without an address.
    case chat = "--chat"
    /// Messages to a chat that travel to mailboxes.
    case chatMailboxes = "--chat with --to"
    /// A detached signature.
    case detached = "--detached"

    var title: String { self == .records ? "records of compose" : rawValue }

    var takes: String {
        let own: String =
            switch self {
            case .records: "--jsonl --json --anyway --suite \(Self.contacts) --classic"
            case .recipients: "-r -R \(Self.file) --classic --stateless --lock-timeout"
            case .passphrase: "-p --passphrase \(Self.file)"
            case .mailboxes:
                "--to --json \(Self.message) \(Self.contacts) --classic --bundle --new-session --require-opk"
            case .group:
                "--group --jsonl --json --anyway --attach --name --content-type --voice --keep-metadata --trust --ttl --lock-timeout --elsewhere \(Self.identity)"
            case .chat: "--chat --bare \(Self.message) \(Self.state)"
            case .chatMailboxes: "--chat --to --json \(Self.message) \(Self.contacts)"
            case .detached: "--detached --trusted-comment \(Self.identity)"
            }
        return "-o -q <file> \(own)"
    }

    private static let identity = "-i --identity-passphrase"
    private static let file = "-s -a \(identity)"
    private static let message =
        "--jsonl --suite --anyway --attach --name --content-type --voice --keep-metadata --blob"
    private static let state = "--stateless --lock-timeout \(identity)"
    private static let contacts = "--trust --ttl --elsewhere \(state)"
}

extension EncryptTool {
    /// The mode that the options select.
    var mode: EncryptMode {
        get {
            if detached { return .detached }
            if group != nil { return .group }
            if chat != nil { return to.isEmpty ? .chat : .chatMailboxes }
            if !to.isEmpty { return .mailboxes }
            if !recipient.isEmpty || !recipientsFile.isEmpty { return .recipients }
            if askPassphrase || passphrase != nil { return .passphrase }
            return .records
        }
    }
}

extension UsageError {
    /// Neither the command line nor the input names a recipient.
    static let noRecipient = UsageError(
        "no recipient is given: use -r CARD, -R FILE, -p, --to CARD, --group NAME or --chat CHAT, or give records of sotto compose"
    )
}
