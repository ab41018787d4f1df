import Sotto
import SottoState

/// The time of a running relay: the system's at the start, and from then on by a clock that nobody sets.
/// So nothing expires early when somebody moves the clock.
struct RelayClock: Sendable {
    private let wall: Double
    private let monotonic: Double

    /// A clock that begins now.
    init() {
        wall = Double(Timestamp.now().seconds)
        monotonic = Monotonic.seconds()
    }

    /// Whether a record was issued by now, give or take a day for clocks that are wrong, and not so long ago that
    /// it is forgotten what came after it.
    func isCurrent(_ issued: Timestamp) -> Bool {
        let age = minute - issued.seconds / 60
        return age >= -24 * 60 && age < Account.lifeMinutes
    }

    /// Minutes since 1970.
    var minute: Int64 { Int64((wall + Monotonic.seconds() - monotonic) / 60) }
}
