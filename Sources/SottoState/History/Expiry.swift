public import Sotto
import SottoDatabase
import Synchronization

/// Lifetimes of messages. A message ends when its `expires` says so, or when it is older than messages are kept. It leaves
/// its number, the hash of its id, and its state.
extension IdentityStore {
    /// The number of messages that one transaction erases.
    private static let erasedAtOnce = 1_000
    /// The seconds between two checks of a program that runs for a long time.
    public static let expiryInterval = 10.0

    /// Erases the messages whose lifetime has ended. Each opening of a state calls this, and programs that run for a long
    /// time call it again; between two checks are at least 10 seconds.
    ///
    /// Erased content is overwritten in the file, and the log is emptied unless another process reads. If another
    /// process writes for longer than the lock timeout, the next check erases them.
    public func expire() throws(StateError) {
        guard Monotonic.seconds() - expiryCheck.withLock({ $0 }) >= Self.expiryInterval else {
            return
        }
        try expire(at: .now())
    }

    package func expire(at now: Timestamp) throws(StateError) {
        expiryCheck.withLock { $0 = Monotonic.seconds() }
        do throws(StateError) {
            var hasErased = false
            while try isDue(at: now), try erase(at: now) > 0 { hasErased = true }
            if hasErased { try compact() }
        } catch .database(.locked) {
            return
        }
    }

    private func isDue(at now: Timestamp) throws(StateError) -> Bool {
        try use { connection throws(StateError) in
            if try connection.exists(
                "SELECT 1 FROM message WHERE expires <= ? LIMIT 1", now.seconds)
            {
                return true
            }
            if try connection.exists(
                """
                SELECT 1 FROM message WHERE number = (SELECT min(message) FROM waiting)
                AND time < ?
                """, now.seconds - StateTransaction.waitingDays * StateTransaction.day)
            {
                return true
            }
            return try connection.exists(
                "SELECT 1 FROM retention WHERE seconds > 0 AND kept < ? - seconds", now.seconds)
        }
    }

    private func erase(at now: Timestamp) throws(StateError) -> Int {
        let (count, blobs) = try database.transaction {
            (connection: StateConnection) throws(StateError) in
            let transaction = StateTransaction(store: self, connection: connection)
            let count =
                try transaction.eraseExpired(at: now, limit: Self.erasedAtOnce)
                + transaction.eraseOld(at: now, limit: Self.erasedAtOnce)
                + transaction.dropWaiting(at: now, limit: Self.erasedAtOnce)
            try transaction.writeConversations()
            return (count, transaction.erasedBlobs)
        }
        removeFetched(blobs)
        return count
    }

    /// Empties the log. Rebuilds the file if at least 1,000 messages and a quarter of all were erased since it was last
    /// rebuilt: what remains of an erased message is in the page where it was, which no later message fills.
    public func compact() throws(StateError) {
        try use { connection throws(StateError) in
            let erased = try connection.integer(
                "SELECT value FROM number WHERE name = ?", StateTransaction.erasedName)
            let last = try connection.integer("SELECT max(number) FROM message")
            guard erased >= 1_000, erased * 4 >= last else { return }
            try connection.run("VACUUM")
            try connection.run(
                "UPDATE number SET value = value - ? WHERE name = ?", erased,
                StateTransaction.erasedName)
        }
        try checkpoint()
    }
}

extension StateTransaction {
    /// The name of the number of messages that were erased since the file was rebuilt.
    fileprivate static let erasedName = "erased"

    /// Adds ``erased`` to the number of erased messages in the state.
    func writeErased() throws(StateError) {
        guard erased > 0 else { return }
        try connection.run(
            """
            INSERT INTO number (name, value) VALUES (?1, ?2)
            ON CONFLICT (name) DO UPDATE SET value = value + ?2
            """, Self.erasedName, erased)
        erased = 0
    }

    /// Erases messages whose own lifetime has ended. Returns how many.
    func eraseExpired(at now: Timestamp, limit: Int) throws(StateError) -> Int {
        let entries = try store.entries(
            "WHERE expires <= ? ORDER BY expires LIMIT ?", now.seconds, limit,
            connection: connection, isErasing: true)
        for entry in entries { try delete(entry, .expired, at: now) }
        return entries.count
    }

