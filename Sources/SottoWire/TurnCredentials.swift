public import Sotto

/// Time-limited credentials for TURN servers (RFC 8656), which the owner of a mailbox gets: those of
/// draft-uberti-behave-turn-rest-00, which coturn verifies with the same secret.
public struct TurnCredentials: Sendable, Hashable {
    /// The servers: URIs with the schemes `turn`, `turns` (RFC 7065), `stun` or `stuns` (RFC 7064).
    public let uris: [String]
    /// `expiry:user`, with the end of the validity in seconds since 1970.
    public let username: String
    /// The password, base64.
    public let password: String
    /// Seconds from now for which new connections to the servers are allowed.
    public let ttl: Int64

    /// The most servers.
    public static let mostURIs = 16
    /// The most bytes of each text.
    public static let textBytes = 1_024

    /// Creates credentials.
    public init(uris: [String], username: String, password: String, ttl: Int64) {
        (self.uris, self.username, self.password, self.ttl) = (uris, username, password, ttl)
    }

    /// Reads the payload of the frame. Throws if a text is no plain line, a URI has another scheme, or a limit is exceeded.
    init(_ payload: Fields<FieldError>) throws(FieldError) {
        func isLine(_ text: String) -> Bool {
            (1...Self.textBytes).contains(text.utf8.count) && text.isPlainLine
        }
        uris = try payload["uris"].list { (uri) throws(FieldError) in
            try uri.text { Self.isURI($0) ? $0 : nil }
        }
        username = try payload["username"].text { isLine($0) ? $0 : nil }
        password = try payload["password"].text { isLine($0) ? $0 : nil }
        ttl = try payload["ttl"].integer(in: 0...Int64(Int32.max))
        guard (1...Self.mostURIs).contains(uris.count) else { throw .member("uris") }
    }

    /// The payload of the frame.
    var payload: JSONObject {
        [
            "uris": .array(uris.map { .string($0) }), "username": .string(username),
            "password": .string(password), "ttl": .integer(ttl),
        ]
    }

    /// Whether a text has the form of a server's URI: `turn:host:port?transport=udp`.
    public static func isURI(_ text: String) -> Bool {
        guard text.utf8.count <= textBytes,
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
        else { return false }
        return ["turn:", "turns:", "stun:", "stuns:"].contains { scheme in
            text.hasPrefix(scheme) && text.utf8.count > scheme.utf8.count
                && !text.dropFirst(scheme.utf8.count).hasPrefix("/")
        }
    }

    /// The record of `recv --turn`. `now` is the time of the response.
    public func record(at now: Timestamp) -> JSONObject {
        [
            "v": .integer(1), "type": .string("turn"),
            "uris": .array(uris.map { .string($0) }), "username": .string(username),
            "password": .string(password),
            "expires": .string(Timestamp(seconds: now.seconds + ttl).description),
        ]
    }
}
