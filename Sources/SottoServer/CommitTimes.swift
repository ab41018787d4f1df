import SottoState
import Synchronization

/// How long commits take, and whether the store takes any.
final class CommitTimes: Sendable {
    /// Whether a relay can do its work.
    enum Health: Equatable {
        case good
        /// A commit has been under way for longer than a disk should need.
        case slow
        /// The last messages were put off for want of room.
        case full
        /// The store failed, and the relay is ending.
        case failed

        /// One line on it.
        var text: String {
            switch self {
            case .good: "ok"
            case .slow: "a commit has been under way for more than \(Int(slowSeconds)) seconds"
            case .full: "there is no room for more messages"
            case .failed: "the store failed"
            }
        }
    }

    /// So many commits, by how long they took.
    struct Histogram {
        /// Commits of each class of ``limits``, and of the longer ones.
        var counts = [Int](repeating: 0, count: limits.count + 1)
        /// Seconds of all commits together.
        var sum = 0.0

        /// The longest time of each class, in seconds.
        static let limits = [
            0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
        ]

        mutating func add(_ seconds: Double) {
            counts[Self.limits.firstIndex { seconds <= $0 } ?? Self.limits.count] += 1
            sum += seconds
        }
    }

    private struct State {
        var histogram = Histogram()
        var begun: Double?
        var fullSince: Double?
        var hasFailed = false
    }

    /// Seconds after which a commit that is under way is a sign of illness.
    static let slowSeconds = 10.0
    /// Seconds for which a store that had no room is believed to have none: nobody may try again meanwhile.
    private static let fullSeconds = 60.0

    private let state = Mutex(State())

    /// Makes a commit, and takes its time.
    func measure<Value>(_ body: () throws(StateError) -> Value) throws(StateError) -> Value {
        let start = Monotonic.seconds()
        state.withLock { $0.begun = start }
        defer {
            state.withLock { state in
                state.begun = nil
                state.histogram.add(max(0, Monotonic.seconds() - start))
            }
        }
        return try body()
    }

    /// Looks for want of room in what came of a commit.
    func note(_ outcomes: [Outcome]) {
        let isFull = outcomes.contains(.diskFull)
        guard isFull || outcomes.contains(.stored) else { return }
        state.withLock { $0.fullSince = isFull ? Monotonic.seconds() : nil }
    }

    /// Notes that the store takes nothing more.
    func noteFailure() { state.withLock { $0.hasFailed = true } }

    /// The commits so far.
    var histogram: Histogram { state.withLock { $0.histogram } }

    /// How the store is now.
    func health(at now: Double = Monotonic.seconds()) -> Health {
        state.withLock { state in
            if state.hasFailed { return .failed }
            if let begun = state.begun, now - begun > Self.slowSeconds { return .slow }
            if let since = state.fullSince, now - since < Self.fullSeconds { return .full }
            return .good
        }
    }
}
