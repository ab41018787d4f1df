import Sotto
import Synchronization

/// A token bucket: a long-term rate of events in a second, and a burst size.
struct TokenBucket: Sendable {
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

    /// Whether the bucket is full again.
    func isFull(at now: Double) -> Bool { level + (now - last) * rate >= capacity }
}

/// Limits the rate of envelopes to each mailbox.
final class MailboxRates: Sendable {
    /// The most mailboxes with a bucket. At the limit, full buckets are deleted; if none is full, other mailboxes are
    /// not limited.
    private static let limit = 65_536

    private let perMinute: Double
    private let state = Mutex(State())

    private struct State {
        var buckets: [SessionID: TokenBucket] = [:]
        var tidied = 0.0
    }

    /// Allows `perMinute` envelopes in a minute to each mailbox, all at once if they come so; 0 for no limit.
    init(perMinute: Int) { self.perMinute = Double(perMinute) }

    /// Returns whether a mailbox may get another envelope, and counts it if so.
    func admits(_ mailbox: SessionID, at now: Double) -> Bool {
        guard perMinute > 0 else { return true }
        return state.withLock { state in
            if state.buckets[mailbox] == nil, state.buckets.count >= Self.limit {
                if now - state.tidied > 1 {
                    state.tidied = now
                    state.buckets = state.buckets.filter { !$0.value.isFull(at: now) }
                }
                // Mailboxes with a bucket stay limited.
                guard state.buckets.count < Self.limit else { return true }
            }
            return state.buckets[
                mailbox, default: TokenBucket(rate: perMinute / 60, capacity: perMinute, at: now)
            ].take(at: now)
        }
    }

    /// Takes back the last count of a mailbox, because its envelope was not stored.
    func refund(_ mailbox: SessionID) {
        guard perMinute > 0 else { return }
        state.withLock { $0.buckets[mailbox]?.refund() }
    }
}
