import NIOCore
import SottoWire

/// The names under which a relay may be logged in to.
///
/// A client signs the name that it dialled. A relay that accepted any name would accept logins that another
/// relay, dialled under its own name, passes on.
struct RelayNames: Sendable {
    private let names: [String]
    private let acceptsLocal: Bool

    /// The names given with `--name`, and the address listened on. Where that is a loopback or wildcard
    /// address, which names nothing to others, the address of each connection is accepted too.
    init(names: [String], listening: SocketAddress?) {
        var names = names.map { $0.lowercased() }
        if let name = Self.name(of: listening), !names.contains(name) { names.append(name) }
        self.names = names
        acceptsLocal =
            Self.isLoopback(listening)
            || ["0.0.0.0", "::"].contains(listening?.ipAddress ?? "")
    }

    /// The names that are good on a connection to `local`.
    func accepted(on local: SocketAddress?) -> [String] {
        var accepted = names
        guard acceptsLocal, let local, let port = local.port else { return accepted }
        if let name = Self.name(of: local), !accepted.contains(name) { accepted.append(name) }
        if Self.isLoopback(local) { accepted.append("localhost:\(port)") }
        return accepted
    }

    /// The address in the form of a name.
    static func name(of address: SocketAddress?) -> String? {
        guard let host = address?.ipAddress, let port = address?.port else { return nil }
        return RelayURL(host: host, port: UInt16(port)).name
    }

    private static func isLoopback(_ address: SocketAddress?) -> Bool {
        guard let host = address?.ipAddress else { return false }
        return host.hasPrefix("127.") || host == "::1" || host.hasPrefix("::ffff:127.")
    }
}
