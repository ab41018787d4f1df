import Synchronization

/// Limits the bytes of blobs that each network uploads in a day. The counts are only in memory.
final class UploadRates: Sendable {
    /// The most networks in memory. At the limit, networks that may upload everything again are deleted.
    private static let limit = 65_536
    private static let secondsOfDay = 86_400.0

    private let perDay: Double
    private let networks = Mutex<[[UInt8]: TokenBucket]>([:])

    /// Allows `perDay` bytes in a day to each network; 0 for no limit.
    init(perDay: Int64) { self.perDay = Double(perDay) }

    /// Returns whether a network may upload more, and counts `bytes` if so. Loopback, `nil`, is not limited.
    func admit(_ bytes: Int, from network: [UInt8]?, at now: Double) -> Bool {
        guard perDay > 0, let network else { return true }
        return networks.withLock { networks in
            if networks[network] == nil, networks.count >= Self.limit {
                networks = networks.filter { !$0.value.isFull(at: now) }
            }
            let new = TokenBucket(rate: perDay / Self.secondsOfDay, capacity: perDay, at: now)
            return networks[network, default: new].take(Double(bytes), at: now)
        }
    }
}