    /// Erases messages that were stored longer ago than they are kept. Returns how many.
    ///
    /// The time is ``settledTime(at:)``, so that a clock that is years ahead for a day erases nothing.
    func eraseOld(at now: Timestamp, limit: Int) throws(StateError) -> Int {
        let rules = try connection.rows(
            "SELECT conversation, seconds, kept FROM retention WHERE seconds > 0"
        ) { (conversation: $0.integer(0), seconds: $0.integer(1), kept: $0.integer(2)) }
        guard !rules.isEmpty else { return 0 }
        let time = try settledTime(at: now).seconds
        var count = 0
        for rule in rules {
            let end = time - rule.seconds
            guard rule.kept < end else { continue }
            let entries = try store.entries(
                """
                WHERE (time > ?1 OR ?1 = 0 AND time IS NULL) AND coalesce(time, 0) <= ?2
                AND sealed IS NOT NULL AND (conversation = ?3 OR ?3 = 0 AND conversation NOT IN
                    (SELECT conversation FROM retention))
                ORDER BY time LIMIT ?4
                """, rule.kept, end, rule.conversation, limit, connection: connection,
                isErasing: true)
            for entry in entries { try delete(entry, .expired, at: now) }
            count += entries.count
            // With the limit reached, the same rule goes on.
            guard entries.count < limit else { continue }
            try connection.run(
                "UPDATE retention SET kept = ? WHERE conversation = ?", end, rule.conversation)
        }
        return count
    }

    /// Returns a body with a lifetime of `seconds` from reading, if it is a text, data or a file that has no lifetime yet and the
    /// timer is set.
    package static func limited(_ body: JSONObject, by seconds: Int64) -> JSONObject {
        guard seconds > 0, body["expires"] == nil, let type = body["type"]?.string,
            ["text", "data", "file"].contains(type)
        else { return body }
        var limited = body
        limited["expires"] = .object(["after": .integer(seconds), "from": .string("read")])
        return limited
    }

    /// Returns the lifetime of new messages to a peer in seconds, or 0 for no limit.
    public func timer(for peer: KeyID) throws(StateError) -> Int64 {
        if let known = conversations[.peer(peer)] { return known.settings.timer }
        return try store.conversationRow(.peer(peer), connection)?.settings.timer ?? 0
    }

    /// Sets the timer of a conversation, if no later message set it. A message from the future counts from now.
    func setTimer(
        _ seconds: Int64, written: Timestamp, in conversation: Conversation, at time: Timestamp
    ) throws(StateError) {
        let start = min(written.seconds, time.seconds)
        guard try start >= row(of: conversation).settings.timerTime else { return }
        try change(conversation) { settings in
            settings.timer = seconds
            settings.timerTime = start
        }
    }
}

extension MessageBody {
    /// Returns the end of the lifetime of a message that is stored now, in seconds since 1970. Returns `nil` if it has
    /// none, or if it begins when the message is read.
    ///
    /// A lifetime from sending begins at the claimed time or now, at the earlier of the two. The copy of a sent message
    /// ends with it.
    func expiry(
        _ kind: HistoryEntry.Kind, _ direction: HistoryEntry.Direction, written: Timestamp,
        storedAt time: Timestamp
    ) -> Int64? {
        guard let expires = content.expires, kind == .content || kind == .copy else { return nil }
        if expires.start == .read, direction == .received, kind != .copy { return nil }
        return min(written.seconds, time.seconds) + expires.after
    }
}

/// The retention of messages.
extension IdentityStore {
    /// The retention of one conversation, or of all others.
    public struct Retention: Sendable, Hashable {
        /// The conversation, or `nil` for all other conversations.
        public let conversation: Conversation?
        /// The time in seconds, or `nil` if messages are kept forever.
        public let seconds: Int64?

        /// Creates a retention.
        public init(conversation: Conversation?, seconds: Int64?) {
            self.conversation = conversation
            self.seconds = seconds
        }
    }

    /// The shortest retention in seconds: a day.
    public static let shortestRetention: Int64 = 86_400

    /// Returns the retentions: that of all conversations first, also if it was never set.
    public func retentions() throws(StateError) -> [Retention] {
        try use { connection throws(StateError) in
            let rows = try connection.rows(
                "SELECT conversation, seconds FROM retention ORDER BY conversation"
            ) { (conversation: $0.integer(0), seconds: $0.isNull(1) ? nil : $0.integer(1)) }
            let all = rows.first { $0.conversation == 0 }?.seconds
            let own = try rows.filter { $0.conversation != 0 }.map { row throws(StateError) in
                Retention(
                    conversation: try conversationRow(number: row.conversation, connection)?
                        .conversation, seconds: row.seconds)
            }
            return [Retention(conversation: nil, seconds: all)] + own
        }
    }
}

extension StateTransaction {
    /// Sets how long messages are kept, in seconds from their storing; `nil` keeps them forever. Without a conversation,
    /// this is for all others.
    public func keep(_ conversation: Conversation?, seconds: Int64?) throws(StateError) {
        let number = try conversation.map { conversation throws(StateError) in
            try row(of: conversation).number
        }
        // A message that one rule has passed over may belong to another rule now.
        try connection.run("UPDATE retention SET kept = 0")
        try connection.run(
            """
            INSERT INTO retention (conversation, seconds) VALUES (?1, ?2)
            ON CONFLICT (conversation) DO UPDATE SET seconds = ?2
            """, number ?? 0, seconds)
    }
}
