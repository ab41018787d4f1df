import Sotto
import SottoDatabase

/// A part of the history: from the first place, before the second.
struct HistoryRange: Sendable {
    let start: HistoryPlace
    let end: HistoryPlace
}

extension IdentityStore {
    /// Opens further connections of the file, for threads that read.
    func connections(_ count: Int) throws(StateError) -> [DurableDatabase] {
        do throws(DatabaseError) {
            return try (0..<count).map { _ throws(DatabaseError) in
                try DurableDatabase(
                    path: database.path, kind: Self.fileKind, migrations: Self.migrations,
                    lockTimeout: 10, migrates: false)
            }
        } catch { throw .database(error) }
    }
}

/// Blocks of the history, read on several threads, each with its own connection.
final class HistoryBlocks: @unchecked Sendable {
    // Sendable: during ``forEach(_:_:)`` each call uses one connection and writes one result. The keys of the store are
    // read-only.
    /// The number of rows in a block.
    private static let size: Int64 = 8_192

    private let connections: [DurableDatabase]
    private let pool = ThreadPool()
    /// Whether the places are in the order of the numbers. Then a block is a range of numbers.
    private let isInOrder: Bool
    /// The highest number when the blocks were created.
    let last: Int64

    init(_ store: IdentityStore) throws(StateError) {
        connections = try store.connections(ThreadPool.size)
        (isInOrder, last) = try store.database.use {
            (connection: StateConnection) throws(StateError) in
            (
                try store.hasPlacesInOrder(connection),
                try connection.integer("SELECT max(number) FROM message")
            )
        }
    }

    /// The condition for the rows of a range, whose places are the parameters 1 to 4.
    var condition: String {
        isInOrder
            ? "number >= ?2 AND number < ?4"
            : "(place, number) >= (?1, ?2) AND (place, number) < (?3, ?4)"
    }

    /// The order of the rows as columns.
    var ascending: String { isInOrder ? "number" : "place, number" }
    /// The opposite order.
    var descending: String { isInOrder ? "number DESC" : "place DESC, number DESC" }

    /// Returns the next blocks from a place on, in order: those that are read at once.
    func ranges(from place: HistoryPlace) throws(StateError) -> [HistoryRange] {
        guard !isInOrder else {
            // No number is after the end.
            guard place.number <= last else { return [] }
            let first = max(place.number, 1)
            return steps { first + $0 * Self.size }.filter { $0.start.number <= last }
        }
        return try ranges(
            from: place, to: .end,
            """
            SELECT place, number FROM message WHERE (place, number) >= (?, ?)
            ORDER BY place, number LIMIT 1 OFFSET ?
            """, Self.size
        ) { HistoryRange(start: $0, end: $1) }
    }

    /// Returns the last blocks before a place, the latest first: those that are read at once. The place is that of a
    /// message, of the start of a block, or the end.
    func ranges(before place: HistoryPlace) throws(StateError) -> [HistoryRange] {
        guard !isInOrder else {
            let end = min(place.number, last + 1)
            return steps { end - ($0 + 1) * Self.size }.filter { $0.end.number > 1 }
        }
        return try ranges(
            from: place, to: .start,
            """
            SELECT place, number FROM message WHERE (place, number) < (?, ?)
            ORDER BY place DESC, number DESC LIMIT 1 OFFSET ?
            """, Self.size - 1
        ) { HistoryRange(start: $1, end: $0) }
    }

    /// Returns a range of numbers for each connection. `first` returns its first number.
    private func steps(_ first: (Int64) -> Int64) -> [HistoryRange] {
        connections.indices.map {
            let start = first(Int64($0))
            return HistoryRange(
                start: HistoryPlace(rank: .min, number: start),
                end: HistoryPlace(rank: .min, number: start + Self.size))
        }
    }

    private func ranges(
        from place: HistoryPlace, to limit: HistoryPlace, _ select: String, _ offset: Int64,
        _ range: (HistoryPlace, HistoryPlace) -> HistoryRange
    ) throws(StateError) -> [HistoryRange] {
        try connections[0].use { (connection: StateConnection) throws(StateError) in
            var ranges: [HistoryRange] = []
            var (from, isLast) = (place, place == limit)
            while !isLast, ranges.count < connections.count {
                let to = try connection.first(select, from.rank, from.number, offset) {
                    HistoryPlace(rank: $0.integer(0), number: $0.integer(1))
                }
                ranges.append(range(from, to ?? limit))
                (from, isLast) = (to ?? limit, to == nil)
            }
            return ranges
        }
    }

    /// Calls `read` with each block on the threads. Returns the results in this order.
    func forEach<Value: Sendable>(
        _ ranges: [HistoryRange],
        _ read: @escaping @Sendable (StateConnection, HistoryRange) throws(StateError) -> Value
    ) throws(StateError) -> [Value] {
        var results = [Result<Value, StateError>?](repeating: nil, count: ranges.count)
        results.withUnsafeMutableBufferPointer { results in
            nonisolated(unsafe) let results = results
            pool.forEach(results.count) { [self] index in
                do throws(StateError) {
                    let value = try connections[index].use {
                        (connection: StateConnection) throws(StateError) in
                        try read(connection, ranges[index])
                    }
                    results[index] = .success(value)
                } catch { results[index] = .failure(error) }
            }
        }
        var values: [Value] = []
        for result in results {
            if let result { values.append(try result.get()) }
        }
        return values
    }
}
