public import Sotto

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
            let select = try connection.statement(
                """
                SELECT number, digest, record FROM opened
                WHERE number > ?1 AND (?2 IS NULL OR time >= ?2) ORDER BY number LIMIT ?3
                """)
            defer { select.reset() }
            select.bind(3, Int64(limit))
            switch point {
            case .number(let first):
                select.bind(1, max(first, number))
                select.bindNull(2)
            case .time(let time):
                select.bind(1, number)
                select.bind(2, time.seconds)
            }
            var messages: [OpenedMessage] = []
            while try select.step() {
                let record = try unseal(select.bytes(2), .opened(digest: select.bytes(1)))
                messages.append(OpenedMessage(number: select.integer(0), record: record))
            }
            return messages
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
            "SELECT number, digest, record FROM opened WHERE mark = ?")
        defer { select.reset() }
        select.bind(1, store.mark(envelope: id))
        guard try select.step() else { return .new }
        guard select.bytes(1) == digest else { return .different }
        return .same(
            number: select.integer(0),
            record: try store.unseal(select.bytes(2), .opened(digest: digest)))
    }

    /// Records that an envelope was opened, with the record that is printed for it. Nothing may be recorded for its id
    /// yet. Returns the message's number.
    @discardableResult
    public func recordOpened(
        id: String, digest: [UInt8], record: [UInt8], at time: Timestamp = .now()
    ) throws(StateError) -> Int64 {
        let insert = try connection.statement(
            "INSERT INTO opened (mark, digest, record, time) VALUES (?, ?, ?, ?)")
        insert.bind(1, store.mark(envelope: id))
        insert.bind(2, digest)
        insert.bind(3, store.seal(record, .opened(digest: digest)))
        insert.bind(4, time.seconds)
        try insert.run()
        return connection.lastRow
    }
}
