public import Sotto
import SottoDatabase

/// The opened messages, each with its printed record, encrypted.
extension IdentityStore {
    /// The state of an envelope id.
    public enum Opened: Sendable, Equatable {
        /// Nothing was opened under the id.
        case new
        /// The envelope was opened; `record` is what was printed, `number` its number in the state.
        case same(number: Int64, record: [UInt8])
        /// A different envelope with this id was opened.
        case different
    }

    /// A message that was opened.
    public struct OpenedMessage: Sendable, Equatable {
        /// The message's number: higher than the numbers of all messages opened earlier.
        public let number: Int64
        /// The record that was printed.
        public let record: [UInt8]
    }

    /// The point from which messages are selected.
    public enum Since: Sendable, Equatable {
        /// Messages with higher numbers.
        case number(Int64)
        /// Messages opened at this time or later. Messages opened by an earlier version have no time and are left out.
        case time(Timestamp)
    }

    /// Returns the oldest messages since a point and after a number, at most `limit`.
    public func opened(
        since point: Since, after number: Int64, limit: Int
    ) throws(StateError) -> [OpenedMessage] {
        try database.use { connection throws(StateError) in
            let (start, time): (Int64, Int64?) =
                switch point {
                case .number(let first): (max(first, number), nil)
                case .time(let time): (number, time.seconds)
                }
            return try connection.rows(
                """
                SELECT number, digest, record FROM opened
                WHERE number > ?1 AND (?2 IS NULL OR time >= ?2) ORDER BY number LIMIT ?3
                """, start, time, limit
            ) { row throws(StateError) in
                OpenedMessage(
                    number: row.integer(0),
                    record: try unseal(row.bytes(2), .opened(digest: row.bytes(1))))
            }
        }
    }

    /// Returns the message with this number, or `nil`.
    public func openedMessage(_ number: Int64) throws(StateError) -> OpenedMessage? {
        let found = try opened(since: .number(number - 1), after: number - 1, limit: 1).first
        return found?.number == number ? found : nil
    }
}

extension StateTransaction {
    /// Returns the state of an envelope id. `digest` is ``Envelope/digest``.
    public func opened(id: String, digest: [UInt8]) throws(StateError) -> IdentityStore.Opened {
        let select = try connection.statement(
            "SELECT number, digest, record FROM opened WHERE mark = ?", store.mark(envelope: id))
        defer { select.reset() }
        guard try select.step() else { return .new }
        guard select.bytes(1) == digest else { return .different }
        return .same(
            number: select.integer(0),
            record: try store.unseal(select.bytes(2), .opened(digest: digest)))
    }

    /// Records that an envelope was opened, with the record that is printed for it. The id must not have a record yet.
    /// Returns the message's number.
    @discardableResult
    public func recordOpened(
        id: String, digest: [UInt8], record: [UInt8], at time: Timestamp = .now()
    ) throws(StateError) -> Int64 {
        try connection.run(
            "INSERT INTO opened (mark, digest, record, time) VALUES (?, ?, ?, ?)",
            store.mark(envelope: id), digest, store.seal(record, .opened(digest: digest)),
            time.seconds)
        return connection.lastRow
    }
}
