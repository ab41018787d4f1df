import Sotto
import Synchronization

/// A token bucket: a long-term rate of events in a second, and a burst size.
struct TokenBucket: Decaying {
    private let rate: Double
    private let capacity: Double
    private var level: Double
    private var last: Double

    /// Creates a full bucket of `capacity` events that gains `rate` events in a second.
    init(rate: Double, capacity: Double, at now: Double) {
        self.rate = rate
        self.capacity = capacity
        (level, last) = (capacity, now)
    }

    /// Returns whether an event is within the rate, and counts it as `cost` events if so. A cost above the level
    /// delays the next event.
    mutating func take(_ cost: Double = 1, at now: Double) -> Bool {
        level = min(capacity, level + max(0, now - last) * rate)
        last = now
        guard level >= 1 else { return false }
        level -= cost
        return true
    }

    /// Takes back an event that was counted but did not happen.
    mutating func refund() { level = min(capacity, level + 1) }

    /// Seconds until an event is within the rate.
    var wait: Double { max(0, 1 - level) / rate }

    /// Seconds until the bucket is full.
    func left(at now: Double) -> Double { (capacity - level) / rate - (now - last) }
}

/// Limits the rate of envelopes to each mailbox. In a full table, a new mailbox continues the count of another one.
final class MailboxRates: Sendable {
    private let perMinute: Double
    private let table = Mutex(RateTable<KeyID, TokenBucket>())

    /// Allows `perMinute` envelopes in a minute to each mailbox, all at once if they come so; 0 for no limit.
    init(perMinute: Int) { self.perMinute = Double(perMinute) }

    /// Returns whether a mailbox may get another envelope, and counts it if so.
    func admits(_ mailbox: KeyID, at now: Double) -> Bool {
        guard perMinute > 0 else { return true }
        return update(mailbox, at: now) { $0.take(at: now) }
    }

    /// Takes back the last count of a mailbox, because its envelope was not stored.
    func refund(_ mailbox: KeyID, at now: Double) {
        guard perMinute > 0 else { return }
        update(mailbox, at: now) { $0.refund() }
    }

    private func update<Result: Sendable>(
        _ mailbox: KeyID, at now: Double, _ body: (inout TokenBucket) -> Result
    ) -> Result {
        let new = TokenBucket(rate: perMinute / 60, capacity: perMinute, at: now)
        return table.withLock { $0.update(mailbox, at: now, initial: { $0 ?? new }, body) }
    }
}
