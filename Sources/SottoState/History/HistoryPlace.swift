import Sotto
import SottoDatabase

/// The place of a message in the history, by which pages, exports and read marks order messages. Its number is the order
/// of arrival.
///
/// A message that arrives gets the last place. A message of an import, and an earlier message that its author shows, gets
/// the place of the time at which it was first stored, before the messages that arrived here in the same second.
public struct HistoryPlace: Sendable, Hashable, Comparable {
    /// The column `place`: the time in seconds since 1970 times 2²⁴, plus the order within the second, in which a message
    /// that arrived has 2²³ or more. The time is later than the message's own if the clock was ahead before.
    ///
    /// The order within the second makes places differ. Otherwise SQLite reads all messages of one place for each of them,
    /// because an index on a row value does not use the number of the row.
    let rank: Int64
    /// The number of the message.
    public let number: Int64

    /// The place before all messages.
    public static let start = HistoryPlace(rank: .min, number: .min)
    /// The place after all messages.
    public static let end = HistoryPlace(rank: .max, number: .max)

    private static let secondBits = 24
    /// The order within a second of the first message that arrives.
    static let arrival: Int64 = 1 << 23

    /// Returns the first column `place` of a second.
    static func rank(_ seconds: Int64) -> Int64 { seconds &<< secondBits }

    /// Returns the seconds of a column `place`.
    static func seconds(_ rank: Int64) -> Int64 { rank >> secondBits }

    /// Compares the times, then the numbers.
    public static func < (a: HistoryPlace, b: HistoryPlace) -> Bool {
        (a.rank, a.number) < (b.rank, b.number)
    }
}

extension IdentityStore {
    /// Returns the place of a point: of the message with a number, or of the first message at a time or later. A number
    /// without a message is that of the one before it. After the last message this is the end.
    public func place(of point: Point) throws(StateError) -> HistoryPlace {
        try database.use { connection throws(StateError) in
            switch point {
            case .number(let number): try place(ofNumber: number, connection)
            case .time(let time):
                try connection.first(
                    "SELECT place, number FROM message WHERE place >= ? ORDER BY place, number LIMIT 1",
                    HistoryPlace.rank(time.seconds)
                ) { HistoryPlace(rank: $0.integer(0), number: $0.integer(1)) } ?? .end
            }
        }
    }

    /// Returns the first place after a point: the one after the message with a number, or that of the first message at a time
    /// or later.
    public func place(after point: Point) throws(StateError) -> HistoryPlace {
        let place = try place(of: point)
        guard case .number = point, place != .end else { return place }
        return HistoryPlace(rank: place.rank, number: place.number + 1)
    }

    /// Whether all places are in the order of the numbers, as no message was imported. Then the table is read in its own
    /// order, which is faster.
    func hasPlacesInOrder(_ connection: StateConnection) throws(StateError) -> Bool {
        try !connection.exists("SELECT 1 FROM message WHERE arrived IS NOT NULL LIMIT 1")
    }

    func place(
        ofNumber number: Int64, _ connection: StateConnection
    ) throws(StateError) -> HistoryPlace {
        guard try connection.exists("SELECT 1 FROM message WHERE number >= ? LIMIT 1", number)
        else { return .end }
        return try connection.first(
            "SELECT place, number FROM message WHERE number <= ? ORDER BY number DESC LIMIT 1",
            number
        ) { HistoryPlace(rank: $0.integer(0), number: $0.integer(1)) } ?? .start
    }
}

extension StateTransaction {
    /// Returns the column `place` of a message that arrives.
    func placeOfArrival(at seconds: Int64) throws(StateError) -> Int64 {
        try max(HistoryPlace.rank(seconds) + HistoryPlace.arrival, lastPlace() + 1)
    }

    /// Returns the column `place` of an imported message that was first stored at this time: after the imported messages
    /// of the same second.
    func placeOfImport(at seconds: Int64) throws(StateError) -> Int64 {
        let first = HistoryPlace.rank(seconds)
        let end = first + HistoryPlace.arrival
        var last = try lastPlace()
        if last >= end {
            last =
                try connection.first(
                    "SELECT max(place) FROM message WHERE place >= ? AND place < ?", first, end
                ) { $0.isNull(0) ? Int64.min : $0.integer(0) } ?? .min
        }
        return min(max(first, last + 1), end - 1)
    }

    /// Returns the column `place` of the last message, or `Int64.min` without a message.
    func lastPlace() throws(StateError) -> Int64 {
        if let known = newestPlace { return known }
        let found = try connection.first("SELECT max(place) FROM message") {
            $0.isNull(0) ? Int64.min : $0.integer(0)
        }
        newestPlace = found
        return found ?? .min
    }
}
