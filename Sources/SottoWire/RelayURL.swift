import Sotto

/// The address and transport of a relay: `tcp://host:port`, or another ``Scheme``.
public struct RelayURL: Sendable, Hashable, CustomStringConvertible {
    /// The transport of a relay.
    public enum Scheme: String, Sendable, CaseIterable {
        /// Lines of JSON.
        case tcp
        /// Lines of JSON over TLS.
        case tls
        /// WebSocket.
        case ws
        /// WebSocket over TLS.
        case wss
        /// HTTP requests; the client polls for mail.
        case http
        /// HTTP requests over TLS.
        case https

        /// Whether the transport uses TLS.
        public var isSecure: Bool { self == .tls || self == .wss || self == .https }

        /// The default port, or `nil` if the port is required.
        var port: UInt16? {
            switch self {
            case .tcp, .tls: nil
            case .ws, .http: 80
            case .wss, .https: 443
            }
        }
    }

    /// The scheme.
    public let scheme: Scheme
    /// The host: a name, an IPv4 address, or an IPv6 address without brackets.
    public let host: String
    /// The port.
    public let port: UInt16
    /// The path of the relay on a web server, `/` or `/path`.
    public let path: String
    /// The pin: the SHA-256 of the SubjectPublicKeyInfo that the relay must have, instead of a certificate from an
    /// authority.
    public let pin: [UInt8]?

    /// A PEM file of authorities for the relay's certificate, instead of the system's.
    public var authorities: String?
    /// Seconds between two polls of an empty mailbox, over HTTP.
    public var pollSeconds: Int64 = 2
    /// The protocol of the connection. ``RelayProtocol/flow`` is spoken over WebSocket instead of plain lines: a relay has
    /// all transports on its port.
    public var form = RelayProtocol.own
    /// The transport of the connection.
    public var transport: Scheme {
        switch (form, scheme) {
        case (.flow, .tcp): .ws
        case (.flow, .tls): .wss
        case (.own, _), (.flow, _): scheme
        }
    }
    /// Whether a certificate that cannot be checked is accepted. Only a meeting sets it: its code authenticates the other
    /// side.
    public private(set) var acceptsAnyCertificate = false

    /// The same address, but a certificate that cannot be checked is accepted.
    public var acceptingAnyCertificate: RelayURL {
        var relay = self
        relay.acceptsAnyCertificate = true
        return relay
    }

    /// The reason why a text is not the address of a relay.
    public enum Invalid: Error, Sendable, Equatable {
        /// Not `scheme://host:port`.
        case form
        /// An unknown scheme.
        case scheme(String)
        /// `#sha256=` without TLS, or without 32 bytes in hexadecimal or base64url.
        case pin
        /// A character that the host or the path cannot have.
        case character(Unicode.Scalar)
        /// An IPv6 address with a zone (RFC 4007 §11), which is valid on one machine only.
        case zone
    }

    /// Parses `scheme://host:port/path#sha256=PIN`, with an IPv6 address in brackets. The port may be left out, and a
    /// path given, with ``Scheme/ws``, ``Scheme/wss``, ``Scheme/http`` and ``Scheme/https``; a pin requires TLS. What
    /// surrounds a pasted address is ignored, see ``Pasted``.
    public init(_ text: String) throws(Invalid) {
        let text = Pasted.text(text)
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
            guard path == "/" || scheme.port != nil, path.utf8.count <= Self.pathLimit else {
                throw .form
            }
            // A comma separates the addresses of a list.
            let other = path.unicodeScalars.first {
                !("!"..."~").contains($0) || $0 == "?" || $0 == ","
            }
            if let other { throw .character(other) }
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

    /// The maximum length of a path in bytes.
    private static let pathLimit = 200

    private init(scheme: Scheme, host: String, port: UInt16, path: String, pin: [UInt8]?) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
        self.pin = pin
    }

    /// Parses `host:port`. Each spelling of an IP address gives the same ``name``.
    public init(name: some StringProtocol) throws(Invalid) {
        let name = Pasted.text(name)
        guard let colon = name.lastIndex(of: ":"), name.utf8.count <= WireLimits.nameBytes else {
            throw .form
        }
        let host = try HostName(inURL: name[..<colon])
        let digits = name[name.index(after: colon)...]
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits)
        else { throw .form }
        self.init(host: host, port: port)
    }

    /// Creates an address for plain TCP from a host, without brackets, and a port.
    public init(host: String, port: UInt16) { self.init(host: HostName(host), port: port) }

    private init(host: HostName, port: UInt16) {
        self.init(scheme: .tcp, host: host.text, port: port, path: "/", pin: nil)
    }

    /// `host:port`, the relay's name in a login.
    public var name: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }

    /// The value of HTTP's `Host` header, without the scheme's default port (RFC 9110 §7.2).
    public var hostHeader: String {
        port == scheme.port ? String(name.dropLast(":\(port)".utf8.count)) : name
    }

    /// The URL, without the pin.
    public var description: String {
        "\(scheme.rawValue)://\(name)" + (path == "/" ? "" : path)
    }

    /// The URL with the pin, as on a card. It names the relay's queue in the outbox: the mail of one queue travels by one
    /// scheme, host, port and path, under one pin.
    public var text: String { description + (pin.map { "#sha256=" + hex($0) } ?? "") }

    /// Whether the user may name this address to reach the relay of `other`: both have the same host, port and path, and
    /// what `other` asks for with TLS keeps TLS.
    public func replaces(_ other: RelayURL) -> Bool {
        name == other.name && path == other.path && (scheme.isSecure || !other.scheme.isSecure)
    }

    /// Returns the address among `known` that reaches the relay of this address, which another person chose: the equal
    /// one, else the first that replaces it, else `nil`.
    public func known(among known: [RelayURL]) -> RelayURL? {
        known.first { $0.text == text } ?? known.first { $0.replaces(self) }
    }
}
