/// Where a relay is: `tcp://host:port`.
public struct RelayURL: Sendable, Hashable, CustomStringConvertible {
    /// The host: a name, an IPv4 address, or an IPv6 address without brackets.
    public let host: String
    /// The port.
    public let port: UInt16

    /// Why a text is not the address of a relay.
    public enum Invalid: Error, Sendable, Equatable {
        /// Not `scheme://host:port`.
        case form
        /// A scheme that this version does not speak.
        case scheme(String)
    }

    /// Reads `tcp://host:port`; an IPv6 address stands in brackets.
    public init(_ text: String) throws(Invalid) {
        guard let separator = text.firstRange(of: "://") else { throw .form }
        let scheme = text[..<separator.lowerBound].lowercased()
        var rest = text[separator.upperBound...]
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard scheme == "tcp" else { throw .scheme(scheme) }
        try self.init(name: rest)
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
        self.host = host
        self.port = port
    }

    /// A host, without brackets, and a port.
    public init(host: String, port: UInt16) {
        self.host = host.lowercased()
        self.port = port
    }

    /// `host:port`, which names the relay in a login.
    public var name: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }

    /// The URL.
    public var description: String { "tcp://" + name }
}
