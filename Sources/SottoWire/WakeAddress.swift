import Sotto

/// The address of an HTTP server that receives wake-ups.
public struct WakeAddress: Sendable, Equatable {
    /// The format of the posted body.
    public enum Form: Sendable {
        /// `{"mailbox":…,"count":…}`, posted to the path.
        case json
        /// ntfy: a text, posted to the topic that the path begins.
        case ntfy
    }

    /// The reason why a text is not such an address.
    public enum Invalid: Error, Sendable {
        /// Not `http://host[:port]/path` or `ntfy://host[:port]/prefix`.
        case form
    }

    /// The host, without brackets.
    public let host: String
    /// The port.
    public let port: Int
    /// The path from its slash on, with the query if it has one.
    public let path: String
    /// The format of the posted body.
    public let form: Form
    /// Whether the connection must be TLS.
    public let isSecure: Bool

    /// Parses `http://host:port/path`, `https://…`, `ntfy://host/prefix`, which is ntfy's format over https, or
    /// `ntfy+http://…`.
    public init(_ text: String) throws(Invalid) {
        let parts = text.pieces(between: "://")
        guard parts.count > 1 else { throw .form }
        switch parts[0].lowercased() {
        case "http": (form, isSecure) = (.json, false)
        case "https": (form, isSecure) = (.json, true)
        case "ntfy": (form, isSecure) = (.ntfy, true)
        case "ntfy+http": (form, isSecure) = (.ntfy, false)
        default: throw .form
        }
        let rest = text[parts[1].startIndex...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let tail = rest[authority.endIndex...]
        // Other characters could start a new header.
        guard tail.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !tail.contains("#") else {
            throw .form
        }
        path = tail.hasPrefix("/") ? String(tail) : "/" + tail
        var name = authority
        var number = isSecure ? 443 : 80
        if let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") {
            guard let port = UInt16(authority[authority.index(after: colon)...]), port > 0 else {
                throw .form
            }
            number = Int(port)
            name = authority[..<colon]
        }
        if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
        let isHost = name.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x3A, 0x5F: true
            default: false
            }
        }
        guard !name.isEmpty, isHost, form == .json || path.count > 1 else { throw .form }
        host = String(name)
        port = number
    }

    /// The value of the `Host` header.
    public var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }
}
