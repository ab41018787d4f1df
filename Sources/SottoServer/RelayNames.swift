import NIOCore
import SottoWire
import Synchronization

/// The names that a login to this relay may be signed for.
///
/// A client signs the name that it connected to. If a relay accepted every name, an attacker's relay could pass on the
/// logins that it gets under its own name.
final class RelayNames: Sendable {
    private let names: [String]
    private let listening = Mutex<SocketAddress?>(nil)

    /// Takes the names of `--name`.
    init(_ names: [String]) { self.names = names.map { $0.lowercased() } }

    /// Sets the listening address. A connection that is accepted before gets it from its listener; at the end of the
    /// relay the listener has no address any more.
    func listen(on address: SocketAddress?) { listening.withLock { $0 = address } }

    /// Returns the names that are valid on a connection: those of `--name` and the listening address. If that is a
    /// loopback or wildcard address, which is no name to others, the connection's local address is accepted too.
    func accepted(on channel: any Channel) -> [String] {
        let listening = listening.withLock { $0 } ?? channel.parent?.localAddress
        var accepted = names
        if let name = Self.name(of: listening), !accepted.contains(name) { accepted.append(name) }
        guard
            Self.isLoopback(listening) || ["0.0.0.0", "::"].contains(listening?.ipAddress ?? ""),
            let local = channel.localAddress, let port = local.port
        else { return accepted }
        if let name = Self.name(of: local), !accepted.contains(name) { accepted.append(name) }
        if Self.isLoopback(local) { accepted.append("localhost:\(port)") }
        return accepted
    }

    /// Returns an address in the form of a name.
    static func name(of address: SocketAddress?) -> String? {
        guard let host = address?.ipAddress, let port = address?.port else { return nil }
        return RelayURL(host: host, port: UInt16(port)).name
    }

    /// Returns whether an address is a loopback address.
    static func isLoopback(_ address: SocketAddress?) -> Bool {
        guard let host = address?.ipAddress else { return false }
        return host.hasPrefix("127.") || host == "::1" || host.hasPrefix("::ffff:127.")
    }
}

extension PlainConnections {
    /// Returns whether a connection from `peer` to the address `local` is accepted without TLS. A program on this machine connects
    /// from a loopback address, or from the address to which it connects.
    func include(_ peer: SocketAddress?, to local: SocketAddress?) -> Bool {
        switch self {
        case .refused: false
        case .local:
            RelayNames.isLoopback(peer)
                || peer?.ipAddress != nil && peer?.ipAddress == local?.ipAddress
        case .accepted: true
        }
    }
}
