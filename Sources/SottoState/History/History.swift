import Sotto
import SottoDatabase

/// The history: messages of both directions.
extension IdentityStore {
    /// The result of looking up a message by its id.
    public enum Lookup: Sendable, Equatable {
        /// One message matches.
        case found(HistoryEntry)
        /// No message matches.
        case none
        /// Several messages match.
        case several([HistoryEntry])
    }

    /// The minimum length of an abbreviated message id, in characters.
    public static let messagePrefix = 4
    /// The number of newest messages among which an abbreviated id is looked up. An older message is found by its whole
    /// id.
    public static let abbreviated = 10_000

    /// Returns the newest messages before a place, at most `limit`, in the order of their places.
    ///
    /// Without a conversation, messages of all conversations. With `events`, also the messages that change others.
    public func history(
        conversation: Conversation?, before place: HistoryPlace = .end, limit: Int,
        events: Bool = false
    ) throws(StateError) -> [HistoryEntry] {
        try use { connection throws(StateError) in
            try history(
                conversation: conversation, before: place, limit: limit, events: events,
                connection)
        }
    }

    /// Returns the first messages of a conversation after a place, at most `limit`, in the order of their places.
    public func history(
        conversation: Conversation, after place: HistoryPlace, limit: Int
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

    /// Returns the first messages from a place on, at most `limit`, in the order of their places.
    ///
    /// Without a conversation, messages of all conversations. With `events`, also the messages that change others.
    public func history(
        from place: HistoryPlace, in conversation: Conversation?, limit: Int, events: Bool = false
    ) throws(StateError) -> [HistoryEntry] {
        let last = events ? HistoryEntry.Kind.pin : .content
        return try use { connection throws(StateError) in
            guard let conversation else {
                return try entries(
                    """
                    WHERE (place, number) >= (?, ?) AND kind <= ? ORDER BY place, number LIMIT ?
                    """, place.rank, place.number, last.rawValue, limit, connection: connection)
            }
            guard let row = try conversationRow(conversation, connection) else { return [] }
            var found: [HistoryEntry] = []
            // The index is ordered by place within a kind.
            for kind in HistoryEntry.Kind.content.rawValue...last.rawValue {
                found += try entries(
                    """
                    WHERE conversation = ? AND kind = ? AND (place, number) >= (?, ?)
                    ORDER BY place, number LIMIT ?
                    """, row.number, kind, place.rank, place.number, limit,
                    connection: connection)
            }
            return Array(found.sorted { $0.place < $1.place }.prefix(limit))
        }
    }

    func history(
        conversation: Conversation?, before place: HistoryPlace, limit: Int, events: Bool,
        _ connection: StateConnection
    ) throws(StateError) -> [HistoryEntry] {
        guard let conversation else {
            let isInOrder = try hasPlacesInOrder(connection)
            return try entries(
                isInOrder
                    ? "WHERE number < ?2 AND kind <= ?3 ORDER BY number DESC LIMIT ?4"
                    : """
                    WHERE (place, number) < (?1, ?2) AND kind <= ?3
                    ORDER BY place DESC, number DESC LIMIT ?4
                    """, place.rank, place.number,
                (events ? HistoryEntry.Kind.pin : .content).rawValue, limit,
                connection: connection
            ).reversed()
        }
        guard let row = try conversationRow(conversation, connection) else { return [] }
        func page(_ kind: HistoryEntry.Kind) throws(StateError) -> [HistoryEntry] {
            try entries(
                """
                WHERE conversation = ? AND kind = ? AND (place, number) < (?, ?)
                ORDER BY place DESC, number DESC LIMIT ?
                """, row.number, kind.rawValue, place.rank, place.number, limit,
                connection: connection)
        }
        guard events else { return try page(.content).reversed() }
        // The index is ordered by place within a kind.
        let pages = try page(.content) + page(.event) + page(.pin)
        return Array(pages.sorted { $0.place < $1.place }.suffix(limit))
    }

    /// Returns the last messages of a conversation that have content, at most `count`, the oldest first. Deleted ones
    /// are left out.
    public func lastEntries(
        conversation: Conversation, _ count: Int
    ) throws(StateError) -> [HistoryEntry] {
        try use { connection throws(StateError) in
            guard let row = try conversationRow(conversation, connection) else { return [] }
            return try entries(
                """
                WHERE conversation = ? AND kind = 0 AND sealed IS NOT NULL
                ORDER BY place DESC, number DESC LIMIT ?
                """, row.number, count, connection: connection
            ).reversed()
        }
    }

    /// Returns the message with a number, or `nil`.
    public func historyEntry(number: Int64) throws(StateError) -> HistoryEntry? {
        try use { connection throws(StateError) in
            try entries("WHERE number = ?", number, connection: connection).first
        }
    }

    /// Returns the message with an id, in `conversation` if it is given.
    ///
    /// `id` is a whole id, or the beginning of one with at least ``messagePrefix`` characters, which is looked up among
    /// the newest ``abbreviated`` messages.
    public func historyEntry(
        id: String, in conversation: Conversation? = nil
    ) throws(StateError) -> Lookup {
        try use { connection throws(StateError) in
            func isWanted(_ entry: HistoryEntry) -> Bool {
                conversation == nil || entry.conversation == conversation
            }
            var named = try entries(
                "WHERE mark IN (?, ?, ?) AND kind < 3", mark(envelope: id),
                mark(groupMessage: id), mark(sent: id), connection: connection
            ).filter(isWanted)
            // A sender can choose the id of a message of a group for another message.
            let ofGroup = named.filter(\.isOfGroup)
            if !ofGroup.isEmpty { named = ofGroup }
            if let entry = named.first { return named.count == 1 ? .found(entry) : .several(named) }
            guard id.utf8.count >= Self.messagePrefix else { return .none }
            let beginning = id.lowercased()
            let found = try history(
                conversation: conversation, before: .end, limit: Self.abbreviated, events: true,
                connection
            ).filter { $0.id?.hasPrefix(beginning) == true }
            guard let entry = found.first else { return .none }
            return found.count == 1 ? .found(entry) : .several(found)
        }
    }

    /// Returns the message that a user names, in `conversation` if it is given: by its number, or by its id as in
    /// ``historyEntry(id:in:)``.
    public func historyEntry(
        named text: String, in conversation: Conversation? = nil
    ) throws(StateError) -> Lookup {
        let isNumber = text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        if isNumber, let number = Int64(text), let entry = try historyEntry(number: number),
            conversation == nil || entry.conversation == conversation
        {
            return .found(entry)
        }
        return try historyEntry(id: text, in: conversation)
    }

    /// Returns the messages that change the message `id` of a conversation, the oldest first, at most
    /// ``StateTransaction/eventsPerAuthor`` of each author.
    public func events(
        on id: String, in conversation: Conversation
    ) throws(StateError) -> [HistoryEntry] {
        try use { connection throws(StateError) in
            guard let row = try conversationRow(conversation, connection) else { return [] }
            return try events(on: id, in: row, connection)
        }
    }

    func events(
        on id: String, in row: ConversationRow, _ connection: StateConnection
    ) throws(StateError) -> [HistoryEntry] {
        var conversations: [Int64: Conversation] = [:]
        return try events(on: id, in: row, connection, &conversations)
    }

    /// Returns the events on a message, as ``events(on:in:)`` does. `conversations` are those that were read before, by number.
    func events(
        on id: String, in row: ConversationRow, _ connection: StateConnection,
        _ conversations: inout [Int64: Conversation]
    ) throws(StateError) -> [HistoryEntry] {
        let rows = try connection.rows(
            """
            SELECT \(StoredMessage.columns) FROM message
            WHERE number IN (SELECT message FROM event WHERE target = ?)
            """, mark(target: id, conversation: row.number)
        ) { StoredMessage($0) }
        let now = Timestamp.now().seconds
        var events: [HistoryEntry] = []
        // A receipt for a message of a group is in the conversation with the reader.
        conversations[row.number] = row.conversation
        for stored in rows {
            if conversations[stored.conversation] == nil {
                conversations[stored.conversation] =
                    try conversationRow(number: stored.conversation, connection)?.conversation
            }
            events.append(try entry(stored, conversations[stored.conversation], now: now))
        }
        // The mail can arrive in another order than the one in which it was written.
        return events.sorted {
            let (a, b) = ($0.time?.seconds ?? 0, $1.time?.seconds ?? 0)
            return a != b ? a < b : $0.number < $1.number
        }
    }

    /// Returns the rows of the table `message` that a condition selects.
    ///
    /// A message whose lifetime has ended, and that is not erased yet, is returned without its record unless
    /// `isErasing` is set.
    func entries<each Value: DatabaseValue>(
        _ condition: String, _ values: repeat each Value, connection: StateConnection,
        isErasing: Bool = false
    ) throws(StateError) -> [HistoryEntry] {
        let rows = try connection.rows(
            "SELECT \(StoredMessage.columns) FROM message \(condition)", repeat each values
        ) { StoredMessage($0) }
        let now = isErasing ? .min : Timestamp.now().seconds
        return try inConversations(rows, connection) { row, conversation throws(StateError) in
            try entry(row, conversation, now: now)
        }
    }

    /// Returns `read` of each row with its conversation, which is `nil` if it cannot be read.
    func inConversations<Value>(
        _ rows: [StoredMessage], _ connection: StateConnection,
        _ read: (StoredMessage, Conversation?) throws(StateError) -> Value
    ) throws(StateError) -> [Value] {
        var known: [Int64: Conversation] = [:]
        return try rows.map { row throws(StateError) in
            if known[row.conversation] == nil {
                known[row.conversation] =
                    try conversationRow(number: row.conversation, connection)?.conversation
            }
            return try read(row, known[row.conversation])
        }
    }

    /// Decrypts a row. `now` is the time at which the lifetime may have ended, in seconds since 1970. A row that cannot be
    /// read has no record and the state ``HistoryEntry/State/damaged``; without a conversation it is in that of unknown senders.
    func entry(
        _ row: StoredMessage, _ conversation: Conversation?, now: Int64
    ) throws(StateError) -> HistoryEntry {
        try entryAndDigest(row, conversation, now: now).entry
    }

    /// Decrypts a row like ``entry(_:_:now:)``. The digest is that of the envelope, or `nil` if the record is gone.
    func entryAndDigest(
        _ row: StoredMessage, _ conversation: Conversation?, now: Int64
    ) throws(StateError) -> (entry: HistoryEntry, digest: ArraySlice<UInt8>?) {
        let isExpired = row.sealed != nil && row.expires.map { $0 <= now } ?? false
        let sealed = isExpired ? nil : row.sealed
        let opened = try sealed.flatMap { sealed throws(StateError) in
            try readable(.message, row.number) { () throws(StateError) in
                guard let conversation else { throw .unsealable(path: database.path) }
                return try record(sealed, row, conversation)
            }
        }
        var state = HistoryEntry.State(rawValue: row.state) ?? .damaged
        if isExpired { state = .expired }
        if sealed != nil, opened == nil { state = .damaged }
        var entry = HistoryEntry(
            number: row.number, conversation: conversation ?? .unknown,
            direction: HistoryEntry.Direction(rawValue: row.sent) ?? .received,
            kind: HistoryEntry.Kind(rawValue: row.kind) ?? .content,
            state: state, placed: row.place, received: row.time.map { Timestamp(seconds: $0) },
            expires: opened == nil ? nil : row.expires.map { Timestamp(seconds: $0) },
            record: opened?.record ?? JSONObject([]))
        if isExpired, let conversation, let sealed = row.sealed {
            // The row is erased soon. Until then its record has the author.
            let former = try? record(sealed, row, conversation).record
            entry.formerAuthor = former?.memberAuthor(entry.direction)
        } else if let author = row.author {
            entry.formerAuthor = formerAuthor(author, of: row.number)
        }
        return (entry, opened?.digest)
    }

    /// Decrypts the column `author`. Returns `nil` if it cannot be read.
    private func formerAuthor(_ sealed: [UInt8], of number: Int64) -> KeyID? {
        guard let key = try? unseal(sealed, .author(message: number)), key.count == 32 else {
            return nil
        }
        return KeyID(publicKey: key)
    }

    /// Decrypts the column `sealed` of a row.
    func record(
        _ sealed: [UInt8], _ row: StoredMessage, _ conversation: Conversation
    ) throws(StateError) -> (digest: ArraySlice<UInt8>, record: JSONObject) {
        let bytes = try unseal(sealed, row.context)
        guard bytes.count > StoredMessage.digestLength,
            let record = PackedRecord.unpack(
                bytes[StoredMessage.digestLength...], conversation, owner: owner.id)
        else { throw .unsealable(path: database.path) }
        return (bytes[..<StoredMessage.digestLength], record)
    }
}

/// A row of the table `message`.
struct StoredMessage {
    /// The length in bytes of the envelope's digest in the encrypted content: SHA-256, truncated.
    static let digestLength = 16
    static let columns =
        "number, mark, conversation, sent, kind, state, time, sealed, expires, place, author"

    let number: Int64
    let mark: Int64
    let conversation: Int64
    let sent: Int64
    let kind: Int64
    let state: Int64
    let time: Int64?
    let sealed: [UInt8]?
    let expires: Int64?
    let place: Int64
    /// The encrypted id of the author, if the record is gone.
    let author: [UInt8]?

    /// Reads a row of ``columns``.
    init(_ row: PreparedStatement<StateError>) {
        number = row.integer(0)
        mark = row.integer(1)
        conversation = row.integer(2)
        sent = row.integer(3)
        kind = row.integer(4)
        state = row.integer(5)
        time = row.isNull(6) ? nil : row.integer(6)
        sealed = row.isNull(7) ? nil : row.bytes(7)
        expires = row.isNull(8) ? nil : row.integer(8)
        place = row.integer(9)
        author = row.isNull(10) ? nil : row.bytes(10)
    }

    var context: IdentityStore.Context { .message(mark: mark, conversation: conversation) }
}

extension StateTransaction {
    /// Returns the message with a number, or `nil`.
    package func historyEntry(number: Int64) throws(StateError) -> HistoryEntry? {
        try store.entries("WHERE number = ?", number, connection: connection).first
    }
}
