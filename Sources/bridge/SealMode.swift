import Arguments
import SottoTool

/// The ways to use `bridge seal`, with the options of each. An option that a mode does not list is refused in it.
enum SealMode: String, CommandMode {
    case whisper2, mercurio, kecalek, flow
    /// Whisper2's messages to the members of a group.
    case group = "whisper2 --group"
    /// Kecalek's messages to a group, with a key chain.
    case senderKeys = "kecalek --group"
    /// SHAiny's message to a chat.
    case chat = "shainy"
    /// SHAiny's message to its public channel.
    case publicChannel = "shainy --public-channel"

    init(_ format: BridgeFormat, isPublic: Bool, isGroup: Bool) {
        switch format {
        case .whisper2: self = isGroup ? .group : .whisper2
        case .mercurio: self = .mercurio
        case .kecalek: self = isGroup ? .senderKeys : .kecalek
        case .flow: self = .flow
        case .shainy: self = isPublic ? .publicChannel : .chat
        }
    }

    var takes: String {
        let own: String =
            switch self {
            case .whisper2:
                "--to --whisper-id --group-id \(Self.attachment) --stateless \(Self.contacts)"
            case .group: "--group --whisper-id --group-id \(Self.attachment) \(Self.contacts)"
            case .mercurio: "--to --snake-case --stateless \(Self.contacts)"
            case .kecalek:
                "--to --group-id \(Self.session) \(Self.attachment) \(Self.contacts)"
            case .senderKeys:
                "--group --group-id \(Self.session) \(Self.attachment) \(Self.contacts)"
            case .flow: "--to --user-id \(Self.session) \(Self.attachment) \(Self.contacts)"
            case .chat: "--chat --show-secret \(Self.texts)"
            case .publicChannel: "--public-channel \(Self.texts)"
            }
        return "<format> --jsonl --anyway -o -q <file> \(own)"
    }

    private static let attachment = "--attach --name --content-type --voice --keep-metadata --blob"
    private static let session = "--bundle --new-session --require-opk --classic"
    private static let state = "--lock-timeout -i --identity-passphrase"
    private static let contacts = "--trust \(state)"
    private static let texts = "--gcm --no-hash --stateless \(state)"
}
