public import Sotto
import SottoDatabase

/// Selections of the history other than a page.
extension IdentityStore {
    /// The highest number of a message, or 0.
    public func lastNumber() throws(StateError) -> Int64 {
        try use { connection throws(StateError) in
            try connection.integer("SELECT max(number) FROM message")
        }
    }

    /// Returns the oldest messages and events after a number, at most `limit`, in the order of their numbers.
    public func history(after number: Int64, limit: Int) throws(StateError) -> [HistoryEntry] {
        try use { connection throws(StateError) in
            try entries(
                "WHERE number > ? ORDER BY number LIMIT ?", number, limit, connection: connection)
        }
    }

    /// Selects the messages that arrived at a time or later. A message that was not imported arrived when it was first
    /// stored.
    private static let arrivedSince = """
        SELECT number FROM message WHERE time >= ?1 AND arrived IS NULL
        UNION SELECT number FROM message WHERE arrived >= ?1
        """

    /// Returns the newest messages that arrived at a time or later, at most `limit`, in the order of their numbers.
    public func history(
        since time: Timestamp, in conversation: Conversation?, limit: Int, events: Bool = false
    ) throws(StateError) -> [HistoryEntry] {
        try selected(Self.arrivedSince, time, conversation, limit, events ? .pin : .content)
    }

    /// Returns the newest messages that arrived, or were deleted or changed by an event, at a time or later, at most
    /// `limit`, in the order of their numbers.
    public func changed(
        since time: Timestamp, in conversation: Conversation?, limit: Int
    ) throws(StateError) -> [HistoryEntry] {
        try selected(
            Self.arrivedSince + " UNION SELECT number FROM message WHERE changed >= ?1", time,
            conversation, limit, .content)
    }

    private func selected(
        _ numbers: String, _ time: Timestamp, _ conversation: Conversation?, _ limit: Int,
        _ kinds: HistoryEntry.Kind
    ) throws(StateError) -> [HistoryEntry] {
        try use { connection throws(StateError) in
            let row = try conversation.map { conversation throws(StateError) in
                try conversationRow(conversation, connection)?.number ?? 0
            }
            return try entries(
                """
                WHERE number IN (\(numbers)) AND (?2 IS NULL OR conversation = ?2) AND kind <= ?3
                ORDER BY number DESC LIMIT ?4
                """, time.seconds, row, kinds.rawValue, limit, connection: connection
            ).reversed()
        }
    }

    /// Returns the messages on which a pin was set or removed, at most `limit`, the last pinned first.
    public func pinned(
        in conversation: Conversation?, limit: Int
    ) throws(StateError) -> [HistoryEntry] {
        try use { connection throws(StateError) in
            let rows = try conversationRows(connection).filter {
                conversation == nil || $0.conversation == conversation
            }
            var found: [HistoryEntry] = []
            for row in rows { found += try pinned(in: row, limit, connection) }
            return Array(found.prefix(limit))
        }
    }

    /// The number of newest pins of a conversation that ``pinnedCount(in:)`` considers.
    public static let countedPins = 1_000

    /// Returns the number of messages of a conversation that are pinned now, by its newest ``countedPins`` pins.
    public func pinnedCount(in conversation: Conversation) throws(StateError) -> Int {
        let entries = try use { connection throws(StateError) -> [HistoryEntry] in
            guard let row = try conversationRow(conversation, connection) else { return [] }
            return try pinned(in: row, Self.countedPins, connection)
        }
        guard !entries.isEmpty else { return 0 }
        return try views(of: entries).count { $0.pin != nil }
    }

    private func pinned(
        in row: ConversationRow, _ limit: Int, _ connection: StateConnection
    ) throws(StateError) -> [HistoryEntry] {
        let pins = try entries(
            """
            WHERE conversation = ? AND kind = 2 AND sealed IS NOT NULL
            ORDER BY place DESC, number DESC LIMIT ?
            """, row.number, limit, connection: connection)
        var found: [HistoryEntry] = []
        var known: Set<Int64> = []
        for pin in pins {
            guard let target = pin.body?.target else { continue }
            found += try historyEntries(id: target.id, in: row, connection).filter {
                $0.author(owner.id) == target.from && known.insert($0.number).inserted
            }
        }
        return found
    }

    /// Returns the received messages of a conversation that were not marked as read, the oldest first.
    package func unread(
        in conversation: Conversation, limit: Int = .max
    ) throws(StateError) -> [HistoryEntry] {
        try use { connection throws(StateError) in
            guard let row = try conversationRow(conversation, connection) else { return [] }
            return try entries(
                """
                WHERE conversation = ? AND kind = 0 AND sent = 0 AND state = 0
                AND sealed IS NOT NULL AND (place, number) > (?, ?) ORDER BY place, number LIMIT ?
                """, row.number, row.read.rank, row.read.number, limit, connection: connection)
        }
    }

    /// Returns the messages of a conversation that have this id: at most one received and one sent.
    public func historyEntries(
        id: String, in conversation: Conversation
    ) throws(StateError) -> [HistoryEntry] {
        try use { connection throws(StateError) in
            guard let row = try conversationRow(conversation, connection) else { return [] }
            return try historyEntries(id: id, in: row, connection)
        }
    }

    /// Returns the messages of all conversations that have this id: at most one received from a person, one of a group, and
    /// one sent.
    public func historyEntries(id: String) throws(StateError) -> [HistoryEntry] {
        try use { connection throws(StateError) in
            try entries(
                "WHERE mark IN (?, ?, ?) AND kind = 0", mark(envelope: id),
                mark(groupMessage: id), mark(sent: id), connection: connection)
        }
    }

    private func historyEntries(
        id: String, in row: ConversationRow, _ connection: StateConnection
    ) throws(StateError) -> [HistoryEntry] {
        let marks = marks(of: id, in: row.conversation)
        return try entries(
            "WHERE mark IN (?, ?) AND conversation = ? AND kind = 0", marks.received,
            marks.sent, row.number, connection: connection)
    }
}
