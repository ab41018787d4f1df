public import Sotto
import SottoDatabase

/// A message from a backup or from an export.
public struct ImportedMessage: Sendable {
    /// The record, as ``HistoryEntry/record``.
    public let record: JSONObject
    /// Whether it was received or sent.
    public let direction: HistoryEntry.Direction
    /// The progress of a sent message; ``HistoryEntry/State/new`` for a received one.
    public let state: HistoryEntry.State
    /// When it was first stored, if this is known.
    public let received: Timestamp?
    /// The end of its lifetime, if it has begun.
    public let expires: Timestamp?
    /// Whether a received message was not read yet.
    public let isUnread: Bool
    /// The number in the state from which it comes, or 0.
    public let number: Int64
    /// The first 16 bytes of the envelope's digest, or empty. A message of another origin than the owner's backup has
    /// none.
    public let digest: [UInt8]

    /// When the sender wrote it, as the sender claims.
    var written: Timestamp? { record["time"]?.string.flatMap { Timestamp($0) } }

    /// Creates a message. The record has a valid id.
    public init(
        record: JSONObject, direction: HistoryEntry.Direction, state: HistoryEntry.State,
        received: Timestamp?, expires: Timestamp?, isUnread: Bool, number: Int64, digest: [UInt8]
    ) {
        self.record = record
        self.direction = direction
        self.state = state
        self.received = received
        self.expires = expires
        self.isUnread = isUnread
        self.number = number
        self.digest = digest
    }
}

/// A deleted or expired message. The hash of its id is the same in each state of an identity.
public struct Tombstone: Sendable, Hashable {
    /// The hash of the id.
    public let mark: Int64
    /// The number in the state from which it comes.
    public let number: Int64
    /// The conversation.
    public let conversation: Conversation
    /// Whether the message was received or sent.
    public let direction: HistoryEntry.Direction
    /// The effect that the message had.
    public let kind: HistoryEntry.Kind
    /// ``HistoryEntry/State/deleted`` or ``HistoryEntry/State/expired``.
    public let state: HistoryEntry.State
    /// When the message was stored.
    public let received: Timestamp?

    /// Creates a tombstone. Returns `nil` if the state is another one.
    public init?(
        mark: Int64, number: Int64, conversation: Conversation,
        direction: HistoryEntry.Direction, kind: HistoryEntry.Kind, state: HistoryEntry.State,
        received: Timestamp?
    ) {
        guard state.rawValue >= HistoryEntry.State.deleted.rawValue else { return nil }
        self.mark = mark
        self.number = number
        self.conversation = conversation
        self.direction = direction
        self.kind = kind
        self.state = state
        self.received = received
    }
}

/// Import of messages. It changes no session, and no message that exists.
///
/// Imported messages get the next numbers. ``placeImported(readers:)`` gives them their places between the others.
extension StateTransaction {
    /// The result of an import.
    public enum Imported: Sendable {
        /// The message is new here.
        case added
        /// The message is here already.
        case known
        /// A message with the same id and other content is here.
        case different
        /// The message was deleted or has expired here.
        case gone
        /// The message's lifetime has ended.
        case expired
    }

    /// Stores a message.
    ///
    /// With `isOwn`, it comes from a backup that the owner signed. Otherwise its author is only claimed: its record must
    /// have the member `imported`, and it changes only messages with that member.
    public func add(
        _ message: ImportedMessage, isOwn: Bool, at now: Timestamp = .now()
    ) throws(StateError) -> Imported {
        let (record, direction) = (message.record, message.direction)
        let id = record["id"]?.string ?? ""
        let conversation = Conversation(of: record, owner: owner.id)
        let mark =
            direction == .sent
            ? store.mark(sent: id)
            : store.mark(
                received: id, in: conversation,
                bodyType: record["body"]?.object?["type"]?.string)
        if let known = try compare(message, mark: mark, isOwn: isOwn) { return known }

        let body = MessageBody(of: record)
        var kind = HistoryEntry.Kind(body)
        let author =
            direction == .sent ? owner.id : record["from"]?.string.flatMap { SessionID($0) }
        if direction == .received, author == owner.id, isOwn, try hasSent(id) { kind = .copy }
        let expires = Self.expiry(of: message, body, kind)
        let isOver = expires.map { $0 <= now.seconds } ?? false
        // A tombstone from elsewhere would refuse an envelope that is still to come.
        guard isOwn || !isOver else { return .expired }
        let new = NewMessage(
            mark: mark, id: id, conversation: conversation,
            packed: PackedRecord.pack(record, conversation, owner: owner.id),
            written: message.written, body: body, direction: direction, kind: kind,
            state: message.state, time: message.received, expires: expires,
            digest: message.digest, author: author, isClaimed: !isOwn)
        try note(
            imported: insert(new, at: now), isUnread: message.isUnread && kind == .content,
            from: message.number)
        return isOver ? .expired : .added
    }

