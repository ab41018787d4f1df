import Sotto
import SottoDatabase

/// The instance of an owner's last login as a store keeps it: the owner learns at the next login whether it was another one.
struct StoredInstance: Sendable, Equatable {
    /// The owner who logged in.
    let owner: KeyID
    /// ``Login/instance``. It tells nothing about the machine, and is another one at each relay.
    let mark: [UInt8]
    /// The day of the login, since 1970.
    let day: Int64

    /// Days for which it is kept.
    static let lifeDays: Int64 = 30

    /// Whether it is not too old at a minute since 1970.
    func isKept(at minute: Int64) -> Bool { day > Self.lastDay(at: minute) }

    /// Returns the last day of which none is kept at a minute.
    fileprivate static func lastDay(at minute: Int64) -> Int64 { minute / minutes - lifeDays }

    private static let minutes: Int64 = 24 * 60

    /// Returns the last day that a correct clock can have written at a minute: the clocks of several relays differ.
    fileprivate static func latestDay(at minute: Int64) -> Int64 { minute / minutes + 1 }
}

extension StoreTransaction {
    /// Stores an instance in place of the owner's last one.
    func note(_ instance: StoredInstance) throws(StoreError) -> Outcome {
        try connection.run(
            """
            INSERT INTO instance (key, mark, day) VALUES (?, ?, ?)
            ON CONFLICT (key) DO UPDATE SET mark = excluded.mark, day = excluded.day
            """, instance.owner.publicKey, instance.mark, instance.day)
        return .published
    }
}

extension SQLiteStore {
    func instance(of owner: KeyID) throws(StoreError) -> StoredInstance? {
        try reader.use { connection throws(StoreError) in
            try connection.first(
                "SELECT mark, day FROM instance WHERE key = ?", owner.publicKey
            ) { row throws(StoreError) in
                StoredInstance(owner: owner, mark: row.bytes(0), day: row.integer(1))
            }
        }
    }

    /// Deletes old instances. One of a later day, from a wrong clock, is of the latest day then.
    static func forgetInstances(
        _ connection: StoreConnection, at minute: Int64, latest: Int64, _ limit: Int64
    ) throws(StoreError) -> Bool {
        try connection.run(
            "UPDATE instance SET day = ?1 WHERE day > ?1", StoredInstance.latestDay(at: latest))
        try connection.run(
            "DELETE FROM instance WHERE key IN (SELECT key FROM instance WHERE day <= ? LIMIT ?)",
            StoredInstance.lastDay(at: minute), limit)
        return connection.changes == limit
    }
}

extension PostgresStore {
    func instance(of owner: KeyID) throws(StoreError) -> StoredInstance? {
        var query = PostgresQuery("SELECT * FROM sotto.instance($1)")
        query.add(owner.publicKey)
        let rows = try reader.rows(query)
        guard rows.count > 0 else { return nil }
        return StoredInstance(owner: owner, mark: rows.bytes(0, 0), day: rows.integer(0, 1))
    }

    /// Deletes old instances.
    func sweepInstances(
        at minute: Int64, latest: Int64, _ limit: Int64
    ) throws(StoreError) -> Bool {
        var query = PostgresQuery("SELECT sotto.sweep_instances($1, $2, $3)")
        query.add(StoredInstance.lastDay(at: minute))
        query.add(StoredInstance.latestDay(at: latest))
        query.add(limit)
        let rows = try writer.transaction([query]).rows[0]
        return (0..<rows.count).contains { rows.integer($0, 0) != 0 }
    }
}
