import Sotto

/// Where a relay is, and how it is spoken to: `tcp://host:port`, or another of ``Scheme``.
public struct RelayURL: Sendable, Hashable, CustomStringConvertible {
    /// How a relay is spoken to.
    public enum Scheme: String, Sendable, CaseIterable {
        /// Lines of JSON.
        case tcp
        /// Lines of JSON over TLS.
        case tls
        /// WebSocket.
        case ws
        /// WebSocket over TLS.
        case wss
        /// HTTP requests; mail is asked for again and again.
        case http
        /// HTTP requests over TLS.
        case https

        /// Whether it is over TLS.
        public var isSecure: Bool { self == .tls || self == .wss || self == .https }

        /// The port where none is named; `nil` where one must be.
        var port: UInt16? {
            switch self {
            case .tcp, .tls: nil
            case .ws, .http: 80
            case .wss, .https: 443
            }
        }
    }

    /// How it is spoken to.
    public let scheme: Scheme
    /// The host: a name, an IPv4 address, or an IPv6 address without brackets.
    public let host: String
    /// The port.
    public let port: UInt16
    /// Where the relay is on a server that has others too; `/` or `/path`.
    public let path: String
    /// SHA-256 of the key that the relay must show, its SubjectPublicKeyInfo; in place of a certificate that others
    /// vouch for.
    public let pin: [UInt8]?

    /// A PEM file of the authorities that may vouch for the relay's certificate, in place of the system's.
    public var authorities: String?

    /// Why a text is not the address of a relay.
    public enum Invalid: Error, Sendable, Equatable {
        /// Not `scheme://host:port`.
        case form
        /// A scheme that this version does not speak.
        case scheme(String)
        /// `#sha256=` without TLS, or without 32 bytes in hexadecimal or base64url.
        case pin
    }

    /// Reads `scheme://host:port/path#sha256=PIN`; an IPv6 address stands in brackets. Only ``Scheme/ws``,
    /// ``Scheme/http`` and those over TLS have a port of their own; a path serves with these alone.
    public init(_ text: String) throws(Invalid) {
        let parts = text.pieces(between: "://")
        guard parts.count > 1 else { throw .form }
        let name = parts[0].lowercased()
        guard let scheme = Scheme(rawValue: name) else { throw .scheme(name) }
        var rest = text[parts[1].startIndex...]
        var pin: [UInt8]?
        if let mark = rest.firstIndex(of: "#") {
            pin = Self.pin(rest[rest.index(after: mark)...])
            guard pin != nil, scheme.isSecure else { throw .pin }
            rest = rest[..<mark]
        }
        var path = "/"
        if let slash = rest.firstIndex(of: "/") {
            path = String(rest[slash...])
            rest = rest[..<slash]
            guard path == "/" || scheme.port != nil, Self.isPath(path) else { throw .form }
        }
        let address: RelayURL
        if let port = scheme.port, rest.lastIndex(of: ":") == nil || rest.hasSuffix("]") {
            address = try RelayURL(name: "\(rest):\(port)")
        } else {
            address = try RelayURL(name: rest)
        }
        self.init(scheme: scheme, host: address.host, port: address.port, path: path, pin: pin)
    }

    private static func pin(_ text: Substring) -> [UInt8]? {
        guard text.hasPrefix("sha256=") else { return nil }
        let value = text.dropFirst(7)
        let key = bytes(hex: value) ?? Base64.url.decode(value) ?? Base64.standard.decode(value)
        return key?.count == 32 ? key : nil
    }

    private static func isPath(_ path: String) -> Bool {
        path.utf8.count <= 200
            && path.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "?") }
    }

    private init(scheme: Scheme, host: String, port: UInt16, path: String, pin: [UInt8]?) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
        self.pin = pin
    }

    /// Reads `host:port`.
    public init(name: some StringProtocol) throws(Invalid) {
        guard let colon = name.lastIndex(of: ":"),
            let port = UInt16(name[name.index(after: colon)...]),
            name.utf8.count <= WireLimits.nameBytes
        else { throw .form }
        var host = name[..<colon].lowercased()
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if host.contains(":") {
            throw .form
        }
        let isHost = host.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x61...0x7A, 0x2D, 0x2E, 0x3A, 0x5F: true
            default: false
            }
        }
        guard !host.isEmpty, isHost else { throw .form }
        self.init(host: host, port: port)
    }

    /// A host, without brackets, and a port, over plain TCP.
    public init(host: String, port: UInt16) {
        self.init(scheme: .tcp, host: host.lowercased(), port: port, path: "/", pin: nil)
    }

    /// `host:port`, which names the relay in a login.
    public var name: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }

    /// What HTTP's header `Host` says: without the port if it is the scheme's own (RFC 9110 §7.2).
    public var hostHeader: String {
        port == scheme.port ? String(name.dropLast(":\(port)".utf8.count)) : name
    }

    /// The URL, without the pin.
    public var description: String {
        "\(scheme.rawValue)://\(name)" + (path == "/" ? "" : path)
    }

    /// What the outbox calls the relay: the same for all ways to it.
    public var outboxName: String { "tcp://" + name }

    /// The URL with the pin: what goes onto a card.
    public var text: String { description + (pin.map { "#sha256=" + hex($0) } ?? "") }
}
