import Sotto

/// A reason to refuse a text as the URL of a Whisper2 contact.
public enum Whisper2AddURLError: Error, Sendable, Equatable {
    /// The text does not begin with `whisper2://add?`.
    case scheme
    /// `id` is missing or is not a ``WhisperID``.
    case id
    /// `key` is missing, is not 32 bytes of base64, or is a key of low order.
    case key
    /// `skey` is not 32 bytes of base64, or is not a key on the curve.
    case signingKey
    /// A parameter occurs twice.
    case duplicate
    /// A parameter is not valid percent-encoded UTF-8.
    case encoding
}

/// The URL that a Whisper2 account displays as a QR code: `whisper2://add?id=…&key=…&skey=…`.
///
/// The URL of an iPhone has no `skey`. Messages of such a contact cannot be verified until the key is known.
public enum Whisper2AddURL {
    private static let prefix = "whisper2://add?"

    /// Returns the URL of a contact, percent-encoded (RFC 3986 §2). The apps do not encode it.
    public static func text(_ contact: Whisper2Contact) -> String {
        func parameter(_ name: String, _ key: [UInt8]) -> String {
            "&\(name)=" + PercentEncoding.encode(Base64.standard.encode(key))
        }
        return prefix + "id=\(contact.id)" + parameter("key", contact.encryptionKey)
            + (contact.signingKey.map { parameter("skey", $0) } ?? "")
    }

    /// Reads a URL, percent-encoded or not. A space is read as the `+` it replaced. Base64 may be unpadded and may use
    /// the URL-safe alphabet. Unknown parameters are ignored; a repeated parameter is refused.
    public static func contact(_ text: String) throws(Whisper2AddURLError) -> Whisper2Contact {
        guard Pasted.hasPrefix(text, prefix) else { throw .scheme }
        // Compares bytes, because a combining character after the prefix would merge with the prefix's last character.
        guard let query = String(text.utf8.dropFirst(prefix.utf8.count)) else { throw .encoding }
        var parameters: [[UInt8]: String] = [:]
        for parameter in query.split(separator: "&") {
            let pair = parameter.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let value = PercentEncoding.decode(pair.count > 1 ? pair[1] : "") else {
                throw .encoding
            }
            guard parameters.updateValue(value, forKey: Array(pair[0].utf8)) == nil else {
                throw .duplicate
            }
        }
        func value(_ name: String) -> String? { parameters[Array(name.utf8)] }
        guard let id = value("id").flatMap({ WhisperID($0) }) else { throw .id }
        guard let key = value("key").flatMap(Self.key), !X25519.isLowOrder(key) else { throw .key }
        let signingKey = value("skey").flatMap(Self.key)
        guard value("skey") == nil || signingKey.flatMap(x25519PublicKey(fromEd25519:)) != nil
        else { throw .signingKey }
        return Whisper2Contact(id: id, encryptionKey: key, signingKey: signingKey)
    }

    private static func key(_ text: String) -> [UInt8]? {
        var characters = text.utf8.map { character -> UInt8 in
            switch character {
            case UInt8(ascii: " "), UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: character
            }
        }
        if characters.count == 44, characters.last == UInt8(ascii: "=") { characters.removeLast() }
        guard let key = Base64.raw.decode(utf8: characters[...]), key.count == 32 else {
            return nil
        }
        return key
    }
}