    /// Returns the end of a message's lifetime: the known one or that of the body, the earlier of the two. A message that
    /// was read without a known end was read when it was received.
    private static func expiry(
        of message: ImportedMessage, _ body: MessageBody?, _ kind: HistoryEntry.Kind
    ) -> Int64? {
        let time = message.received ?? Timestamp(seconds: 0)
        var end = body?.expiry(
            kind, message.direction, written: message.written ?? time, storedAt: time)
        if end == nil, kind == .content, !message.isUnread, let lifetime = body?.content.expires {
            end = time.seconds + lifetime.after
        }
        return [message.expires?.seconds, end].compactMap(\.self).min()
    }

    /// Stores a tombstone of the owner's backup.
    public func add(_ tombstone: Tombstone) throws(StateError) -> Imported {
        let isKnown = try connection.exists(
            "SELECT 1 FROM message WHERE mark = ?", tombstone.mark)
        guard !isKnown else { return .known }
        var row = try row(of: tombstone.conversation)
        try connection.run(
            """
            INSERT INTO message (mark, conversation, sent, kind, state, time)
            VALUES (?, ?, ?, ?, ?, ?)
            """, tombstone.mark, row.number, tombstone.direction.rawValue, tombstone.kind.rawValue,
            tombstone.state.rawValue, tombstone.received?.seconds)
        let number = connection.lastRow
        try note(imported: number, isUnread: false, from: tombstone.number)
        if tombstone.kind == .content {
            row.last = number
            row.isChanged = true
            conversations[row.conversation] = row
        }
        return .added
    }

    /// Compares a message with the one that has its id. Returns `nil` if no message has it, or if a claim had it, which a
    /// message of the owner's backup replaces.
    private func compare(
        _ message: ImportedMessage, mark: Int64, isOwn: Bool
    ) throws(StateError) -> Imported? {
        let found = try store.entries("WHERE mark = ?", mark, connection: connection).first
        guard let found else { return nil }
        guard !found.isGone else { return .gone }
        if isOwn, found.isImported, message.record["imported"] != .bool(true) {
            try removeClaim(mark)
            return nil
        }
        let isSame = ["from", "to", "time", "body"].allSatisfy {
            found.record[$0]?.canonical() == message.record[$0]?.canonical()
        }
        return isSame ? .known : .different
    }

    private func note(
        imported number: Int64, isUnread: Bool, from former: Int64
    ) throws(StateError) {
        try connection.run(
            "INSERT INTO imported (message, unread, former) VALUES (?, ?, ?)", number,
            isUnread ? 1 : 0, former)
    }

    /// Restores the settings of a conversation. Settings that were made here stay.
    public func restore(
        _ settings: ConversationSettings, of conversation: Conversation
    ) throws(StateError) {
        let known = try row(of: conversation).settings
        try change(conversation) { present in
            present.name = known.name ?? settings.name
            present.isFavourite = known.isFavourite || settings.isFavourite
            present.isMuted = known.isMuted || settings.isMuted
            if settings.timerTime > known.timerTime {
                present.timer = settings.timer
                present.timerTime = settings.timerTime
            }
        }
    }

    /// Restores how long messages are kept, if this is not set here.
    public func restore(_ retention: IdentityStore.Retention) throws(StateError) {
        guard let seconds = retention.seconds, seconds >= IdentityStore.shortestRetention else {
            return
        }
        let number = try retention.conversation.map { conversation throws(StateError) in
            try row(of: conversation).number
        }
        let isSet = try connection.exists(
            "SELECT 1 FROM retention WHERE conversation = ?", number ?? 0)
        if !isSet { try keep(retention.conversation, seconds: seconds) }
    }
}

