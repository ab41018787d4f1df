import SottoDatabase
import Synchronization

/// The durations of commits, and the health of the store.
final class CommitTimes: Sendable {
    /// Whether the relay can store messages.
    enum Health: Equatable {
        case good
        /// A commit takes longer than a disk should need.
        case slow
        /// The last messages were deferred because the store has no space.
        case full
        /// The store failed, and the relay ends.
        case failed

        /// One line that describes the health.
        var text: String {
            switch self {
            case .good: "ok"
            case .slow: "a commit takes more than \(Int(slowSeconds)) seconds"
            case .full: "the store has no space for more messages"
            case .failed: "the store failed"
            }
        }
    }

    /// Counts of commits by their duration.
    struct Histogram {
        /// The number of commits in each class of ``limits``, and of longer ones.
        var counts = [Int](repeating: 0, count: limits.count + 1)
        /// The sum of all durations, in seconds.
        var sum = 0.0

        /// The longest duration of each class, in seconds.
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
        /// When a commit last found the store full, after the operator was told.
        var toldFull: Double?
        var hasFailed = false
    }

    /// Seconds after which an unfinished commit counts as slow.
    static let slowSeconds = 10.0
    /// Seconds for which a store stays reported as full without another try: perhaps no sender tries again.
    private static let fullSeconds = 60.0

    private let state = Mutex(State())

    /// Runs `body`, a commit, and records its duration.
    func measure<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
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

    /// Notes whether a commit found the store full. Returns what the operator should know: that it is full, and that it has
    /// been usable for ``fullSeconds``, each once.
    @discardableResult
    func note(_ outcomes: [Outcome], at now: Double = Monotonic.seconds()) -> RelayNotice? {
        let isFull = outcomes.contains(.diskFull)
        guard isFull || outcomes.contains(.stored) else { return nil }
        return state.withLock { state in
            state.fullSince = isFull ? now : nil
            let told = state.toldFull
            if isFull {
                state.toldFull = now
                return told == nil ? .storeFull : nil
            }
            guard let told, now - told >= Self.fullSeconds else { return nil }
            state.toldFull = nil
            return .storeUsable
        }
    }

    /// Notes that the store has failed.
    func noteFailure() { state.withLock { $0.hasFailed = true } }

    var histogram: Histogram { state.withLock { $0.histogram } }

    /// The health of the store.
    func health(at now: Double = Monotonic.seconds()) -> Health {
        state.withLock { state in
            if state.hasFailed { return .failed }
            if let begun = state.begun, now - begun > Self.slowSeconds { return .slow }
            if let since = state.fullSince, now - since < Self.fullSeconds { return .full }
            return .good
        }
    }
}
