import SottoState
import Synchronization

/// How a store lets go of what is too old, some rows at a time so that commits get between.
extension SQLiteStore {
    /// The most rows that one sweep deletes from a table.
    static let sweepRows: Int64 = 1_000

    func sweep(at minute: Int64, strangers: Bool) throws(StateError) -> Bool {
        try memory.withLock { memory throws(StateError) in
            let rows = memory.sweepRows
            do throws(StateError) {
                let more = try sweep(at: minute, rows, strangers, &memory)
                if !more { memory.sweepRows = Self.sweepRows }
                return more
            } catch .full where rows > 1 {
                // Deleting is writing too, and fewer rows may find room in the log.
                try room.fold(writer)
                memory.sweepRows = max(1, rows / 4)
                return true
            }
        }
    }

    private func sweep(
        at minute: Int64, _ rows: Int64, _ strangers: Bool, _ memory: inout StoreMemory
    )
        throws(StateError) -> Bool
    {
        let more = try writer.transaction { connection throws(StateError) in
            let expired = try expire(connection, until: minute - retention.minutes, rows)
            let end = minute - retention.minutes - Retention.tombstoneMinutes
            let forgotten = try forget(connection, until: end, rows, &memory)
            let until = minute - Retention.claimMinutes
            let claims = try forgetClaims(connection, until: until, rows)
            let accounts = try Self.forgetAccounts(connection, at: minute, rows)
            let strangers =
                if strangers, let kept = retention.strangerMinutes {
                    try Self.forgetStrangers(connection, until: minute - kept, max(1, rows / 20))
                } else { false }
            return expired || forgotten || claims || accounts || strangers
        }
        // Counts changed behind the memory's back.
        memory.mailboxes = [:]
        return more
    }

    /// Deletes the oldest envelopes up to a minute. Sequence numbers grow with time, so they are the first.
    private func expire(_ connection: Connection, until minute: Int64, _ limit: Int64)
        throws(StateError) -> Bool
    {
        let oldest = try connection.statement(
            """
            SELECT seq, mailbox, length(body), minute, failures >= 5 FROM envelope
            ORDER BY seq LIMIT ?
            """)
        oldest.bind(1, limit)
        var rows: [(sequence: Int64, mailbox: Int64, size: Int64, dead: Int64)] = []
        while try oldest.step(), oldest.integer(3) <= minute {
            rows.append(
                (oldest.integer(0), oldest.integer(1), oldest.integer(2), oldest.integer(4)))
        }
        oldest.reset()
        for row in rows {
            let delete = try connection.statement("DELETE FROM envelope WHERE seq = ?")
            delete.bind(1, row.sequence)
            try delete.run()
            let count = try connection.statement(
                """
                UPDATE mailbox SET messages = messages - (1 - ?1), bytes = bytes - (1 - ?1) * ?2,
                    dead = dead - ?1, dead_bytes = dead_bytes - ?1 * ?2
                WHERE number = ?3
                """)
            count.bind(1, row.dead)
            count.bind(2, row.size)
            count.bind(3, row.mailbox)
            try count.run()
        }
        return rows.count == limit
    }

    /// Goes on through `seen`, some rows at a time and round and round, deleting old ones: they need no
    /// index by time.
    private func forget(
        _ connection: Connection, until minute: Int64, _ limit: Int64, _ memory: inout StoreMemory
    ) throws(StateError) -> Bool {
        let next = try connection.statement(
            """
            SELECT mailbox, id, minute FROM seen WHERE (mailbox, id) > (?, ?)
            ORDER BY mailbox, id LIMIT ?
            """)
        next.bind(1, memory.sweptMailbox)
        next.bind(2, memory.sweptID)
        next.bind(3, limit)
        var old: [(mailbox: Int64, id: [UInt8])] = []
        var count: Int64 = 0
        (memory.sweptMailbox, memory.sweptID) = (0, [])
        while try next.step() {
            count += 1
            if count == limit {
                (memory.sweptMailbox, memory.sweptID) = (next.integer(0), next.bytes(1))
            }
            if next.integer(2) <= minute { old.append((next.integer(0), next.bytes(1))) }
        }
        next.reset()
        for row in old {
            let delete = try connection.statement(
                "DELETE FROM seen WHERE mailbox = ? AND id = ?")
            delete.bind(1, row.mailbox)
            delete.bind(2, row.id)
            try delete.run()
        }
        return count == limit && !old.isEmpty
    }

    /// Deletes the oldest claims up to a minute, and signed prekeys that none can name any more.
    private func forgetClaims(_ connection: Connection, until minute: Int64, _ limit: Int64)
        throws(StateError) -> Bool
    {
        let claims = try connection.statement(
            """
            DELETE FROM prekey_claim WHERE minute <= ?1 AND number IN (
                SELECT number FROM prekey_claim ORDER BY number LIMIT ?2
            )
            """)
        claims.bind(1, minute)
        claims.bind(2, limit)
        try claims.run()
        guard connection.changes < limit else { return true }
        let signed = try connection.statement(
            "DELETE FROM prekey_signed WHERE superseded <= ?")
        signed.bind(1, minute)
        try signed.run()
        return false
    }
}