/// The places of imported messages.
extension StateTransaction {
    /// Moves the imported messages to their places by time: the numbers stay the same, and are given to the messages
    /// in another order. The other messages keep their order. Then restores the read marks, and readers that do not
    /// exist here; `readers` have the numbers of the state from which they come.
    ///
    /// No read mark becomes lower. An import that was interrupted is completed by the next one.
    public func placeImported(readers: [IdentityStore.Reader] = []) throws(StateError) {
        guard try connection.exists("SELECT 1 FROM imported LIMIT 1") else { return }
        try writeConversations()
        if try needsPlaces() { try move() }
        try placeReadMarks()
        for reader in readers { try restore(reader) }
        try connection.run("DELETE FROM imported")
        // The imported messages may be older than those that a retention has passed over.
        try connection.run("UPDATE retention SET kept = 0")
    }

    /// Whether an imported message was stored before one that was here.
    private func needsPlaces() throws(StateError) -> Bool {
        try connection.exists(
            """
            SELECT 1 FROM message WHERE number NOT IN (SELECT message FROM imported)
            AND coalesce(time, 0) >= (
                SELECT min(coalesce(time, 0)) FROM message JOIN imported ON message = number)
            LIMIT 1
            """)
    }

    private func move() throws(StateError) {
        // A clock that was wrong for a while must not change the order of the messages of one origin. So the latest time
        // until then counts.
        try connection.script(
            """
            CREATE TEMP TABLE place (
                old INTEGER PRIMARY KEY, is_imported INTEGER NOT NULL, new INTEGER NOT NULL
            );
            INSERT INTO place SELECT old, is_imported, number FROM (
                SELECT number AS old, is_imported, row_number() OVER (
                    ORDER BY latest, is_imported DESC, number) AS rank
                FROM (
                    SELECT number, is_imported, max(coalesce(time, 0)) OVER (
                        PARTITION BY is_imported ORDER BY number) AS latest
                    FROM (
                        SELECT number, time,
                            number IN (SELECT message FROM imported) AS is_imported
                        FROM message))
            ) JOIN (
                SELECT number, row_number() OVER (ORDER BY number) AS rank FROM message
            ) USING (rank);
            UPDATE conversation SET read = coalesce((
                SELECT new FROM place WHERE old <= read AND NOT is_imported
                ORDER BY old DESC LIMIT 1), read);
            UPDATE reader SET acknowledged = coalesce((
                SELECT new FROM place WHERE old <= acknowledged AND NOT is_imported
                ORDER BY old DESC LIMIT 1), acknowledged);
            DELETE FROM place WHERE old = new;
            UPDATE conversation SET last = (SELECT new FROM place WHERE old = last)
            WHERE last IN (SELECT old FROM place);
            UPDATE message SET number = -(SELECT new FROM place WHERE old = number)
            WHERE number IN (SELECT old FROM place);
            UPDATE message SET number = -number WHERE number < 0;
            """)
        for table in ["event", "waiting", "imported"] {
            try connection.script(
                """
                UPDATE \(table) SET message = -(SELECT new FROM place WHERE old = message)
                WHERE message IN (SELECT old FROM place);
                UPDATE \(table) SET message = -message WHERE message < 0;
                """)
        }
        try connection.script("DROP TABLE place")
        conversations = [:]
    }

    private func placeReadMarks() throws(StateError) {
        let numbers = try connection.rows(
            """
            SELECT DISTINCT conversation FROM message JOIN imported ON message.number = imported.message
            """
        ) { $0.integer(0) }
        for number in numbers {
            guard var row = try store.conversationRow(number: number, connection) else { continue }
            // The first unread message: unread here, or in the state from which it comes.
            let unread = try connection.first(
                """
                SELECT min(message.number) FROM message
                LEFT JOIN imported ON imported.message = message.number
                WHERE conversation = ?1 AND kind = 0 AND sent = 0 AND sealed IS NOT NULL
                AND message.number > ?2 AND coalesce(unread, 1)
                """, number, row.read
            ) { $0.isNull(0) ? nil : $0.integer(0) }
            let last = try connection.integer(
                """
                SELECT max(number) FROM message WHERE conversation = ? AND kind = 0 AND number < ?
                """, number, unread.flatMap(\.self) ?? .max)
            row.read = max(row.read, last)
            try recount(&row)
        }
    }

    /// Restores a reader that does not exist here.
    private func restore(_ reader: IdentityStore.Reader) throws(StateError) {
        let isKnown = try connection.exists(
            "SELECT 1 FROM reader WHERE mark = ?", store.mark(reader: reader.name))
        guard !isKnown else { return }
        let number = try connection.integer(
            "SELECT max(message) FROM imported WHERE former <= ?", reader.acknowledged)
        try acknowledge(number, by: reader.name)
    }
}
