import Sotto
import SottoDatabase

/// The sixth version of the schema: the opened messages of version 0.1.0 become the history.
extension IdentityStore {
    /// The number of scripts after which ``moveOpened(_:)`` runs.
    static let historyVersion = 6

    static let historySchema = """
        CREATE TABLE conversation (
            number INTEGER PRIMARY KEY, mark BLOB NOT NULL UNIQUE,
            last INTEGER NOT NULL DEFAULT 0, time INTEGER, unread INTEGER NOT NULL DEFAULT 0,
            read INTEGER NOT NULL DEFAULT 0, sealed BLOB NOT NULL
        );
        CREATE TABLE message (
            number INTEGER PRIMARY KEY AUTOINCREMENT, mark INTEGER NOT NULL UNIQUE,
            conversation INTEGER NOT NULL, sent INTEGER NOT NULL, kind INTEGER NOT NULL,
            state INTEGER NOT NULL, time INTEGER, changed INTEGER, sealed BLOB
        );
        CREATE INDEX message_conversation ON message(conversation, kind);
        CREATE INDEX message_time ON message(time);
        CREATE INDEX message_changed ON message(changed) WHERE changed IS NOT NULL;
        CREATE TABLE event (
            target INTEGER NOT NULL, author INTEGER NOT NULL, message INTEGER NOT NULL,
            PRIMARY KEY (target, author, message)
        ) WITHOUT ROWID;
        """

    /// Moves the table `opened` into the history, with the same numbers. All messages count as read. A record that
    /// cannot be decrypted leaves only its number and the hash of its id, so that its envelope is still a repeat.
    func moveOpened(_ connection: StateConnection) throws(StateError) {
        let transaction = StateTransaction(store: self, connection: connection)
        var last: Int64 = 0
        while true {
            let rows = try connection.rows(
                """
                SELECT number, mark, digest, record, time FROM opened
                WHERE number > ? ORDER BY number LIMIT 1000
                """, last
            ) { row throws(StateError) in
                OpenedRow(
                    number: row.integer(0), mark: row.integer(1), digest: row.bytes(2),
                    sealed: row.bytes(3), time: row.isNull(4) ? nil : row.integer(4))
            }
            guard let end = rows.last?.number else { break }
            for row in rows { try transaction.move(row) }
            last = end
        }
        try transaction.readAll()
        try transaction.writeConversations()
        try connection.script("DROP TABLE opened")
    }
}

/// A row of the table `opened` of version 0.1.0.
private struct OpenedRow {
    let number: Int64
    let mark: Int64
    let digest: [UInt8]
    let sealed: [UInt8]
    let time: Int64?
}

extension StateTransaction {
    fileprivate func move(_ opened: OpenedRow) throws(StateError) {
        let record = (try? store.unseal(opened.sealed, .opened(digest: opened.digest)))
            .flatMap { try? JSON.object(parsing: $0) }
        let conversation = record.map { Conversation(of: $0, owner: owner.id) } ?? .unknown
        var row = try row(of: conversation)
        let kind = HistoryEntry.Kind(record.flatMap { MessageBody(of: $0) })
        let state: HistoryEntry.State = record == nil ? .damaged : .new
        try connection.run(
            """
            INSERT INTO message (number, mark, conversation, sent, kind, state, time, sealed)
            VALUES (?, ?, ?, 0, ?, ?, ?, ?)
            """, opened.number, opened.mark, row.number, kind.rawValue, state.rawValue, opened.time,
            record.map {
                store.sealed(
                    PackedRecord.pack($0, row.conversation, owner: store.owner.id),
                    mark: opened.mark, in: row.number, digest: opened.digest)
            })
        guard kind == .content else { return }
        row.last = opened.number
        row.time = opened.time ?? row.time
        row.isChanged = true
        conversations[conversation] = row
    }

    fileprivate func readAll() throws(StateError) {
        for var row in conversations.values {
            row.read = row.last
            conversations[row.conversation] = row
        }
    }
}
