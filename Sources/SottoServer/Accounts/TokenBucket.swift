import Sotto
import Synchronization

/// So many events a second in the long run, and so many at once.
struct TokenBucket: Sendable {
    private let rate: Double
    private let capacity: Double
    private var level: Double
    private var last: Double

    /// `rate` events a second, `capacity` at once; full at first.
    init(rate: Double, capacity: Double, at now: Double) {
        self.rate = rate
        self.capacity = capacity
        (level, last) = (capacity, now)
    }

    /// Whether an event is within the rate; if so, it is counted.
    mutating func take(at now: Double) -> Bool {
        level = min(capacity, level + max(0, now - last) * rate)
        last = now
        guard level >= 1 else { return false }
        level -= 1
        return true
    }

    /// Whether nothing was taken lately.
    func isFull(at now: Double) -> Bool { level + (now - last) * rate >= capacity }
}

/// How fast envelopes may come to one mailbox.
final class MailboxRates: Sendable {
    /// The most mailboxes that are remembered; over it those that got nothing lately are forgotten, or all.
    private static let limit = 65_536

    private let perMinute: Double
    private let buckets = Mutex<[SessionID: TokenBucket]>([:])

    /// At most `perMinute` envelopes in a minute, all of them at once if they like; 0 for as many as come.
    init(perMinute: Int) { self.perMinute = Double(perMinute) }

    /// Whether a mailbox may get another envelope; if so, it is counted.
    func admits(_ mailbox: SessionID, at now: Double) -> Bool {
        guard perMinute > 0 else { return true }
        return buckets.withLock { buckets in
            if buckets.count >= Self.limit {
                buckets = buckets.filter { !$0.value.isFull(at: now) }
                if buckets.count >= Self.limit { buckets = [:] }
            }
            return buckets[
                mailbox, default: TokenBucket(rate: perMinute / 60, capacity: perMinute, at: now)
            ].take(at: now)
        }
    }
}
