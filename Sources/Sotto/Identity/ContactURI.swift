/// A reason to refuse a text as a contact URI.
public enum ContactURIError: Error, Sendable, Equatable {
    /// The text does not begin with `sotto:`.
    case scheme
    /// The id is not `05` and 64 hexadecimal digits, or its key is not on the curve.
    case id
    /// The `x` parameter is missing, is not 32 bytes of unpadded base64url, or is a key of low order.
    case x25519
    /// A parameter occurs twice.
    case duplicate(String)
    /// A parameter is not valid percent-encoded UTF-8.
    case encoding(String)
}

/// The short form of a card, which fits into a QR code: `sotto:05…?x=…&name=…&relay=…`.
public struct ContactURI: Sendable, Hashable {
    /// The id with the Ed25519 key.
    public let id: KeyID
    /// The 32-byte X25519 key.
    public let x25519: [UInt8]
    /// The name that the owner chose.
    public let name: String?
    /// The address of the relay where the owner fetches mail.
    public let relay: String?

    /// Creates a URI from its parts.
    public init(id: KeyID, x25519: [UInt8], name: String? = nil, relay: String? = nil) {
        self.id = id
        self.x25519 = x25519
        self.name = name
        self.relay = relay
    }

    /// The text, percent-encoded (RFC 3986 §2).
    public var text: String {
        var text = "\(Self.scheme)\(id)?x=\(Base64.url.encode(x25519))"
        if let name { text += "&name=" + PercentEncoding.encode(name) }
        if let relay { text += "&relay=" + PercentEncoding.encode(relay) }
        return text
    }

    private static let scheme = "sotto:"

    /// Returns whether a text begins with the scheme, `sotto:`, in any case (RFC 3986 §3.1).
    public static func hasScheme(_ text: some StringProtocol) -> Bool {
        Pasted.hasPrefix(text, scheme)
    }

    /// Reads a URI. Unknown parameters are ignored; a repeated parameter is refused.
    public init(_ text: String) throws(ContactURIError) {
        guard Self.hasScheme(text) else { throw .scheme }
        let parts = text.dropFirst(Self.scheme.count).split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let id = KeyID(parts[0]), x25519PublicKey(fromEd25519: id.publicKey) != nil else {
            throw .id
        }
        var parameters: [String: String] = [:]
        for parameter in parts.count > 1 ? parts[1].split(separator: "&") : [] {
            let pair = parameter.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(pair[0])
            guard let value = PercentEncoding.decode(pair.count > 1 ? pair[1] : "") else {
                throw .encoding(name)
            }
            guard parameters.updateValue(value, forKey: name) == nil else { throw .duplicate(name) }
        }
        guard let x25519 = parameters["x"].flatMap({ Base64.url.decode($0) }), x25519.count == 32,
            !X25519.isLowOrder(x25519)
        else { throw .x25519 }
        self.init(id: id, x25519: x25519, name: parameters["name"], relay: parameters["relay"])
    }
}
