import NIOCore
import SottoWire

/// The names that a login to this relay may be signed for.
///
/// A client signs the name that it connected to. If a relay accepted every name, an attacker's relay could pass on the
/// logins that it gets under its own name.
struct RelayNames: Sendable {
    private let names: [String]
    private let acceptsLocal: Bool

    /// Takes the names of `--name` and the listening address. If that is a loopback or wildcard address, which is no
    /// name to others, the local address of each connection is accepted too.
    init(names: [String], listening: SocketAddress?) {
        var names = names.map { $0.lowercased() }
        if let name = Self.name(of: listening), !names.contains(name) { names.append(name) }
        self.names = names
        acceptsLocal =
            Self.isLoopback(listening)
            || ["0.0.0.0", "::"].contains(listening?.ipAddress ?? "")
    }

    /// Returns the names that are valid on a connection to `local`.
    func accepted(on local: SocketAddress?) -> [String] {
        var accepted = names
        guard acceptsLocal, let local, let port = local.port else { return accepted }
        if let name = Self.name(of: local), !accepted.contains(name) { accepted.append(name) }
        if Self.isLoopback(local) { accepted.append("localhost:\(port)") }
        return accepted
    }

    /// Returns an address in the form of a name.
    static func name(of address: SocketAddress?) -> String? {
        guard let host = address?.ipAddress, let port = address?.port else { return nil }
        return RelayURL(host: host, port: UInt16(port)).name
    }

    private static func isLoopback(_ address: SocketAddress?) -> Bool {
        guard let host = address?.ipAddress else { return false }
        return host.hasPrefix("127.") || host == "::1" || host.hasPrefix("::ffff:127.")
    }
}
