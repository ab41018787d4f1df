import Arguments

// The options that have an effect in each mode of `keygen export`. The others are refused.

enum ExportMode: String, CommandMode {
    case age, ssh, minisign
    /// The public key of one of them.
    case agePublic = "age --public-key"
    case sshPublic = "ssh --public-key"
    case minisignPublic = "minisign --public-key"

    init(_ key: ExportCommand.Key, isPublic: Bool) {
        switch key {
        case .age: self = isPublic ? .agePublic : .age
        case .ssh: self = isPublic ? .sshPublic : .ssh
        case .minisign: self = isPublic ? .minisignPublic : .minisign
        }
    }

    var takes: String {
        let own: String =
            switch self {
            case .age: "--classic"
            case .ssh: ""
            case .minisign: "--password --unprotected"
            case .agePublic: "--public-key --classic"
            case .sshPublic, .minisignPublic: "--public-key"
            }
        return "<key> -i --identity-passphrase -o <file> \(own)"
    }
}
