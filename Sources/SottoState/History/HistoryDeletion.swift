import Glibc
public import Sotto
import SottoDatabase

/// Deletion of messages. A deleted message leaves its number, the hash of its id, its state, and in a group its author.
extension StateTransaction {
    /// Erases the content of a message, and of the edits of it. Returns whether it was there. The fetched file of the
    /// message is removed after the transaction.
    @discardableResult
    public func delete(
        _ entry: HistoryEntry, _ state: HistoryEntry.State = .deleted, at time: Timestamp = .now()
    ) throws(StateError) -> Bool {
        let author = entry.record.memberAuthor(entry.direction)
        guard try erase(entry.number, state, author: author, at: time) else { return false }
        eraseBlob(of: entry)
        if entry.direction == .received, let id = entry.id { try forgetRequest(id: id) }
        var row = try row(of: entry.conversation)
        if let id = entry.id {
            for event in try store.events(on: id, in: row, connection) {
                guard case .edit = event.body?.kind else { continue }
                try erase(event.number, state, at: time)
                eraseBlob(of: event)
            }
        }
        if entry.direction == .received, entry.kind == .content, entry.place > row.read {
            row.unread = try unread(in: row)
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
        if try hasOtherDevices() {
            try tellDevices(
                deleted: store.entries(
                    "WHERE conversation = ? AND sealed IS NOT NULL", row.number,
                    connection: connection))
        }
        try eraseBlobs(of: row)
        try connection.run(
            """
            UPDATE message SET sealed = NULL, state = ?, changed = ?, expires = NULL, \(Self.erasedMark)
            WHERE conversation = ? AND sealed IS NOT NULL
            """, HistoryEntry.State.deleted.rawValue, time.seconds, row.number)
        let count = connection.changes
        erased += count
        row.unread = 0
        row.isChanged = true
        conversations[conversation] = row
        return count
    }

    /// Notes the fetched blob of a message with a file.
    private func eraseBlob(of entry: HistoryEntry) {
        if let id = entry.body?.blobID {
            erasedBlobs.insert(store.blobs.incoming(id, of: entry.record))
        }
    }

    /// Notes the blobs of a conversation. Its messages are decrypted only if a blob was fetched.
    private func eraseBlobs(of row: ConversationRow) throws(StateError) {
        guard store.blobs.hasIncoming else { return }
        var last: Int64 = 0
        while true {
            let entries = try store.entries(
                """
                WHERE conversation = ? AND sealed IS NOT NULL AND number > ?
                ORDER BY number LIMIT 1000
                """, row.number, last, connection: connection, isErasing: true)
            guard let end = entries.last?.number else { return }
            for entry in entries { eraseBlob(of: entry) }
            last = end
        }
    }

    /// Returns the number of received messages of a conversation after its read mark that are not deleted.
    func unread(in row: ConversationRow) throws(StateError) -> Int64 {
        try connection.integer(
            """
            SELECT count(*) FROM message WHERE conversation = ? AND kind = 0 AND sent = 0
            AND state = 0 AND sealed IS NOT NULL AND (place, number) > (?, ?)
            """, row.number, row.read.rank, row.read.number)
    }

    /// Gives the tombstone of a claim the mark ``erasedClaim(_:)``.
    private static let erasedMark =
        "mark = CASE state WHEN \(HistoryEntry.State.claimed.rawValue) THEN ~mark ELSE mark END"

    /// Returns the mark of the tombstone that an imported message with a claimed author leaves. It keeps out the same claim, and
    /// not an authentic message with the id.
    static func erasedClaim(_ mark: Int64) -> Int64 { ~mark }

    /// Erases the content of a message. `author` is the member who wrote it, if it is another person's message of a group: nothing
    /// else tells that then.
    @discardableResult
    func erase(
        _ number: Int64, _ state: HistoryEntry.State, author: KeyID? = nil, at time: Timestamp
    ) throws(StateError) -> Bool {
        let sealed = author.map { store.seal($0.publicKey, .author(message: number)) }
        try connection.run(
            """
            UPDATE message SET sealed = NULL, author = ?, state = ?, changed = ?, expires = NULL,
            \(Self.erasedMark) WHERE number = ? AND sealed IS NOT NULL
            """, sealed, state.rawValue, time.seconds, number)
        erased += connection.changes
        return connection.changes > 0
    }
}

extension JSONObject {
    /// Returns the member who wrote the message to a group with this record. Returns `nil` for another message, for a sent one, and
    /// for an author who is only claimed.
    func memberAuthor(_ direction: HistoryEntry.Direction) -> KeyID? {
        guard direction == .received, self["group"] != nil, self["imported"]?.bool != true
        else { return nil }
        return self["from"]?.string.flatMap { KeyID($0) }
    }
}

extension MessageBody {
    /// The id of the blob of a file, also in an edit.
    fileprivate var blobID: [UInt8]? {
        switch kind {
        case .file(let file): file.blob?.place?.id
        case .edit(_, let content): content.blobID
        default: nil
        }
    }
}

extension IdentityStore {
    /// The folder of fetched files, which may not exist.
    var blobs: BlobFolder { BlobFolder(besideDatabase: database.path) }

    /// Removes the fetched files of erased messages. If the program ends before, ``BlobFolder/removeOld(except:)``
    /// removes them later.
    func removeFetched(_ paths: Set<String>) { for path in paths { unlink(path) } }

    /// Copies the log into the file and empties it, so that no deleted content is left there. Does nothing while
    /// another process reads.
    public func checkpoint() throws(StateError) {
        try use { connection throws(StateError) in
            try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
        }
    }
}
