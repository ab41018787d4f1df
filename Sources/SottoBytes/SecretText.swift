/// Texts that are secret keys, recognized by their beginning.
public enum SecretText: Sendable, Equatable {
    /// An identity of these programs.
    case identity
    /// A secret key of age, of OpenSSH, in PEM, of PuTTY or of minisign.
    case secretKey

    /// The most bytes at the beginning of a content that are searched.
    public static let searched = 4_096

    /// Recognizes a secret key by the first ``searched`` bytes of a content, or all of a shorter content.
    public init?(beginning bytes: some Collection<UInt8>) {
        let head = Array(bytes.prefix(Self.searched))
        if head.split(separator: UInt8(ascii: "\n")).contains(where: Self.isSecretKey) {
            self = .secretKey
        } else if Self.isIdentity(head) {
            self = .identity
        } else {
            return nil
        }
    }

    private static func isSecretKey(_ line: ArraySlice<UInt8>) -> Bool {
        let line = line.drop { $0 <= 0x20 }
        guard let first = line.first else { return false }
        switch first {
        case UInt8(ascii: "-"):
            let text = String(decoding: line, as: UTF8.self)
            return text.hasPrefix("-----BEGIN ") && text.contains("PRIVATE KEY-----")
        case UInt8(ascii: "A"), UInt8(ascii: "a"):
            let start = String(decoding: line.prefix(18), as: UTF8.self).uppercased()
            return start.hasPrefix("AGE-SECRET-KEY-") || start.hasPrefix("AGE-PLUGIN-")
        case UInt8(ascii: "P"):
            return line.starts(with: "PuTTY-User-Key-File-".utf8)
        case UInt8(ascii: "u"):
            let text = String(decoding: line, as: UTF8.self)
            return text.hasPrefix("untrusted comment:") && text.hasSuffix("secret key")
        default:
            return false
        }
    }

    private static func isIdentity(_ head: [UInt8]) -> Bool {
        guard head.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") else { return false }
        let text = String(decoding: head, as: UTF8.self).filter { !$0.isWhitespace }
        return text.contains("\"type\":\"identity\"")
    }
}
