import Glibc

/// Limits the connections of each network: a /24 of IPv4, or a /64 of IPv6.
///
/// It keeps one network from using all connections of a relay, and limits its rate of new connections, because each one
/// costs work before any request. Loopback addresses are exempt, because all clients of a proxy on this
/// machine have one. Addresses are in textual form; `nil` is exempt too.
struct NetworkConnections {
    /// New connections of one network in a second. A network may open all connections that its limit allows at once.
    static let connectionsPerSecond: Double = 100

    private let limit: Int
    private let rate: Double
    private let limitsLoopback: Bool
    /// The open connections of each network that has some.
    private(set) var counts: [[UInt8]: Int] = [:]
    /// The new connections of each network. In a full table, a new network continues the count of another one.
    private(set) var rates = RateTable<[UInt8], TokenBucket>()

    /// Allows `limit` connections from each network, and `rate` new ones in a second.
    init(limit: Int, rate: Double = connectionsPerSecond, limitsLoopback: Bool = false) {
        (self.limit, self.rate, self.limitsLoopback) = (limit, rate, limitsLoopback)
    }

    /// Counts a connection from an address at `now`, in seconds of a monotonic clock. Returns false, and does not count
    /// it, if its network is at a limit.
    mutating func admit(_ address: String?, at now: Double) -> Bool {
        guard let key = network(of: address) else { return true }
        let new = TokenBucket(rate: rate, capacity: Double(limit), at: now)
        guard counts[key, default: 0] < limit,
            rates.update(key, at: now, initial: { $0 ?? new }, { $0.take(at: now) })
        else { return false }
        counts[key, default: 0] += 1
        return true
    }

    /// Ends a connection that was counted.
    mutating func release(_ address: String?) {
        guard let key = network(of: address), let count = counts[key] else { return }
        counts[key] = count > 1 ? count - 1 : nil
    }

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
