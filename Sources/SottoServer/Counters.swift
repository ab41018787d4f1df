import Synchronization

/// What a relay counts, for its last line in the log.
final class Counters: Sendable {
    private let values: Mutex<[String: Int]> = Mutex([:])

    /// What is counted.
    enum Name: String, CaseIterable {
        case connections, stored, duplicates, refused, delivered
    }

    /// Adds to a count.
    func add(_ name: Name, _ count: Int = 1) {
        guard count > 0 else { return }
        values.withLock { $0[name.rawValue, default: 0] += count }
    }

    /// All counts, as people read them.
    var description: String {
        values.withLock { values in
            Name.allCases.map { "\(values[$0.rawValue] ?? 0) \($0.rawValue)" }
                .joined(separator: ", ")
        }
    }
}
