import SottoWire
import Synchronization

/// Limits a rate for each network, such as the bytes of blobs that it uploads. The counts are only in memory. In a full
/// table, a new network continues the count of another one.
final class NetworkRates: Sendable {
    /// The claims in batches that a connection or a network may make at once: enough for two groups of 1,000 people.
    static let claims = 2_000.0
    /// The claims in batches that a connection or a network may make in a second after these.
    static let claimsPerSecond = Double(WireLimits.claimsInAMinute) / 60

    private let rate: Double
    private let capacity: Double
    private let networks = Mutex(RateTable<[UInt8], TokenBucket>())

    /// Allows each network `capacity` at once, and `rate` in a second after that; 0 for no limit.
    init(rate: Double, capacity: Double) { (self.rate, self.capacity) = (rate, capacity) }

    /// Allows each network `perDay` in a day; 0 for no limit.
    convenience init(perDay: Int64) {
        self.init(rate: Double(perDay) / 86_400, capacity: Double(perDay))
    }

    /// Returns whether a network is within its rate, and counts `count` if so. `nil` means loopback, which has no limit.
    func admit(_ count: Int, from network: [UInt8]?, at now: Double) -> Bool {
        guard capacity > 0, let network else { return true }
        let new = TokenBucket(rate: rate, capacity: capacity, at: now)
        return networks.withLock {
            $0.update(network, at: now, initial: { $0 ?? new }) { $0.take(Double(count), at: now) }
        }
    }
}
