import Arguments
import SottoTool

/// The ways to use `bridge seal`, with the options of each. An option that a mode does not list is refused in it.
enum SealMode: String, CommandMode {
    case whisper2, mercurio, kecalek, flow
    /// SHAiny's message to the chat of a file.
    case chat = "shainy"
    /// SHAiny's message to its public channel.
    case publicChannel = "shainy --public-channel"

    init(_ format: BridgeFormat, isPublic: Bool) {
        switch format {
        case .whisper2: self = .whisper2
        case .mercurio: self = .mercurio
        case .kecalek: self = .kecalek
        case .flow: self = .flow
        case .shainy: self = isPublic ? .publicChannel : .chat
        }
    }

    var takes: String {
        let own: String =
            switch self {
            case .whisper2:
                "--whisper-id --group \(Self.attachment) --stateless \(Self.contacts)"
            case .mercurio: "--stateless \(Self.contacts)"
            case .kecalek: "\(Self.session) \(Self.attachment) \(Self.contacts)"
            case .flow: "--user-id \(Self.session) \(Self.attachment) \(Self.contacts)"
            case .chat: "--chat --show-secret --gcm --no-hash"
            case .publicChannel: "--public-channel --gcm --no-hash"
            }
        return "<format> --jsonl -o -q <file> \(own)"
    }

    private static let attachment = "--attach --name --content-type --voice --keep-metadata --blob"
    private static let session = "--bundle --new-session --require-opk --classic"
    private static let contacts = "--to --trust --lock-timeout -i --identity-passphrase"
}
