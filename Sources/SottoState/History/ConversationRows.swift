public import Sotto
import SottoDatabase

/// A row of the table `conversation`.
struct ConversationRow {
    let number: Int64
    let conversation: Conversation
    var settings = ConversationSettings()
    /// The place of the last message with content.
    var last = HistoryPlace.start
    var time: Int64?
    var unread: Int64 = 0
    /// The place of the last message that was marked as read.
    var read = HistoryPlace.start
    var isChanged = false
    /// Whether ``last`` is a message whose author is only claimed.
    var isClaimed = false

    static let columns = """
        number, last, time, unread, read, sealed, mark,
        (SELECT place FROM message WHERE message.number = last),
        (SELECT place FROM message WHERE message.number = read),
        coalesce((SELECT state FROM message WHERE message.number = last), 0) = 9
        """

    init(number: Int64, _ conversation: Conversation) {
        self.number = number
        self.conversation = conversation
    }

    /// Reads a row of ``columns``. A row that cannot be read has lost its settings; `known` returns the conversation of its
    /// keyed hash. Throws ``StateError/unsealable(path:)`` if that is `nil`.
    init(
        _ row: PreparedStatement<StateError>, _ store: IdentityStore,
        known: ([UInt8]) throws(StateError) -> Conversation?
    ) throws(StateError) {
        let (number, sealed, mark) = (row.integer(0), row.bytes(5), row.bytes(6))
        let found = try store.readable(.conversation, number) { () throws(StateError) in
            let content = try store.unseal(sealed, .conversation(number: number))
            guard let members = try? JSON.object(parsing: content),
                let conversation = Conversation(members), store.mark(conversation) == mark
            else { throw .unsealable(path: store.database.path) }
            return (conversation, ConversationSettings(members))
        }
        if let found {
            (conversation, settings) = found
        } else if let conversation = try known(mark) {
            self.conversation = conversation
        } else {
            throw .unsealable(path: store.database.path)
        }
        self.number = number
        if !row.isNull(7) { last = HistoryPlace(rank: row.integer(7), number: row.integer(1)) }
        time = row.isNull(2) ? nil : row.integer(2)
        unread = row.integer(3)
        if !row.isNull(8) { read = HistoryPlace(rank: row.integer(8), number: row.integer(4)) }
        isClaimed = row.integer(9) != 0
    }

    /// The content of the column `sealed` before encryption.
    var members: [UInt8] {
        var members = conversation.members
        for (name, value) in settings.members { members[name] = value }
        return members.serialized()
    }

    var summary: ConversationSummary {
        ConversationSummary(
            conversation: conversation, settings: settings, unread: Int(unread),
            read: max(read.number, 0), readPlace: read,
            time: time.map { Timestamp(seconds: $0) }, last: max(last.number, 0), lastPlace: last,
            isClaimed: isClaimed)
    }
}

extension StateTransaction {
    /// Returns all conversations, in no order.
    package func allConversations() throws(StateError) -> [ConversationSummary] {
        try store.conversationRows(connection).map(\.summary)
    }
}

/// The conversations.
extension IdentityStore {
    /// Returns all conversations: favourites first, then by their newest message, the latest first.
    public func conversations() throws(StateError) -> [ConversationSummary] {
        try use { connection throws(StateError) in
            try conversationRows(connection).map(\.summary)
        }.sorted {
            $0.order > $1.order
        }
    }

    /// Returns whether a conversation has a message that is not erased.
    public func hasMessages(in conversation: Conversation) throws(StateError) -> Bool {
        try use { connection throws(StateError) in
            try connection.integer(
                """
                SELECT EXISTS (SELECT 1 FROM message WHERE kind = 0 AND sealed IS NOT NULL
                AND conversation = (SELECT number FROM conversation WHERE mark = ?))
                """, mark(conversation)) != 0
        }
    }

    /// Returns a conversation, or `nil` if it has never had a message.
    public func summary(of conversation: Conversation) throws(StateError) -> ConversationSummary? {
        try use { connection throws(StateError) in
            try conversationRow(conversation, connection)?.summary
        }
    }

