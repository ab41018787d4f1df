public import Sotto
import SottoDatabase

/// Messages of senders who are not in the address book. They wait, unread, until the user decides.
public struct MessageRequest: Sendable {
    /// The sender.
    public let from: KeyID
    /// The number of waiting messages: 0 if only the card of a sender is kept whose messages were opened.
    public let count: Int
    /// When the first message arrived.
    public let firstSeen: Timestamp
    /// The sender's card from the last message that carried one, or `nil`. Its name is only claimed.
    public let card: Card?
    /// The sender's account in another messenger, if the messages cannot be opened before its keys are known; else `nil`.
    public let account: String?
}

/// A sender of whom only an account in another messenger is known, as a message claims it.
public struct UnknownSender: Sendable, Hashable {
    /// The id of the account, which is not a key; see ``KeyID/init(account:of:)``.
    public let id: KeyID
    /// The account, as its messenger writes it.
    public let account: String

    /// Creates a sender.
    public init(id: KeyID, account: String) {
        (self.id, self.account) = (id, account)
    }
}

extension IdentityStore {
    /// The maximum number of listed messages, over all senders. When the list is full, the sender with the most
    /// messages loses one, or the hour in which the most messages arrived.
    public static let requestLimit: Int64 = 1_000
    /// The maximum number of waiting messages of one sender.
    public static let requestLimitPerSender: Int64 = 100
    /// The maximum total length in bytes of messages that are set aside. They were removed from the list and can still
    /// be read. A card that a message carries is shorter than its envelope and is not counted.
    public static let bytesAsideLimit: Int64 = 64 << 20

    /// Returns the number of messages that were set aside, and the number of their senders.
    public func requestsAside() throws(StateError) -> (messages: Int, senders: Int) {
        try use { connection throws(StateError) in
            try connection.first(
                "SELECT count(*), count(DISTINCT peer) FROM request WHERE aside = 1"
            ) { row throws(StateError) in (Int(row.integer(0)), Int(row.integer(1))) } ?? (0, 0)
        }
    }

    /// Returns the senders in the list, ordered by their first message.
    public func requests() throws(StateError) -> [MessageRequest] {
        try use { connection throws(StateError) in try requests(connection) }
    }

    fileprivate func requests(_ connection: StateConnection) throws(StateError) -> [MessageRequest]
    {
        try connection.rows(
            """
            SELECT peer, sum(length(envelope) > 0), min(seen), min(number) AS first FROM request
            WHERE aside = 0 GROUP BY peer ORDER BY first
            """
        ) { row throws(StateError) -> MessageRequest? in
            guard let sender = try sender(ofRequests: row.bytes(0), connection) else {
                return nil
            }
            return MessageRequest(
                from: sender.id, count: Int(row.integer(1)),
                firstSeen: Timestamp(seconds: row.integer(2)), card: sender.card,
                account: sender.account)
        }.compactMap(\.self)
    }

    /// Returns the card from the last waiting message of a sender that carried one, or `nil`.
    public func requestedCard(from sender: KeyID) throws(StateError) -> Card? {
        defer { damage.flush() }
        return try use { connection throws(StateError) in
            try self.sender(ofRequests: mark(sender), connection)?.card
        }
    }

    /// Returns the sender with a keyed hash and the sender's last card or account, from the sender's requests that can be
    /// read; `nil` without one.
    private func sender(
        ofRequests mark: [UInt8], _ connection: StateConnection
    ) throws(StateError) -> (id: KeyID, card: Card?, account: String?)? {
        let rows = try connection.rows(
            "SELECT id, sealed FROM request WHERE peer = ? ORDER BY number DESC", mark
        ) { (id: $0.text(0), sealed: $0.bytes(1)) }
        var sender: KeyID?
        var account: String?
        for (id, sealed) in rows {
            let content = try readable(.request, Array(id.utf8)) { () throws(StateError) in
                let content = try unseal(sealed, .request(id: id))
                guard content.count >= 32,
                    self.mark(KeyID(publicKey: Array(content[..<32]))) == mark
                else { throw StateError.unsealable(path: database.path) }
                return content
            }
            guard let content else { continue }
            sender = KeyID(publicKey: Array(content[..<32]))
            // The signature was verified before the row was stored.
            let record = try? JSON.object(parsing: Array(content[32...]))
            if let record, let card = try? Card(stored: record) { return (card.id, card, nil) }
            if let name = record?["account"]?.string { account = name }
        }
        return sender.map { ($0, nil, account) }
    }

