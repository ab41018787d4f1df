import Sotto
import SottoState
import Synchronization

/// The time of a running relay: the system's clock, as far as ``ClockGuard`` believes it.
final class RelayClock: Sendable {
    private let clock: Mutex<ClockGuard>
    private let wall: @Sendable () -> Double

    /// The system's clock, in seconds since 1970.
    static let system: @Sendable () -> Double = { Double(Timestamp.now().seconds) }

    /// A clock that goes on from what a store remembers. `wall` is the system's clock, in seconds.
    init(
        _ stored: StoredClock? = nil,
        wall: @escaping @Sendable () -> Double = RelayClock.system
    ) {
        self.wall = wall
        clock = Mutex(ClockGuard(stored, wall: wall() / 60, now: Self.passed))
    }

    /// Minutes since 1970, for new rows.
    var minute: Int64 {
        let wall = wall() / 60
        return Int64(clock.withLock { $0.stamp(wall: wall, now: Self.passed) })
    }

    /// Minutes since 1970, for expiry.
    var expiry: Int64 { Int64(clock.withLock { $0.expiry(Self.passed) }) }

    /// Minutes that the clock is off, and not believed; negative when it is behind.
    var error: Int64? {
        let wall = wall() / 60
        return clock.withLock { $0.error(wall: wall, now: Self.passed) }.map { Int64($0) }
    }

    /// Looks at the system's clock, and returns what the store is to remember. `confirmed` is the minute that the operator
    /// said is right.
    func observe(confirmed: Int64?) -> StoredClock {
        let wall = wall() / 60
        let now = Self.passed
        return clock.withLock { clock in
            if let confirmed { clock.confirm(confirmed, wall: wall, now: now) }
            clock.observe(wall: wall, now: now)
            return clock.stored(wall: wall, now: now)
        }
    }

    /// Whether a record was issued by now, give or take a day for clocks that are wrong, and not so long ago that a later
    /// one may be forgotten.
    func isCurrent(_ issued: Timestamp) -> Bool {
        let age = minute - issued.seconds / 60
        return age >= -24 * 60 && age < Account.lifeMinutes
    }

    /// Minutes by a clock that is never set.
    private static var passed: Double { Monotonic.seconds() / 60 }
}