    func conversationRows(_ connection: StateConnection) throws(StateError) -> [ConversationRow] {
        try connection.rows("SELECT \(ConversationRow.columns) FROM conversation") {
            row throws(StateError) in try conversationRow(row, connection)
        }.compactMap(\.self)
    }

    /// Reads a row, or returns `nil` if it cannot be read and its conversation is unknown.
    private func conversationRow(
        _ row: PreparedStatement<StateError>, _ connection: StateConnection
    ) throws(StateError) -> ConversationRow? {
        try readable(.conversation, row.integer(0)) { () throws(StateError) in
            try ConversationRow(row, self) { mark throws(StateError) in
                try conversation(withMark: mark, connection)
            }
        }
    }

    /// Returns the conversation with a keyed hash among those with the owner, the contacts and the groups, or `nil`.
    private func conversation(
        withMark mark: [UInt8], _ connection: StateConnection
    ) throws(StateError) -> Conversation? {
        let groups = try connection.rows("SELECT mark, sealed FROM group_log") {
            row throws(StateError) in
            let (mark, sealed) = (row.bytes(0), row.bytes(1))
            return try readable(.group, mark) { () throws(StateError) in
                try header(sealed, mark: mark).id
            }
        }
        let known: [Conversation] =
            [.peer(owner.id), .unknown] + (try contacts(connection).map { .peer($0.id) })
            + groups.compactMap(\.self).map { .group($0) }
        return known.first { self.mark($0) == mark }
    }

    func conversationRow(
        _ conversation: Conversation, _ connection: StateConnection
    ) throws(StateError) -> ConversationRow? {
        try connection.first(
            "SELECT \(ConversationRow.columns) FROM conversation WHERE mark = ?",
            mark(conversation)
        ) { row throws(StateError) in
            try ConversationRow(row, self) { _ throws(StateError) in conversation }
        }
    }

    func conversationRow(
        number: Int64, _ connection: StateConnection
    ) throws(StateError) -> ConversationRow? {
        try connection.first(
            "SELECT \(ConversationRow.columns) FROM conversation WHERE number = ?", number
        ) { row throws(StateError) in try conversationRow(row, connection) } ?? nil
    }
}

extension StateTransaction {
    /// Changes the settings of a conversation; creates the conversation if it has no message yet.
    public func change(
        _ conversation: Conversation, _ change: (inout ConversationSettings) -> Void
    ) throws(StateError) {
        var row = try row(of: conversation)
        let before = row.settings
        change(&row.settings)
        conversations[conversation] = row
        try tellDevices(row.settings, before: before, of: conversation)
        try connection.run(
            "UPDATE conversation SET sealed = ? WHERE number = ?",
            store.seal(row.members, .conversation(number: row.number)), row.number)
    }

    /// Marks the messages of a conversation up to a place as read. This begins the lifetimes that count from reading.
    /// Returns the messages that were not read before, the oldest first. With the numbers of the messages that were `shown`, the
    /// mark ends before the first other one.
    @discardableResult
    public func markRead(
        _ conversation: Conversation, upTo place: HistoryPlace = .end, shown: Set<Int64>? = nil,
        at time: Timestamp = .now()
    ) throws(StateError) -> [HistoryEntry] {
        var row = try row(of: conversation)
        guard var last = try lastContent(of: row, upTo: place)?.place, last > row.read else {
            return []
        }
        var entries = try store.entries(
            """
            WHERE conversation = ? AND kind = 0 AND sent = 0 AND state = 0 AND sealed IS NOT NULL
            AND (place, number) > (?, ?) AND (place, number) <= (?, ?)
            ORDER BY place, number
            """, row.number, row.read.rank, row.read.number, last.rank, last.number,
            connection: connection)
        if let shown, let unseen = entries.firstIndex(where: { !shown.contains($0.number) }) {
            guard unseen > 0 else { return [] }
            entries.removeSubrange(unseen...)
            last = entries[unseen - 1].place
        }
        for entry in entries {
            guard let expires = entry.body?.content.expires, expires.start == .read else {
                continue
            }
            try connection.run(
                "UPDATE message SET expires = ? WHERE number = ? AND expires IS NULL",
                time.seconds + expires.after, entry.number)
        }
        row.read = last
        row.unread = try unread(in: row)
        row.isChanged = true
        conversations[conversation] = row
        try tellDevices(read: entries, at: time)
        return entries
    }

