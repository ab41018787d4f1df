public import Sotto

/// Messages of people who are not in the address book: they wait, unread, until somebody decides.
public struct MessageRequest: Sendable {
    /// Who wrote them.
    public let from: SessionID
    /// How many wait.
    public let count: Int
    /// When the first came here.
    public let firstSeen: Timestamp
}

extension IdentityStore {
    /// The most messages that wait, over all strangers. Whoever has the most of them makes room for others.
    public static let requestLimit: Int64 = 1_000
    /// The most that wait of one stranger.
    public static let requestLimitPerSender: Int64 = 100

    /// Who waits, the first to come first.
    public func requests() throws(StateError) -> [MessageRequest] {
        try database.use { connection throws(StateError) in
            let select = try connection.statement(
                """
                SELECT id, sealed, count(*), min(seen), min(number) AS first FROM request
                GROUP BY peer ORDER BY first
                """)
            defer { select.reset() }
            var requests: [MessageRequest] = []
            while try select.step() {
                let key = try unseal(select.bytes(1), .request(id: select.text(0)))
                guard key.count == 32 else { throw .unsealable(path: database.path) }
                requests.append(
                    MessageRequest(
                        from: SessionID(publicKey: key), count: Int(select.integer(2)),
                        firstSeen: Timestamp(seconds: select.integer(3))))
            }
            return requests
        }
    }

    /// The envelopes of one stranger that wait, each on a line of its own, in the order in which they came.
    public func requestedEnvelopes(from sender: SessionID) throws(StateError) -> [[UInt8]] {
        try database.use { connection throws(StateError) in
            let select = try connection.statement(
                "SELECT envelope FROM request WHERE peer = ? ORDER BY number")
            defer { select.reset() }
            select.bind(1, mark(sender))
            var envelopes: [[UInt8]] = []
            while try select.step() { envelopes.append(select.bytes(0)) }
            return envelopes
        }
    }
}

extension StateTransaction {
    /// Has an envelope of a stranger wait. Says whether it waits now; `false` when too many do.
    ///
    /// When the list is full, the newest envelope of whoever has the most waiting goes in favour of a sender who has
    /// fewer even with this one. What a contact wrote before they were one stays.
    public func request(_ envelope: [UInt8], id: String, from sender: SessionID)
        throws(StateError) -> Bool
    {
        let mark = store.mark(sender)
        let count = try connection.statement(
            "SELECT count(*), sum(peer = ?1), sum(id = ?2) FROM request")
        count.bind(1, mark)
        count.bind(2, id)
        _ = try count.step()
        let (all, theirs, known) = (count.integer(0), count.integer(1), count.integer(2))
        count.reset()
        if known > 0 { return true }
        guard theirs < IdentityStore.requestLimitPerSender else { return false }
        if all >= IdentityStore.requestLimit, try !makeRoom(forMoreThan: theirs + 1) {
            return false
        }
        let insert = try connection.statement(
            "INSERT INTO request (peer, id, seen, sealed, envelope) VALUES (?, ?, ?, ?, ?)")
        insert.bind(1, mark)
        insert.bind(2, id)
        insert.bind(3, Timestamp.now().seconds)
        insert.bind(4, store.seal(sender.publicKey, .request(id: id)))
        insert.bind(5, envelope)
        try insert.run()
        return true
    }

    /// Drops the newest request of the stranger who has the most, if they are more than `count`.
    private func makeRoom(forMoreThan count: Int64) throws(StateError) -> Bool {
        let most = try connection.statement(
            """
            SELECT count(*) AS waiting, max(number) AS newest FROM request
            WHERE peer NOT IN (SELECT peer FROM contact WHERE name IS NOT NULL)
            GROUP BY peer ORDER BY waiting DESC, newest DESC LIMIT 1
            """)
        defer { most.reset() }
        guard try most.step(), most.integer(0) > count else { return false }
        let newest = most.integer(1)
        most.reset()
        let delete = try connection.statement("DELETE FROM request WHERE number = ?")
        delete.bind(1, newest)
        try delete.run()
        return true
    }

    /// An envelope waits no longer: it was opened.
    public func forgetRequest(id: String) throws(StateError) {
        let delete = try connection.statement("DELETE FROM request WHERE id = ?")
        delete.bind(1, id)
        try delete.run()
    }

    /// Nothing of a stranger waits any longer: they were blocked, or it is not wanted. Returns how many waited.
    @discardableResult
    public func forgetRequests(from sender: SessionID) throws(StateError) -> Int {
        let mark = store.mark(sender)
        let select = try connection.statement("SELECT count(*) FROM request WHERE peer = ?")
        select.bind(1, mark)
        _ = try select.step()
        let count = Int(select.integer(0))
        select.reset()
        let delete = try connection.statement("DELETE FROM request WHERE peer = ?")
        delete.bind(1, mark)
        try delete.run()
        return count
    }

    /// Nothing waits any longer. Returns how many messages did, and of how many senders.
    public func forgetAllRequests() throws(StateError) -> (messages: Int, senders: Int) {
        let messages = try connection.integer("SELECT count(*) FROM request")
        let senders = try connection.integer("SELECT count(DISTINCT peer) FROM request")
        try connection.statement("DELETE FROM request").run()
        return (Int(messages), Int(senders))
    }
}
