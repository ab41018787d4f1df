import Sotto
import SottoWire
import Synchronization

/// Whether so many ids publish something that new ones must do some work first.
final class Surge: Sendable {
    private struct State {
        var since = 0.0
        var count = 0
        /// What there was in the minute before.
        var before = 0
    }

    /// The most that the zero bits grow by.
    private static let mostMore = 4

    private let limit: Int
    private let least: Int
    private let state = Mutex(State())

    /// A surge is more than `limit` publications in a minute; 0 for never. The work begins at so many zero bits.
    init(limit: Int, bits: Int) { (self.limit, least) = (limit, bits) }

    /// Counts a publication, and says how many zero bits are asked of a new id; `nil` without a surge.
    func note(at now: Double) -> Int? {
        guard limit > 0 else { return nil }
        return state.withLock { state in
            if now - state.since >= 60 {
                state.before = now - state.since < 120 ? state.count : 0
                (state.since, state.count) = (now, 0)
            }
            state.count += 1
            return bits(max(state.count, state.before))
        }
    }

    /// How many zero bits are asked of a new id now, surge or not.
    var bits: Int {
        state.withLock { bits(max($0.count, $0.before)) } ?? least
    }

    /// One bit more each time that the number doubles.
    private func bits(_ count: Int) -> Int? {
        guard count > limit else { return nil }
        let doublings = Int.bitWidth - 1 - (count / limit).leadingZeroBitCount
        return least + min(Self.mostMore, doublings)
    }
}
