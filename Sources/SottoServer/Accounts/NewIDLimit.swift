import Sotto
import SottoWire
import Synchronization

/// Demands a proof of work from new ids while more publications arrive than the limit.
final class NewIDLimit: Sendable {
    private struct State {
        var since = 0.0
        var count = 0
        /// The number of publications in the minute before.
        var before = 0
    }

    /// The maximum number of bits that are added to the base difficulty.
    private static let mostMore = 4

    private let limit: Int
    private let least: Int
    private let state = Mutex(State())

    /// Creates a limit: more than `limit` publications in a minute are a surge; 0 turns it off. `bits` is the number
    /// of zero bits that a proof of work needs when a surge begins.
    init(limit: Int, bits: Int) { (self.limit, least) = (limit, bits) }

    /// Counts a publication, a large one as several. Returns the number of zero bits that a new id must prove, or `nil`
    /// without a surge.
    func note(_ weight: Int = 1, at now: Double) -> Int? {
        guard limit > 0 else { return nil }
        return state.withLock { state in
            if now - state.since >= 60 {
                state.before = now - state.since < 120 ? state.count : 0
                (state.since, state.count) = (now, 0)
            }
            state.count += weight
            return bits(max(state.count, state.before))
        }
    }

    /// The number of zero bits that a new id must prove now, whether or not there is a surge.
    var bits: Int {
        state.withLock { bits(max($0.count, $0.before)) } ?? least
    }

    /// Adds a bit each time that the count doubles.
    private func bits(_ count: Int) -> Int? {
        guard count > limit else { return nil }
        let doublings = Int.bitWidth - 1 - (count / limit).leadingZeroBitCount
        return least + min(Self.mostMore, doublings)
    }
}
