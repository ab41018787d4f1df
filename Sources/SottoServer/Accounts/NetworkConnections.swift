import Glibc

/// Counts the open connections of each network: a /24 of IPv4, or a /64 of IPv6.
///
/// It keeps one network from taking all connections of a relay. Loopback addresses are exempt, because all clients of
/// a
/// proxy on this machine have one. Addresses are in textual form; `nil` is exempt too.
struct NetworkConnections {
    private let limit: Int
    private let limitsLoopback: Bool
    private var counts: [[UInt8]: Int] = [:]

    /// Allows `limit` connections from each network.
    init(limit: Int, limitsLoopback: Bool = false) {
        (self.limit, self.limitsLoopback) = (limit, limitsLoopback)
    }

    /// Counts a connection from an address. Returns false, and does not count it, if its network is at the limit.
    mutating func admit(_ address: String?) -> Bool {
        guard let network = network(of: address) else { return true }
        let count = counts[network, default: 0]
        guard count < limit else { return false }
        counts[network] = count + 1
        return true
    }

    /// Ends a connection that was counted.
    mutating func release(_ address: String?) {
        guard let network = network(of: address), let count = counts[network] else { return }
        counts[network] = count > 1 ? count - 1 : nil
    }

    /// The number of networks with counted connections.
    var count: Int { counts.count }

    private func network(of address: String?) -> [UInt8]? {
        guard let address else { return nil }
        var v4 = [UInt8](repeating: 0, count: 4)
        if inet_pton(AF_INET, address, &v4) == 1 { return network(v4) }
        var v6 = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, address, &v6) == 1 else { return nil }
        // An IPv4-mapped IPv6 address.
        if v6.starts(with: [UInt8](repeating: 0, count: 10) + [255, 255]) {
            return network(Array(v6[12...]))
        }
        let isLoopback = v6 == [UInt8](repeating: 0, count: 15) + [1]
        return isLoopback && !limitsLoopback ? nil : Array(v6[..<8])
    }

    private func network(_ v4: [UInt8]) -> [UInt8]? {
        v4[0] == 127 && !limitsLoopback ? nil : Array(v4[..<3])
    }
}
