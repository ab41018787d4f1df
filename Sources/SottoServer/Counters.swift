import Synchronization

/// What a relay counts: for its last line in the log, and for whoever watches it.
final class Counters: Sendable {
    private let values: Mutex<[Name: Int]> = Mutex([:])

    /// How long commits take, and what came of the last ones.
    let commits = CommitTimes()

    /// What is counted.
    enum Name: String, CaseIterable {
        case connections, stored, duplicates, refused, delivered
        case storedBytes, failedLogins, deferred, wakeUps, failedWakeUps

        /// Those that the log ends with.
        static let logged: [Name] = [.connections, .stored, .duplicates, .refused, .delivered]
    }

    /// Adds to a count.
    func add(_ name: Name, _ count: Int = 1) {
        guard count > 0 else { return }
        values.withLock { $0[name, default: 0] += count }
    }

    /// All counts.
    var all: [Name: Int] { values.withLock { $0 } }

    /// The counts, as people read them.
    var description: String {
        let values = all
        return Name.logged.map { "\(values[$0] ?? 0) \($0.rawValue)" }.joined(separator: ", ")
    }
}
