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

    /// Whether an event is within the rate; if so, it is counted, as `cost` events. What it costs more than there was left
    /// delays the next one.
    mutating func take(_ cost: Double = 1, at now: Double) -> Bool {
        level = min(capacity, level + max(0, now - last) * rate)
        last = now
        guard level >= 1 else { return false }
        level -= cost
        return true
    }

    /// An event that was counted did not happen.
    mutating func giveBack() { level = min(capacity, level + 1) }

    /// Seconds until an event is within the rate.
    var wait: Double { max(0, 1 - level) / rate }

    /// Whether nothing was taken lately.
    func isFull(at now: Double) -> Bool { level + (now - last) * rate >= capacity }
}

/// How fast envelopes may come to one mailbox.
final class MailboxRates: Sendable {
    /// The most mailboxes that are remembered; over it those that got nothing lately are forgotten, and new ones
    /// are not bounded.
    private static let limit = 65_536

    private let perMinute: Double
    private let state = Mutex(State())

    private struct State {
        var buckets: [SessionID: TokenBucket] = [:]
        var tidied = 0.0
    }

    /// At most `perMinute` envelopes in a minute, all of them at once if they like; 0 for as many as come.
    init(perMinute: Int) { self.perMinute = Double(perMinute) }

    /// Whether a mailbox may get another envelope; if so, it is counted.
    func admits(_ mailbox: SessionID, at now: Double) -> Bool {
        guard perMinute > 0 else { return true }
        return state.withLock { state in
            if state.buckets[mailbox] == nil, state.buckets.count >= Self.limit {
                if now - state.tidied > 1 {
                    state.tidied = now
                    state.buckets = state.buckets.filter { !$0.value.isFull(at: now) }
                }
                // Those that are known stay bounded, whoever else comes.
                guard state.buckets.count < Self.limit else { return true }
            }
            return state.buckets[
                mailbox, default: TokenBucket(rate: perMinute / 60, capacity: perMinute, at: now)
            ].take(at: now)
        }
    }

    /// What was counted last for a mailbox did not come to be in it.
    func giveBack(_ mailbox: SessionID) {
        guard perMinute > 0 else { return }
        state.withLock { $0.buckets[mailbox]?.giveBack() }
    }
}
