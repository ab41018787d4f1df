import SottoState
import Synchronization

/// The deletion of old rows, a few at a time so that commits are not delayed.
extension SQLiteStore {
    /// The most rows that one sweep deletes from a table.
    static let sweepRows: Int64 = 1_000

    func sweep(at minute: Int64, latest: Int64, strangers: Bool) throws(StateError) -> Bool {
        try memory.withLock { memory throws(StateError) in
            let rows = memory.sweepRows
            do throws(StateError) {
                let more = try sweep(at: minute, latest, rows, strangers, &memory)
                if !more { memory.sweepRows = Self.sweepRows }
                return more
            } catch .full where rows > 1 {
                // A deletion writes too; fewer rows may fit into the log.
                try room.checkpoint(writer)
                memory.sweepRows = max(1, rows / 4)
                return true
            }
        }
    }

    private func sweep(
        at minute: Int64, _ latest: Int64, _ rows: Int64, _ strangers: Bool,
        _ memory: inout StoreMemory
    ) throws(StateError) -> Bool {
        let more = try writer.transaction { connection throws(StateError) in
            let until = minute - retention.minutes
            let expired = try expire(connection, until: until, rows)
            let found = try expireRound(
                connection, until: until, latest: latest, max(1, rows / 4), &memory)
            let emptied = try forgetMailboxes(connection, rows, &memory)
            let end = minute - retention.minutes - Retention.tombstoneMinutes
            let forgotten = try forget(
                connection, until: end, latest: latest, rows, &memory)
            let claims = try forgetClaims(
                connection, until: minute - Retention.claimMinutes, rows)
            let accounts = try Self.forgetAccounts(connection, at: minute, rows)
            let strangers =
                if strangers, let kept = retention.strangerMinutes {
                    try Self.forgetStrangers(connection, until: minute - kept, max(1, rows / 20))
                } else { false }
            return expired || found || emptied || forgotten || claims || accounts || strangers
        }
        // The sweep changed the counts that the memory caches.
        memory.mailboxes = [:]
        return more
    }

    /// Deletes the oldest envelopes up to a minute. With correct clocks the oldest have the lowest numbers.
    private func expire(_ connection: Connection, until minute: Int64, _ limit: Int64)
        throws(StateError) -> Bool
    {
        let first = try connection.statement(
            """
            SELECT seq, mailbox, length(body), minute, failures >= 5 FROM envelope
            ORDER BY seq LIMIT ?
            """)
        first.bind(1, limit)
        let rows = try Self.rows(first).rows.filter { $0.minute <= minute }
        for row in rows { try Self.delete(connection, row) }
        return rows.count == limit
    }

    /// Continues a cyclic scan of all envelopes: deletes envelopes that are too old, and sets times in the future to
    /// the current time. A wrong clock leaves both behind.
    private func expireRound(
        _ connection: Connection, until minute: Int64, latest: Int64, _ limit: Int64,
        _ memory: inout StoreMemory
    ) throws(StateError) -> Bool {
        let next = try connection.statement(
            """
            SELECT seq, mailbox, length(body), minute, failures >= 5 FROM envelope
            WHERE seq > ? ORDER BY seq LIMIT ?
            """)
        next.bind(1, memory.sweptSequence)
        next.bind(2, limit)
        let (rows, last) = try Self.rows(next)
        memory.sweptSequence = Int64(rows.count) == limit ? last : 0
        var count = 0
        for row in rows {
            if row.minute <= minute {
                try Self.delete(connection, row)
            } else if row.minute > latest + Self.futureMinutes {
                let update = try connection.statement(
                    "UPDATE envelope SET minute = ? WHERE seq = ?")
                update.bind(1, latest)
                update.bind(2, row.sequence)
                try update.run()
            } else {
                continue
            }
            count += 1
        }
        return count > 0 && Int64(rows.count) == limit
    }

    /// The tolerance, in minutes, for times in the future: the clocks of several relays differ.
    static let futureMinutes: Int64 = 24 * 60

