import Arguments

/// The ways to use `decrypt`, with the options of each. An option that a mode does not list is refused in it.
enum DecryptMode: String, CommandMode {
    /// A file or messages, which the content of the input decides.
    case input = ""
    case file = "an age file"
    case messages
    case again = "--again"
    case attachment = "--attachment"
    case verification = "--verify"
    case inspection = "--inspect"

    var takes: String {
        switch self {
        case .input: "\(Self.file.takes) \(Self.messages.takes)"
        case .file: "--passphrase --hold --from \(Self.keys) -o -q <file>"
        case .messages:
            "--chat --events --preview --receipts --stateless \(Self.reading) \(Self.keys) -o -q <file>"
        case .again: "--again --since \(Self.reading) \(Self.keys) -o -q"
        case .attachment: "--attachment \(Self.keys) -o -q <file>"
        case .verification: "--verify --from \(Self.keys) -q <file>"
        case .inspection: "--inspect --json -o -q <file>"
        }
    }

    private static let keys = "-i --identity-passphrase --lock-timeout"
    private static let reading = "--from --trust --text --json --time --null"
}

extension DecryptTool {
    /// The mode that the options select.
    var mode: DecryptMode {
        if again { return .again }
        if attachment != nil { return .attachment }
        if verify != nil { return .verification }
        return inspect ? .inspection : .input
    }
}
