/// A table of rates, such as the rate of each network, with a fixed maximum number of entries.
///
/// Each use inspects the next few entries, as the hand of a clock passes them, and deletes those that are over; so no use
/// takes longer in a larger table. A new key in a full table replaces an entry that the hand finds.
struct RateTable<Key: Hashable & Sendable, Value: Decaying>: Sendable {
    /// The maximum number of entries of all tables of a relay.
    static var defaultLimit: Int { 65_536 }
    /// The number of entries that a use inspects: more than one, so that the table shrinks faster than it grows.
    private static var inspected: Int { 2 }
    /// The number of entries of a full table of which a new key replaces the most decayed one.
    private static var candidates: Int { 8 }

    private let limit: Int
    private var entries: [(key: Key, value: Value)] = []
    private var places: [Key: Int] = [:]
    private var hand = 0

    /// Creates an empty table.
    init(limit: Int = defaultLimit) { self.limit = limit }

    /// The number of entries.
    var count: Int { entries.count }

    /// Returns the value of a key, or `nil`.
    subscript(key: Key) -> Value? { places[key].map { entries[$0].value } }

    /// Changes the value of a key. `initial` creates a missing one, in a full table from the value that it replaces.
    mutating func update<Result>(
        _ key: Key, at now: Double, initial: (_ replaced: Value?) -> Value,
        _ body: (inout Value) -> Result
    ) -> Result {
        tidy(at: now)
        if places[key] == nil { insert(key, at: now, initial) }
        let place = places[key] ?? 0
        return body(&entries[place].value)
    }

    /// Deletes the entry of a key.
    mutating func remove(_ key: Key) {
        if let place = places[key] { remove(at: place) }
    }

    private mutating func insert(
        _ key: Key, at now: Double, _ initial: (_ replaced: Value?) -> Value
    ) {
        var replaced: Value?
        if entries.count >= limit {
            let some = (0..<min(Self.candidates, entries.count)).map { (hand + $0) % entries.count }
            hand += some.count
            func left(_ place: Int) -> Double { entries[place].value.left(at: now) }
            if let place = some.min(by: { left($0) < left($1) }) {
                replaced = entries[place].value
                remove(at: place)
            }
        }
        places[key] = entries.count
        entries.append((key, initial(replaced)))
    }

    private mutating func tidy(at now: Double) {
        for _ in 0..<min(Self.inspected, entries.count) {
            if hand >= entries.count { hand = 0 }
            if entries[hand].value.left(at: now) <= 0 { remove(at: hand) } else { hand += 1 }
        }
    }

    private mutating func remove(at place: Int) {
        places[entries[place].key] = nil
        let last = entries.removeLast()
        guard place < entries.count else { return }
        entries[place] = last
        places[last.key] = place
    }
}

/// A value that time takes back to its initial state.
protocol Decaying: Sendable {
    /// Seconds until the value equals a new one, so that it need not be kept; 0 or less if it does.
    func left(at now: Double) -> Double
}
