public import Arguments
public import SottoMessengers

// The options that have an effect in each mode of the commands for keys. The others are refused.

extension Profile: CommandMode {
    /// The arguments of `bridge account` for the messenger.
    public var takes: String {
        let own: String =
            switch self {
            case .whisper2: "--whisper-id --id"
            case .mercurio: "--signed --form"
            case .kecalek: "--user-id"
            }
        return "<messenger> -i --identity-passphrase <file> \(own)"
    }
}

enum AnswerMode: String, CommandMode, ExpressibleByArgument {
    case whisper2, kecalek

    var takes: String {
        switch self {
        case .whisper2: "<messenger> -i --identity-passphrase <file>"
        case .kecalek: "<messenger> --key --password"
        }
    }
}

enum ImportMode: String, CommandMode, ExpressibleByArgument {
    case ecp1, rsa, contacts

    var takes: String {
        let own: String =
            switch self {
            case .ecp1: "--password --name --relay --protect --passphrase -o"
            case .rsa: "--password -i --identity-passphrase"
            case .contacts: "-i --identity-passphrase --lock-timeout"
            }
        return "<what> -q <file> \(own)"
    }
}

enum ExportMode: String, CommandMode, ExpressibleByArgument {
    case ecp1, rsa, contacts

    var takes: String {
        let own: String =
            switch self {
            case .ecp1: "--password"
            case .rsa: "--password --unprotected"
            case .contacts: "--json --lock-timeout"
            }
        return "<what> -i --identity-passphrase -o -q <name> \(own)"
    }
}

enum LoginKeyMode: String, CommandMode {
    case new = ""
    case publicKey = "--public"
    case record = "--record"
    case revocation = "--revoke"

    var title: String { self == .new ? "a new key" : rawValue }

    var takes: String {
        switch self {
        case .new: "--bits --password --unprotected -o"
        case .publicKey: "--public --password"
        case .record: "--record --password -i --identity-passphrase"
        case .revocation: "--revoke -i --identity-passphrase"
        }
    }
}
