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

    /// Inserts a message that is stored now. Without a kind it is that of the body.
    private func insert(
        _ mark: Int64, _ record: JSONObject, _ direction: HistoryEntry.Direction,
        _ known: HistoryEntry.Kind?, digest: [UInt8], author: SessionID?, _ time: Timestamp
    ) throws(StateError) -> Int64 {
        if replaced.remove(mark) != nil { try removeClaim(mark) }
        let body = MessageBody(of: record)
        let kind = known ?? HistoryEntry.Kind(body)
        let message = NewMessage(
            mark: mark, record: record, body: body, direction: direction, kind: kind,
            time: time, expires: body?.expiry(kind, direction, record, storedAt: time),
            digest: digest, author: author)
        return try insert(message, at: time)
    }

    /// Inserts a message. Its lifetime may have ended at `now`.
    func insert(_ message: NewMessage, at now: Timestamp) throws(StateError) -> Int64 {
        let (record, direction, author) = (message.record, message.direction, message.author)
        var row = try row(of: Conversation(of: record, owner: owner.id))
        try connection.run(
            """
            INSERT INTO message (mark, conversation, sent, kind, state, time, sealed, expires)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """, message.mark, row.number, direction.rawValue, message.kind.rawValue,
            message.state.rawValue, message.time?.seconds,
            store.sealed(record, mark: message.mark, in: row, digest: message.digest),
            message.expires)
        let number = connection.lastRow
        let time = message.time ?? Timestamp(seconds: 0)
        let isOver = message.expires.map { $0 <= now.seconds } ?? false
        switch message.kind {
        case .content:
            row.last = number
            row.time = message.time?.seconds ?? row.time
            var isDeleted = false
            if let id = record["id"]?.string {
                try endWaiting(for: id, in: row)
                isDeleted = try self.isDeleted(
                    id, in: row, by: author, at: time, isImported: message.isClaimed)
            }
            if isDeleted {
                try erase(number, .deleted, at: time)
            } else if isOver {
                try erase(number, .expired, at: time)
            } else if direction == .received {
                row.unread += 1
            }
            row.isChanged = true
            conversations[row.conversation] = row
            if case .timer(let seconds)? = message.body?.kind, author != nil,
                row.conversation.peer != nil, !message.isClaimed
            {
                try setTimer(seconds, written: record, in: row.conversation, at: time)
            }
        case .event, .pin:
            if let body = message.body {
                try apply(
                    number, body, in: row, author: author, direction, at: time,
                    isImported: message.isClaimed)
            }
        case .copy: if isOver { try erase(number, .expired, at: time) }
        }
        return number
    }

    /// Removes an imported message with a claimed author, so that an authentic one with its id replaces it.
    func removeClaim(_ mark: Int64) throws(StateError) {
        guard
            let claim = try store.entries("WHERE mark = ?", mark, connection: connection).first
        else { return }
        for table in ["event", "waiting", "imported"] {
            try connection.run("DELETE FROM \(table) WHERE message = ?", claim.number)
        }
        try connection.run("DELETE FROM message WHERE number = ?", claim.number)
        var row = try row(of: claim.conversation)
        try recount(&row)
    }

    /// Counts the unread messages of a conversation again, and finds its last message.
    func recount(_ row: inout ConversationRow) throws(StateError) {
        row.unread = try unread(after: row.read, in: row)
        row.last = try connection.integer(
            "SELECT max(number) FROM message WHERE conversation = ? AND kind = 0", row.number)
        row.time = try connection.first("SELECT time FROM message WHERE number = ?", row.last) {
            $0.isNull(0) ? nil : $0.integer(0)
        }.flatMap(\.self)
        row.isChanged = true
        conversations[row.conversation] = row
    }
}

/// A message to insert.
struct NewMessage {
    let mark: Int64
    let record: JSONObject
    let body: MessageBody?
    let direction: HistoryEntry.Direction
    let kind: HistoryEntry.Kind
    var state = HistoryEntry.State.new
    /// When it was first stored, if this is known.
    let time: Timestamp?
    /// The end of its lifetime in seconds since 1970, or `nil`.
    let expires: Int64?
    let digest: [UInt8]
    let author: SessionID?
    /// Whether the author is only claimed.
    var isClaimed = false
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
