import Synchronization

/// The counters of a relay: for the last line of its log, and for its metrics.
final class Counters: Sendable {
    private let values: Mutex<[Name: Int]> = Mutex([:])

    /// The durations and results of commits.
    let commits = CommitTimes()

    enum Name: String, CaseIterable {
        case connections, stored, duplicates, refused, delivered
        case storedBytes, failedLogins, deferred, wakeUps, failedWakeUps, signals, pushedSignals
        case blobs, blobBytesIn, blobBytesOut, failedBlobs

        /// The counters in the last line of the log.
        static let logged: [Name] = [.connections, .stored, .duplicates, .refused, .delivered]
    }

    func add(_ name: Name, _ count: Int = 1) {
        guard count > 0 else { return }
        values.withLock { $0[name, default: 0] += count }
    }

    var all: [Name: Int] { values.withLock { $0 } }

    /// The counters as text for the log.
    var description: String {
        let values = all
        return Name.logged.map { "\(values[$0] ?? 0) \($0.rawValue)" }.joined(separator: ", ")
    }
}
