public import Sotto
import SottoDatabase

/// Storing of messages, in the transaction that opens or encrypts them.
extension StateTransaction {
    /// Records that an envelope was opened, with the record that is printed for it. The id must not have a record yet.
    /// `digest` is ``Envelope/digest``. Returns the message's number.
    @discardableResult
    public func recordOpened(
        id: String, digest: [UInt8], record: JSONObject, at time: Timestamp = .now()
    ) throws(StateError) -> Int64 {
        let author = record["from"]?.string.flatMap { SessionID($0) }
        var kind: HistoryEntry.Kind?
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
            store.mark(sent: id), record, .sent, nil, digest: [], author: owner.id, time)
    }

    /// Returns whether a message with this id was sent from here.
    func hasSent(_ id: String) throws(StateError) -> Bool {
        try connection.exists("SELECT 1 FROM message WHERE mark = ?", store.mark(sent: id))
    }

    /// Inserts a message. Without a kind it is that of the body.
    private func insert(
        _ mark: Int64, _ record: JSONObject, _ direction: HistoryEntry.Direction,
        _ known: HistoryEntry.Kind?, digest: [UInt8], author: SessionID?, _ time: Timestamp
    ) throws(StateError) -> Int64 {
        let body = MessageBody(of: record)
        let kind = known ?? HistoryEntry.Kind(body)
        var row = try row(of: Conversation(of: record, owner: owner.id))
        // The copy of a sent message ends with it.
        let expires: Int64? =
            switch kind {
            case .content: body?.expiry(direction, record, storedAt: time)
            case .copy: body?.expiry(.sent, record, storedAt: time)
            case .event, .pin: nil
            }
        if replaced.remove(mark) != nil {
            try connection.run("DELETE FROM message WHERE mark = ?", mark)
        }
        try connection.run(
            """
            INSERT INTO message (mark, conversation, sent, kind, state, time, sealed, expires)
            VALUES (?, ?, ?, ?, 0, ?, ?, ?)
            """, mark, row.number, direction.rawValue, kind.rawValue, time.seconds,
            store.sealed(record, mark: mark, in: row, digest: digest), expires)
        let number = connection.lastRow
        switch kind {
        case .content:
            row.last = number
            row.time = time.seconds
            if let id = record["id"]?.string { try endWaiting(for: id, in: row) }
            let isGone =
                try record["id"]?.string.map { id throws(StateError) in
                    try isDeleted(id, in: row, by: author, at: time)
                } ?? false
            if isGone {
                try erase(number, .deleted, at: time)
            } else if let expires, expires <= time.seconds {
                try erase(number, .expired, at: time)
            } else if direction == .received {
                row.unread += 1
            }
            row.isChanged = true
            conversations[row.conversation] = row
            if case .timer(let seconds)? = body?.kind, author != nil, row.conversation.peer != nil {
                try setTimer(seconds, written: record, in: row.conversation, at: time)
            }
        case .event, .pin:
            if let body { try apply(number, body, in: row, author: author, direction, at: time) }
        case .copy: break
        }
        return number
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
