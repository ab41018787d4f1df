public import Sotto
import SottoDatabase

/// Deletion of messages. A deleted message leaves its number, the hash of its id, and its state.
extension StateTransaction {
    /// Erases the content of a message, and of the edits of it. Returns whether it was there.
    @discardableResult
    public func delete(
        _ entry: HistoryEntry, _ state: HistoryEntry.State = .deleted, at time: Timestamp = .now()
    ) throws(StateError) -> Bool {
        guard try erase(entry.number, state, at: time) else { return false }
        var row = try row(of: entry.conversation)
        if let id = entry.id {
            for event in try store.events(on: id, in: row, connection) {
                guard case .edit = event.body?.kind else { continue }
                try erase(event.number, state, at: time)
            }
        }
        if entry.direction == .received, entry.kind == .content, entry.number > row.read {
            row.unread = try unread(after: row.read, in: row)
            row.isChanged = true
            conversations[row.conversation] = row
        }
        return true
    }

    /// Erases all messages of a conversation. Returns how many.
    @discardableResult
    public func deleteAll(
        of conversation: Conversation, at time: Timestamp = .now()
    ) throws(StateError) -> Int {
        var row = try row(of: conversation)
        try connection.run(
            """
            UPDATE message SET sealed = NULL, state = ?, changed = ?, expires = NULL
            WHERE conversation = ? AND sealed IS NOT NULL
            """, HistoryEntry.State.deleted.rawValue, time.seconds, row.number)
        let count = connection.changes
        erased += count
        row.unread = 0
        row.isChanged = true
        conversations[conversation] = row
        return count
    }

    /// Returns the number of received messages after a number that are not deleted.
    func unread(after number: Int64, in row: ConversationRow) throws(StateError) -> Int64 {
        try connection.integer(
            """
            SELECT count(*) FROM message WHERE conversation = ? AND kind = 0 AND sent = 0
            AND sealed IS NOT NULL AND number > ?
            """, row.number, number)
    }

    @discardableResult
    func erase(
        _ number: Int64, _ state: HistoryEntry.State, at time: Timestamp
    ) throws(StateError) -> Bool {
        try connection.run(
            """
            UPDATE message SET sealed = NULL, state = ?, changed = ?, expires = NULL
            WHERE number = ? AND sealed IS NOT NULL
            """, state.rawValue, time.seconds, number)
        erased += connection.changes
        return connection.changes > 0
    }
}

extension IdentityStore {
    /// Copies the log into the file and empties it, so that no deleted content is left there. Does nothing while
    /// another process reads.
    public func checkpoint() throws(StateError) {
        try database.use { connection throws(StateError) in
            try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
        }
    }
}
