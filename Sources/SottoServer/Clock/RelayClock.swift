import Sotto
import SottoDatabase
import Synchronization

/// The time of a running relay: the system's clock as far as ``ClockGuard`` accepts it.
final class RelayClock: Sendable {
    private let clock: Mutex<ClockGuard>
    private let wall: @Sendable () -> Double

    /// The system's clock, in seconds since 1970.
    static let system: @Sendable () -> Double = { Double(Timestamp.now().seconds) }

    /// Creates a clock from the stored clock state. `wall` returns the system's clock, in seconds.
    init(
        _ stored: StoredClock? = nil,
        wall: @escaping @Sendable () -> Double = RelayClock.system
    ) {
        self.wall = wall
        clock = Mutex(ClockGuard(stored, wall: wall() / 60, now: Self.passed))
    }

    /// The minute, since 1970, for new rows.
    var minute: Int64 {
        let wall = wall() / 60
        return Int64(clock.withLock { $0.stamp(wall: wall, now: Self.passed) })
    }

    /// The minute, since 1970, for expiry.
    var expiry: Int64 { Int64(clock.withLock { $0.expiry(Self.passed) }) }

    /// The second, since 1970, by which envelopes with a time to live expire: the accepted time at the start of the
    /// relay and the elapsed time since then. A clock that is set meanwhile does not change it, so that it measures how
    /// long the relay has held an envelope.
    var holding: Int64 { Int64(clock.withLock { $0.holding(Self.passed) } * 60) }

    /// The minutes that the clock is off and not accepted, negative if it is behind, or `nil`.
    var error: Int64? {
        let wall = wall() / 60
        return clock.withLock { $0.error(wall: wall, now: Self.passed) }.map { Int64($0) }
    }

    /// Reads the system's clock, and returns the clock state to store. `confirmed` is the minute that the operator
    /// confirmed.
    func observe(confirmed: Int64?) -> StoredClock {
        let wall = wall() / 60
        let now = Self.passed
        return clock.withLock { clock in
            if let confirmed { clock.confirm(confirmed, wall: wall, now: now) }
            clock.observe(wall: wall, now: now)
            return clock.stored(wall: wall, now: now)
        }
    }

    /// Whether a record's time of issue is at most a day in the future, for clocks that are wrong, and so recent that
    /// a later record of its owner cannot have been deleted.
    func isCurrent(_ issued: Timestamp) -> Bool {
        let age = minute - issued.seconds / 60
        return age >= -24 * 60 && age < RelayAccount.lifeMinutes
    }

    /// Whether a time is at most some seconds in the future.
    func isReached(_ time: Timestamp, within seconds: Int64) -> Bool {
        isReached(time.seconds, within: seconds)
    }

    /// Whether a time, in seconds since 1970, is at most some seconds in the future.
    func isReached(_ time: Int64, within seconds: Int64) -> Bool {
        time <= minute * 60 + 59 + seconds
    }

    /// The elapsed minutes by the monotonic clock.
    private static var passed: Double { Monotonic.seconds() / 60 }
}