    /// The columns of an envelope that the sweeps read.
    private struct SweptRow {
        let sequence: Int64
        let mailbox: Int64
        let size: Int64
        let minute: Int64
        let dead: Int64
    }

    /// Returns the rows of a statement, and the number of the last row.
    private static func rows(_ select: PreparedStatement) throws(StateError) -> (
        rows: [SweptRow], last: Int64
    ) {
        defer { select.reset() }
        var rows: [SweptRow] = []
        while try select.step() {
            rows.append(
                SweptRow(
                    sequence: select.integer(0), mailbox: select.integer(1),
                    size: select.integer(2), minute: select.integer(3), dead: select.integer(4)))
        }
        return (rows, rows.last?.sequence ?? 0)
    }

    private static func delete(_ connection: Connection, _ row: SweptRow) throws(StateError) {
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

    /// Continues a cyclic scan of all mailboxes: deletes those without an envelope, a known envelope id or an account.
    /// Their owners lose nothing.
    private func forgetMailboxes(
        _ connection: Connection, _ limit: Int64, _ memory: inout StoreMemory
    ) throws(StateError) -> Bool {
        let next = try connection.statement(
            """
            SELECT number, messages = 0 AND dead = 0
                AND NOT EXISTS (SELECT 1 FROM seen WHERE seen.mailbox = number)
                AND NOT EXISTS (SELECT 1 FROM account WHERE account.key = mailbox.key)
                AND NOT EXISTS (SELECT 1 FROM envelope WHERE envelope.mailbox = number)
            FROM mailbox WHERE number > ? ORDER BY number LIMIT ?
            """)
        next.bind(1, memory.sweptRow)
        next.bind(2, limit)
        var empty: [Int64] = []
        var count: Int64 = 0
        memory.sweptRow = 0
        while try next.step() {
            count += 1
            if count == limit { memory.sweptRow = next.integer(0) }
            if next.integer(1) != 0 { empty.append(next.integer(0)) }
        }
        next.reset()
        for number in empty {
            let delete = try connection.statement("DELETE FROM mailbox WHERE number = ?")
            delete.bind(1, number)
            try delete.run()
        }
        return count == limit && !empty.isEmpty
    }

    /// Continues a cyclic scan of `seen`: deletes old rows, and sets times in the future to the current time. The scan
    /// needs no index by time.
    private func forget(
        _ connection: Connection, until minute: Int64, latest: Int64, _ limit: Int64,
        _ memory: inout StoreMemory
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
        var future: [(mailbox: Int64, id: [UInt8])] = []
        var count: Int64 = 0
        (memory.sweptMailbox, memory.sweptID) = (0, [])
        while try next.step() {
            count += 1
            if count == limit {
                (memory.sweptMailbox, memory.sweptID) = (next.integer(0), next.bytes(1))
            }
            if next.integer(2) <= minute { old.append((next.integer(0), next.bytes(1))) }
            if next.integer(2) > latest + Self.futureMinutes {
                future.append((next.integer(0), next.bytes(1)))
            }
        }
        next.reset()
        for row in old {
            let delete = try connection.statement(
                "DELETE FROM seen WHERE mailbox = ? AND id = ?")
            delete.bind(1, row.mailbox)
            delete.bind(2, row.id)
            try delete.run()
        }
        for row in future {
            let update = try connection.statement(
                "UPDATE seen SET minute = ? WHERE mailbox = ? AND id = ?")
            update.bind(1, latest)
            update.bind(2, row.mailbox)
            update.bind(3, row.id)
            try update.run()
        }
        return count == limit && !(old.isEmpty && future.isEmpty)
    }

    /// Deletes the oldest claims up to a minute, and then the superseded signed prekeys that no claim can name any
    /// more.
    private func forgetClaims(_ connection: Connection, until minute: Int64, _ limit: Int64)
        throws(StateError) -> Bool
    {
        let claims = try connection.statement(
            """
            DELETE FROM prekey_claim WHERE number IN (
                SELECT number FROM prekey_claim WHERE minute <= ?1 ORDER BY minute LIMIT ?2
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