    /// Moves the read mark of a conversation before a message that came late, so that it is unread. The messages after it stay read.
    func markUnread(late id: String, in group: GroupID) throws(StateError) {
        var row = try row(of: .group(group))
        let entry = try store.entries(
            "WHERE mark = ? AND kind = 0 AND state = 0 AND sealed IS NOT NULL",
            store.mark(groupMessage: id), connection: connection
        ).first
        guard let entry, entry.place <= row.read else { return }
        try connection.run(
            """
            UPDATE message SET state = ? WHERE conversation = ? AND kind = 0 AND sent = 0 AND state = 0
            AND (place, number) > (?, ?) AND (place, number) <= (?, ?)
            """, HistoryEntry.State.read.rawValue, row.number, entry.place.rank,
            entry.place.number, row.read.rank, row.read.number)
        let before = HistoryPlace(rank: entry.place.rank, number: entry.place.number - 1)
        row.read = try lastContent(of: row, upTo: before)?.place ?? .start
        row.unread = try unread(in: row)
        row.isChanged = true
        conversations[row.conversation] = row
    }

    /// Marks the messages of a conversation up to the place of the message with a number as read, as
    /// ``markRead(_:upTo:shown:at:)`` does.
    @discardableResult
    public func markRead(
        _ conversation: Conversation, upTo number: Int64, at time: Timestamp = .now()
    ) throws(StateError) -> [HistoryEntry] {
        try markRead(
            conversation, upTo: store.place(ofNumber: number, connection), at: time)
    }

    /// Returns the last message of a conversation with its own place, up to a place, or `nil`. A claim is the last one only
    /// if no other message exists. The time is when the message was stored.
    func lastContent(
        of row: ConversationRow, upTo place: HistoryPlace = .end
    ) throws(StateError) -> (place: HistoryPlace, time: Int64?)? {
        for kind in ["state != 9", "state = 9"] {
            let last = try connection.first(
                """
                SELECT place, number, time FROM message
                WHERE conversation = ? AND kind = 0 AND \(kind) AND (place, number) <= (?, ?)
                ORDER BY place DESC, number DESC LIMIT 1
                """, row.number, place.rank, place.number
            ) {
                (
                    place: HistoryPlace(rank: $0.integer(0), number: $0.integer(1)),
                    time: $0.isNull(2) ? nil : $0.integer(2)
                )
            }
            if let last { return last }
        }
        return nil
    }

    /// Returns the row of a conversation, created if it does not exist.
    func row(of conversation: Conversation) throws(StateError) -> ConversationRow {
        if let known = conversations[conversation] { return known }
        let row: ConversationRow
        if let found = try store.conversationRow(conversation, connection) {
            row = found
        } else {
            try connection.run(
                "INSERT INTO conversation (mark, sealed) VALUES (?, ?)", store.mark(conversation),
                [UInt8]())
            row = ConversationRow(number: connection.lastRow, conversation)
            try connection.run(
                "UPDATE conversation SET sealed = ? WHERE number = ?",
                store.seal(row.members, .conversation(number: row.number)), row.number)
        }
        conversations[conversation] = row
        return row
    }

    /// Writes the changed counts of conversations, once for each transaction.
    func writeConversations() throws(StateError) {
        for row in conversations.values where row.isChanged {
            try connection.run(
                "UPDATE conversation SET last = ?, time = ?, unread = ?, read = ? WHERE number = ?",
                max(row.last.number, 0), row.time, row.unread, max(row.read.number, 0), row.number)
        }
        conversations = [:]
        try writeErased()
    }
}