    /// Returns the waiting envelopes of one sender, listed or set aside, one line each, in the order of arrival.
    public func requestedEnvelopes(from sender: KeyID) throws(StateError) -> [[UInt8]] {
        try use { connection throws(StateError) in
            try connection.rows(
                """
                SELECT envelope FROM request WHERE peer = ? AND length(envelope) > 0
                ORDER BY number
                """, mark(sender)
            ) { row throws(StateError) in row.bytes(0) }
        }
    }
}

extension StateTransaction {
    /// Returns the senders in the list, ordered by their first message.
    public func requests() throws(StateError) -> [MessageRequest] {
        try store.requests(connection)
    }

    /// Stores an envelope as a message request, with the card of the sender that it carries, or the account of a sender
    /// without a known key. Returns whether it is stored: `false` if the sender has too many.
    ///
    /// When the list is full, the newest message of the sender with the most messages is set aside for a sender who has
    /// fewer, even with the new message. If all senders have few, the first message of a new sender replaces a random
    /// message from the hour in which the most arrived: an attacker who fills the list with new ids displaces those
    /// ids. Messages of contacts are not displaced.
    public func request(
        _ envelope: [UInt8], id: String, from sender: KeyID, card: Card? = nil,
        account: String? = nil
    ) throws(StateError) -> Bool {
        let mark = store.mark(sender)
        if try connection.exists("SELECT 1 FROM request WHERE id = ?", id) { return true }
        let theirs = try count(
            """
            SELECT sum(length(envelope) > 0), sum(aside = 0) FROM request WHERE peer = ?
            """, mark)
        guard theirs.all < IdentityStore.requestLimitPerSender else { return false }
        let listed = try connection.integer("SELECT count(*) FROM request WHERE aside = 0")
        if listed >= IdentityStore.requestLimit {
            guard let victim = try victim(of: theirs.listed) else { return false }
            try setAside(victim)
        }
        let known = card?.record ?? account.map { ["account": .string($0)] }
        let content = sender.publicKey + (known?.serialized() ?? [])
        try connection.run(
            "INSERT INTO request (peer, id, seen, sealed, envelope) VALUES (?, ?, ?, ?, ?)", mark,
            id, Timestamp.now().seconds, store.seal(content, .request(id: id)), envelope)
        hasRequests = true
        return true
    }

    /// Keeps the card of a sender whose message was opened. The row has no envelope, so that it holds nothing of the message.
    public func keep(card: Card, from sender: KeyID, id: String) throws(StateError) {
        _ = try request([], id: id, from: sender, card: card)
    }

    /// Deletes the card that is kept for a sender.
    package func forgetCard(of sender: KeyID) throws(StateError) {
        try connection.run(
            "DELETE FROM request WHERE peer = ? AND length(envelope) = 0", store.mark(sender))
    }

    /// Returns whether a message or the card of a sender waits.
    public func hasRequest(from sender: KeyID) throws(StateError) -> Bool {
        try connection.exists("SELECT 1 FROM request WHERE peer = ?", store.mark(sender))
    }

    private func count(_ sql: String, _ mark: [UInt8]) throws(StateError) -> (
        all: Int64, listed: Int64
    ) {
        try connection.first(sql, mark) { ($0.integer(0), $0.integer(1)) } ?? (0, 0)
    }

    /// Returns the listed message that is set aside for one more message of a sender with `count` messages in the list.
    private func victim(of count: Int64) throws(StateError) -> Int64? {
        let most = try connection.statement(
            """
            SELECT count(*) AS waiting, max(number) AS newest FROM request
            WHERE aside = 0 AND peer NOT IN (SELECT peer FROM contact WHERE name IS NOT NULL)
            GROUP BY peer ORDER BY waiting DESC, newest DESC LIMIT 1
            """)
        defer { most.reset() }
        if try most.step(), most.integer(0) > count + 1 { return most.integer(1) }
        // A sender with messages in the list does not displace senders who have as few.
        guard count == 0 else { return nil }
        return try randomInBusiestHour()
    }

    /// Returns a random listed message of the hour in which the most arrived.
    private func randomInBusiestHour() throws(StateError) -> Int64? {
        return try connection.first(
            """
            SELECT number FROM request
            WHERE aside = 0 AND peer NOT IN (SELECT peer FROM contact WHERE name IS NOT NULL)
            AND seen / 3600 = (
                SELECT seen / 3600 AS hour FROM request
                WHERE aside = 0 AND peer NOT IN (SELECT peer FROM contact WHERE name IS NOT NULL)
                GROUP BY hour ORDER BY count(*) DESC, hour DESC LIMIT 1)
            ORDER BY random() LIMIT 1
            """
        ) { $0.integer(0) }
    }

