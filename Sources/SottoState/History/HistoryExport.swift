import Sotto
import SottoDatabase

/// The whole history in order, for exports and backups.
extension IdentityStore {
    /// A row for a backup.
    public enum BackupRow: Sendable {
        /// A message or an event. The digest has 16 bytes, all 0 for a sent message.
        case message(HistoryEntry, digest: [UInt8])
        /// A message without content.
        case tombstone(Tombstone)
    }

    /// Returns the messages of a conversation after a place, in the order of their places, at most `limit`.
    public func contents(
        of conversation: Conversation, after place: HistoryPlace, limit: Int
    ) throws(StateError) -> [HistoryEntry] {
        try use { connection throws(StateError) in
            guard let row = try conversationRow(conversation, connection) else { return [] }
            return try entries(
                """
                WHERE conversation = ? AND kind = 0 AND (place, number) > (?, ?)
                ORDER BY place, number LIMIT ?
                """, row.number, place.rank, place.number, limit, connection: connection)
        }
    }

    /// Returns the rows after a number with their numbers, in the order of arrival, at most `limit`.
    public func backupRows(
        after number: Int64, limit: Int
    ) throws(StateError) -> [(number: Int64, row: BackupRow)] {
        try use { connection throws(StateError) in
            let rows = try connection.rows(
                """
                SELECT \(StoredMessage.columns) FROM message
                WHERE number > ? ORDER BY number LIMIT ?
                """, number, limit
            ) { StoredMessage($0) }
            let now = Timestamp.now().seconds
            return try inConversations(rows, connection) {
                stored, conversation throws(StateError) in
                let (entry, digest) = try entryAndDigest(stored, conversation, now: now)
                if let digest {
                    return (stored.number, .message(entry, digest: Array(digest)))
                }
                let tombstone = Tombstone(
                    mark: stored.mark, number: stored.number, conversation: entry.conversation,
                    direction: entry.direction,
                    kind: entry.kind, state: entry.state, received: entry.received,
                    place: entry.otherPlace, author: entry.formerAuthor)
                guard let tombstone else { throw .unsealable(path: database.path) }
                return (stored.number, .tombstone(tombstone))
            }
        }
    }
}
