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

    /// Whether a time is past, or not far in the future: clocks of clients go wrong by a day.
    func isPast(_ time: Timestamp) -> Bool { time.seconds / 60 <= minute + 24 * 60 }

    /// Minutes since 1970.
    var minute: Int64 { Int64((wall + Monotonic.seconds() - monotonic) / 60) }
}