    /// Removes a message from the list. It is kept while space remains. A card without a message is deleted: no limit would count it.
    private func setAside(_ number: Int64) throws(StateError) {
        try connection.run(
            "DELETE FROM request WHERE number = ? AND length(envelope) = 0", number)
        guard connection.changes == 0 else { return }
        try connection.run("UPDATE request SET aside = 1 WHERE number = ?", number)
        var bytes: Int64
        if let counted = bytesAside {
            bytes = try counted + length(of: number)
        } else {
            bytes = try connection.integer(
                "SELECT coalesce(sum(length(envelope)), 0) FROM request WHERE aside = 1")
        }
        bytesAside = try bytes > bytesAsideLimit ? trimAside(bytes) : bytes
    }

    /// Deletes random messages of the busiest hours among those that are set aside, and some more than needed, so that
    /// not every further message has to. Returns how many of `bytes` remain.
    private func trimAside(_ bytes: Int64) throws(StateError) -> Int64 {
        var bytes = bytes
        let target = bytesAsideLimit / 16 * 15
        while bytes > target {
            guard let hour = try busiestHour() else { break }
            let share = ((bytes - target) * hour.count + hour.bytes - 1) / max(1, hour.bytes)
            try connection.run(
                """
                DELETE FROM request WHERE number IN (
                    SELECT number FROM request WHERE aside = 1 AND seen / 3600 = ?1
                    AND peer NOT IN (SELECT peer FROM contact WHERE name IS NOT NULL)
                    ORDER BY random() LIMIT ?2)
                """, hour.number, max(1, min(hour.count, share)))
            bytes = try connection.integer(
                "SELECT coalesce(sum(length(envelope)), 0) FROM request WHERE aside = 1")
        }
        return bytes
    }

    /// Returns the hour in which the most messages that are set aside arrived.
    private func busiestHour() throws(StateError) -> (number: Int64, count: Int64, bytes: Int64)? {
        let select = try connection.statement(
            """
            SELECT seen / 3600 AS hour, count(*) AS messages, sum(length(envelope)) FROM request
            WHERE aside = 1 AND peer NOT IN (SELECT peer FROM contact WHERE name IS NOT NULL)
            GROUP BY hour ORDER BY messages DESC, hour DESC LIMIT 1
            """)
        defer { select.reset() }
        guard try select.step() else { return nil }
        return (select.integer(0), select.integer(1), select.integer(2))
    }

    private func length(of number: Int64) throws(StateError) -> Int64 {
        return try connection.integer(
            "SELECT length(envelope) FROM request WHERE number = ?", number)
    }

    /// Returns messages that were set aside to the list, the oldest first, while the list has space.
    private func listAside() throws(StateError) {
        let listed = try connection.integer("SELECT count(*) FROM request WHERE aside = 0")
        guard listed < IdentityStore.requestLimit else { return }
        try connection.run(
            """
            UPDATE request SET aside = 0 WHERE number IN (
                SELECT number FROM request WHERE aside = 1 ORDER BY number LIMIT ?)
            """, IdentityStore.requestLimit - listed)
        bytesAside = nil
    }

    /// Deletes the request of an envelope that was opened.
    public func forgetRequest(id: String) throws(StateError) {
        if hasRequests == nil {
            hasRequests = try connection.exists("SELECT 1 FROM request LIMIT 1")
        }
        guard hasRequests == true else { return }
        try connection.run("DELETE FROM request WHERE id = ?", id)
    }

    /// Deletes all requests of a sender who was blocked or is not wanted. Returns how many were deleted.
    @discardableResult
    public func forgetRequests(from sender: KeyID) throws(StateError) -> Int {
        let mark = store.mark(sender)
        let count = try connection.integer("SELECT count(*) FROM request WHERE peer = ?", mark)
        try connection.run("DELETE FROM request WHERE peer = ?", mark)
        bytesAside = nil
        try listAside()
        return Int(count)
    }

    /// Deletes all requests. Returns the number of messages and of senders.
    public func forgetAllRequests() throws(StateError) -> (messages: Int, senders: Int) {
        let messages = try connection.integer("SELECT count(*) FROM request")
        let senders = try connection.integer("SELECT count(DISTINCT peer) FROM request")
        try connection.run("DELETE FROM request")
        bytesAside = nil
        return (Int(messages), Int(senders))
    }
}
