import Arguments
import SottoTool

/// The ways to use `bridge open`, with the options of each. An option that a mode does not list is refused in it.
enum OpenMode: String, CommandMode {
    case whisper2, mercurio, shainy, kecalek, flow
    /// An attachment of Whisper2.
    case attachment = "whisper2 --attachment"
    /// Copies that Kecalek encrypted to the own identity key.
    case ownCopies = "kecalek --own-copy"

    init(_ format: BridgeFormat, isAttachment: Bool, isOwnCopy: Bool) {
        switch format {
        case .whisper2: self = isAttachment ? .attachment : .whisper2
        case .mercurio: self = .mercurio
        case .shainy: self = .shainy
        case .kecalek: self = isOwnCopy ? .ownCopies : .kecalek
        case .flow: self = .flow
        }
    }

    var takes: String {
        let own: String =
            switch self {
            case .whisper2: "--whisper-id --max-skew --details --allow-unverified \(Self.messages)"
            case .mercurio: "--oaep-sha1 --details --allow-unverified \(Self.messages)"
            case .shainy: "--chat --details --allow-hidden-hash \(Self.messages)"
            case .kecalek: Self.messages
            case .flow: "--ack --read \(Self.messages)"
            case .attachment: "--attachment"
            case .ownCopies: "--own-copy --stateless \(Self.text)"
            }
        return "<format> -i --identity-passphrase --lock-timeout -o -q <file> \(own)"
    }

    private static let text = "--text --json --time --null"
    private static let messages = "\(text) --from --trust --preview --stateless"
}
