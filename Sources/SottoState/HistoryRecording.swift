public import Sotto
import SottoDatabase

/// Storing of messages, in the transaction that opens or encrypts them.
extension StateTransaction {
    /// The maximum number of events of one author on one message. Above it, the oldest are no longer found.
    package static let eventsPerAuthor: Int64 = 64

    /// Records that an envelope was opened, with the record that is printed for it. The id must not have a record yet.
    /// `digest` is ``Envelope/digest``. Returns the message's number.
    @discardableResult
    public func recordOpened(
        id: String, digest: [UInt8], record: JSONObject, at time: Timestamp = .now()
    ) throws(StateError) -> Int64 {
        let author = record["from"]?.string.flatMap { SessionID($0) }
        var kind = BodyRole(record["body"]?.object).kind
        if author == owner.id, let own = record["id"]?.string, try hasSent(own) { kind = .copy }
        return try insert(
            store.mark(envelope: id), record, .received, kind, digest: digest, author: author, time)
    }

    /// Records that a message was encrypted. `record` is the message's record, with the owner as `from` and its
    /// recipient as `to`. Returns the message's number.
    @discardableResult
    public func recordSent(
        id: String, record: JSONObject, at time: Timestamp = .now()
    ) throws(StateError) -> Int64 {
        try insert(
            store.mark(sent: id), record, .sent, BodyRole(record["body"]?.object).kind, digest: [],
            author: owner.id, time)
    }

    private func hasSent(_ id: String) throws(StateError) -> Bool {
        try connection.exists("SELECT 1 FROM message WHERE mark = ?", store.mark(sent: id))
    }

    private func insert(
        _ mark: Int64, _ record: JSONObject, _ direction: HistoryEntry.Direction,
        _ kind: HistoryEntry.Kind, digest: [UInt8], author: SessionID?, _ time: Timestamp
    ) throws(StateError) -> Int64 {
        var row = try row(of: Conversation(of: record, owner: owner.id))
        try connection.run(
            """
            INSERT INTO message (mark, conversation, sent, kind, state, time, sealed)
            VALUES (?, ?, ?, ?, 0, ?, ?)
            """, mark, row.number, direction.rawValue, kind.rawValue, time.seconds,
            store.sealed(record, mark: mark, in: row, digest: digest))
        let number = connection.lastRow
        if kind == .content {
            row.last = number
            row.time = time.seconds
            if direction == .received { row.unread += 1 }
            row.isChanged = true
            conversations[row.conversation] = row
        } else if kind == .event {
            try link(number, to: BodyRole(record["body"]?.object).targets, in: row, author: author)
        }
        return number
    }

    /// Makes an event findable by the messages that it changes.
    private func link(
        _ number: Int64, to targets: [String], in row: ConversationRow, author: SessionID?
    ) throws(StateError) {
        let author = author.map { store.mark(author: $0) } ?? 0
        for id in targets {
            let target = store.mark(target: id, conversation: row.number)
            try connection.run(
                "INSERT OR IGNORE INTO event (target, author, message) VALUES (?, ?, ?)", target,
                author, number)
            try connection.run(
                """
                DELETE FROM event WHERE target = ?1 AND author = ?2 AND message <= (
                    SELECT message FROM event WHERE target = ?1 AND author = ?2
                    ORDER BY message DESC LIMIT 1 OFFSET ?3)
                """, target, author, Self.eventsPerAuthor)
        }
    }
}

extension IdentityStore {
    /// Returns the column `sealed` of a message in a conversation.
    func sealed(
        _ record: JSONObject, mark: Int64, in row: ConversationRow, digest: [UInt8]
    ) -> [UInt8] {
        let digest = Array(
            (digest + [UInt8](repeating: 0, count: 16))[..<StoredMessage.digestLength])
        return seal(
            digest + PackedRecord.pack(record, row.conversation, owner: owner.id),
            .message(mark: mark, conversation: row.number))
    }
}
