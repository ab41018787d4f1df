import Sotto
import SottoDatabase

extension PostgresStore {
    /// Deletes envelopes whose time to live has ended.
    func sweepEnded(at second: Int64, _ limit: Int64) throws(StoreError) -> Bool {
        var query = PostgresQuery("SELECT sotto.sweep_ended($1, $2)")
        query.add(second)
        query.add(limit)
        let rows = try writer.transaction([query]).rows[0]
        return (0..<rows.count).contains { rows.integer($0, 0) != 0 }
    }

    /// Deletes empty mailboxes, and corrects times in the future.
    func sweepMailboxes(latest: Int64, _ limit: Int64) throws(StoreError) -> Bool {
        var query = PostgresQuery("SELECT sotto.sweep_mailboxes($1, $2, $3)")
        query.add(latest + SQLiteStore.futureMinutes)
        query.add(latest)
        query.add(limit)
        let rows = try writer.transaction([query]).rows[0]
        return (0..<rows.count).contains { rows.integer($0, 0) != 0 }
    }

    func known(among ids: [KeyID], byPreKeys: Bool) throws(StoreError) -> Set<KeyID> {
        guard !ids.isEmpty else { return [] }
        var query = PostgresQuery("SELECT * FROM sotto.known($1, $2)")
        query.add(ids.map(\.publicKey))
        query.add(byPreKeys)
        let rows = try reader.rows(query)
        return Set((0..<rows.count).map { KeyID(publicKey: rows.bytes($0, 0)) })
    }

    func clock() throws(StoreError) -> StoredClock? {
        let rows = try reader.rows(PostgresQuery("SELECT * FROM sotto.clock()"))
        func column(_ column: Int32) -> [Int64] {
            (0..<rows.count).filter { !rows.isNull($0, column) }.map { rows.integer($0, column) }
        }
        // Behind PL/Proxy there is one row for each partition.
        guard let accepted = column(0).max() else { return nil }
        return StoredClock(
            accepted: accepted, held: column(1).max(), agreed: column(2).min() ?? 0,
            confirmed: column(3).max())
    }

    func remember(_ clock: StoredClock) throws(StoreError) {
        var query = PostgresQuery("SELECT sotto.remember($1, $2, $3)")
        query.add(clock.accepted)
        query.add(clock.held ?? -1)
        query.add(clock.agreed)
        _ = try writer.transaction([query])
    }

    func confirm(_ minute: Int64) throws(StoreError) {
        var query = PostgresQuery("SELECT sotto.confirm($1)")
        query.add(minute)
        _ = try writer.transaction([query])
    }
}
