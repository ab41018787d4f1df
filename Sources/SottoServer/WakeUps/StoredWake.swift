import Sotto
import SottoDatabase
import SottoWire

/// A registration for wake-ups as a store keeps it.
struct StoredWake: Sendable, Equatable {
    /// The mailbox whose mail causes the wake-ups.
    let mailbox: KeyID
    /// Where they go.
    let registration: WakeRegistration
    /// The minute, since 1970, at which the registration expires.
    let until: Int64
    /// The messages that wait in the mailbox; only when it is read.
    var waiting: Int64 = 0

    /// Minutes for which a registration is valid.
    static let lifeMinutes = WireLimits.wakeDays * 24 * 60
    /// Minutes for which a registration is not written again: clients repeat it.
    static let restMinutes: Int64 = 12 * 60

    /// The bytes of the address and the token.
    var bytes: Int { registration.url.utf8.count + (registration.token?.utf8.count ?? 0) }

    /// Returns the number of a kind in a store.
    static func number(of kind: WakeRegistration.Kind) -> Int64 { kind == .voip ? 1 : 0 }
}

extension StoredWake {
    /// Creates a registration from its row. Returns `nil` if the row cannot be read, which is then left out.
    fileprivate init?(
        key: [UInt8], kind: Int64, url: [UInt8], token: [UInt8], until: Int64, waiting: Int64
    ) {
        let registration = try? WakeRegistration(
            url: String(decoding: url, as: UTF8.self), kind: kind == 1 ? .voip : .message,
            token: token.isEmpty ? nil : String(decoding: token, as: UTF8.self))
        guard let registration else { return nil }
        self.init(
            mailbox: KeyID(publicKey: key), registration: registration, until: until,
            waiting: waiting)
    }
}

extension StoreTransaction {
    /// Stores a registration in place of the one of its kind.
    func register(_ wake: StoredWake) throws(StoreError) -> Outcome {
        try connection.run(
            """
            INSERT INTO wake (key, kind, url, token, until) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (key, kind) DO UPDATE SET
                url = excluded.url, token = excluded.token, until = excluded.until
            """, wake.mailbox.publicKey, StoredWake.number(of: wake.registration.kind),
            Array(wake.registration.url.utf8), Array((wake.registration.token ?? "").utf8),
            wake.until)
        return .published
    }

    /// Deletes the registration of a kind, or all of a mailbox.
    func unregister(
        _ mailbox: KeyID, _ kind: WakeRegistration.Kind?
    ) throws(StoreError) -> Outcome {
        try connection.run(
            "DELETE FROM wake WHERE key = ?1 AND (?2 < 0 OR kind = ?2)", mailbox.publicKey,
            kind.map { StoredWake.number(of: $0) } ?? -1)
        return .published
    }
}

extension SQLiteStore {
    func wakes(of mailboxes: [KeyID], at minute: Int64) throws(StoreError) -> [StoredWake] {
        try reader.use { connection throws(StoreError) in
            var wakes: [StoredWake] = []
            for mailbox in mailboxes {
                wakes += try connection.rows(
                    """
                    SELECT kind, url, token, until,
                        coalesce((SELECT messages FROM mailbox WHERE key = ?1), 0)
                    FROM wake WHERE key = ?1 AND until > ?2
                    """, mailbox.publicKey, minute
                ) { row throws(StoreError) in
                    StoredWake(
                        key: mailbox.publicKey, kind: row.integer(0), url: row.bytes(1),
                        token: row.bytes(2), until: row.integer(3), waiting: row.integer(4))
                }.compactMap(\.self)
            }
            return wakes
        }
    }

    /// Deletes expired registrations. One that would end later than a new one, from a wrong clock, ends with a new one.
    static func forgetWakes(
        _ connection: StoreConnection, at minute: Int64, latest: Int64, _ limit: Int64
    ) throws(StoreError) -> Bool {
        try connection.run(
            "UPDATE wake SET until = ?1 WHERE until > ?1", latest + StoredWake.lifeMinutes)
        try connection.run(
            """
            DELETE FROM wake WHERE (key, kind) IN (
                SELECT key, kind FROM wake WHERE until <= ? LIMIT ?
            )
            """, minute, limit)
        return connection.changes == limit
    }
}

extension PostgresStore {
    func wakes(of mailboxes: [KeyID], at minute: Int64) throws(StoreError) -> [StoredWake] {
        guard !mailboxes.isEmpty else { return [] }
        var query = PostgresQuery("SELECT * FROM sotto.wakes($1, $2)")
        query.add(minute)
        query.add(mailboxes.map(\.publicKey))
        let rows = try reader.rows(query)
        return (0..<rows.count).compactMap { row in
            StoredWake(
                key: rows.bytes(row, 0), kind: rows.integer(row, 1), url: rows.bytes(row, 2),
                token: rows.bytes(row, 3), until: rows.integer(row, 4),
                waiting: rows.integer(row, 5))
        }
    }

    /// Deletes expired registrations.
    func sweepWakes(at minute: Int64, latest: Int64, _ limit: Int64) throws(StoreError) -> Bool {
        var query = PostgresQuery("SELECT sotto.sweep_wakes($1, $2, $3)")
        query.add(minute)
        query.add(latest + StoredWake.lifeMinutes)
        query.add(limit)
        let rows = try writer.transaction([query]).rows[0]
        return (0..<rows.count).contains { rows.integer($0, 0) != 0 }
    }
}
