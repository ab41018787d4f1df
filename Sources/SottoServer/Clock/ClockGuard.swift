/// The clock state in a store, in minutes since 1970.
struct StoredClock: Sendable, Equatable {
    /// The newest time that was accepted.
    var accepted: Int64
    /// The clock's last time while it is ahead and not accepted.
    var held: Int64?
    /// The number of minutes for which the clock that is ahead has agreed with the elapsed time.
    var agreed: Int64 = 0
    /// The time that the operator confirmed.
    var confirmed: Int64?
}

/// Decides how much of the clock a relay believes: a wrong clock must not delete mail.
///
/// Expiry uses the accepted time, which never runs backward. It follows the clock while the clock is at most
/// ``tolerance`` ahead. A clock that is further ahead is accepted when it has agreed with the elapsed time for
/// ``agreement``, restarts included, or when the operator confirms it; until then nothing expires early. A relay that
/// was off for a month is such a case: it expires mail some hours later.
///
/// New rows get the later of the two times, so that they are not too old if the clock turns out to be right.
struct ClockGuard: Sendable {
    /// The most minutes that the clock may be ahead of the accepted time.
    static let tolerance = 60.0
    /// Minutes for which a clock that is further ahead must agree with the elapsed time.
    static let agreement = 6.0 * 60
    /// The most minutes between two runs of a relay after which the agreement of a clock that is ahead still counts.
    static let pause = 24.0 * 60

    /// The accepted time, in minutes, at `since`.
    private var accepted: Double
    private var since: Double
    private var pending: Pending?
    /// The accepted time at the start, less the elapsed time.
    private var start = 0.0

    /// A clock that is ahead.
    private struct Pending {
        /// The clock's minutes less the elapsed minutes.
        var offset: Double
        var agreed: Double
        var seen: Double
    }

    /// Starts with the clock state of the store, or with the clock if the store has no state. `wall` is the clock and
    /// `now` the elapsed time, both in minutes.
    init(_ stored: StoredClock?, wall: Double, now: Double) {
        accepted = stored.map { Double($0.accepted) } ?? wall
        since = now
        if let stored, let held = stored.held {
            let gap = wall - Double(held)
            if gap > -Self.tolerance, gap <= Self.pause {
                pending = Pending(offset: wall - now, agreed: Double(stored.agreed), seen: now)
            }
        }
        if let confirmed = stored?.confirmed { confirm(confirmed, wall: wall, now: now) }
        observe(wall: wall, now: now)
        start = expiry(now) - now
    }

    /// Compares the clock with the elapsed time; called every minute.
    mutating func observe(wall: Double, now: Double) {
        let expected = self.expiry(now)
        guard wall > expected + Self.tolerance else {
            (accepted, since, pending) = (max(expected, wall), now, nil)
            return
        }
        let offset = wall - now
        guard var known = pending, abs(known.offset - offset) <= Self.tolerance else {
            pending = Pending(offset: offset, agreed: 0, seen: now)
            return
        }
        known.agreed += now - known.seen
        (known.offset, known.seen) = (offset, now)
        pending = known
        if known.agreed >= Self.agreement { (accepted, since, pending) = (wall, now, nil) }
    }

    /// Accepts the clock, even if it is behind, if it shows about the time that the operator confirmed.
    mutating func confirm(_ confirmed: Int64, wall: Double, now: Double) {
        guard abs(wall - Double(confirmed)) <= Self.tolerance else { return }
        (accepted, since, pending) = (wall, now, nil)
    }

    /// The time, in minutes, for expiry.
    func expiry(_ now: Double) -> Double { accepted + (now - since) }

    /// The time, in minutes, that was accepted at the start, and the elapsed time since then.
    func holding(_ now: Double) -> Double { start + now }

    /// The time, in minutes, for new rows.
    func stamp(wall: Double, now: Double) -> Double { max(wall, expiry(now)) }

    /// The minutes that the clock is ahead and not accepted, negative if it is behind, or `nil` if it agrees.
    func error(wall: Double, now: Double) -> Double? {
        let difference = wall - expiry(now)
        return abs(difference) > Self.tolerance ? difference : nil
    }

    /// The clock state to store.
    func stored(wall: Double, now: Double) -> StoredClock {
        StoredClock(
            accepted: Int64(expiry(now)), held: pending.map { _ in Int64(wall) },
            agreed: Int64(pending?.agreed ?? 0))
    }
}
