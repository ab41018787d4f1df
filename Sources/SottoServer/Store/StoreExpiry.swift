import SottoDatabase
import Synchronization

/// The deletion of old rows, a few at a time so that commits are not delayed.
extension SQLiteStore {
    /// The most rows that one sweep deletes from a table.
    static let sweepRows: Int64 = 1_000

    func sweep(at minute: Int64, second: Int64, latest: Int64, strangers: Bool)
        throws(StoreError) -> Bool
    {
        try memory.withLock { memory throws(StoreError) in
            let rows = memory.sweepRows
            do throws(StoreError) {
                let more = try sweep(at: minute, second, latest, rows, strangers, &memory)
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
        at minute: Int64, _ second: Int64, _ latest: Int64, _ rows: Int64, _ strangers: Bool,
        _ memory: inout StoreMemory
    ) throws(StoreError) -> Bool {
        let more = try writer.transaction { connection throws(StoreError) in
            let until = minute - retention.minutes
            let expired = try expire(connection, until: until, rows)
            let ended = try expire(connection, at: second, rows)
            let found = try expireRound(
                connection, until: until, latest: latest, max(1, rows / 4), &memory)
            let emptied = try forgetMailboxes(connection, rows, &memory)
            let end = minute - retention.minutes - Retention.tombstoneMinutes
            let forgotten = try forget(
                connection, until: end, latest: latest, rows, &memory)
            let claims = try forgetClaims(
                connection, until: minute - Retention.claimMinutes, rows)
            let accounts = try Self.forgetAccounts(connection, at: minute, rows)
            let rooms = try Self.forgetRooms(connection, at: minute, rows)
            let meetings = try Self.forgetMeetings(connection, at: second, rows)
            let wakes = try Self.forgetWakes(connection, at: minute, latest: latest, rows)
            let instances = try Self.forgetInstances(connection, at: minute, latest: latest, rows)
            let strangers =
                if strangers, let kept = retention.strangerMinutes {
                    try Self.forgetStrangers(connection, until: minute - kept, max(1, rows / 20))
                } else { false }
            return expired || ended || found || emptied || forgotten || claims || accounts
                || rooms || meetings || wakes || instances || strangers
        }
        // The sweep changed the counts that the memory caches.
        memory.mailboxes = [:]
        return more
    }

    /// Deletes the oldest envelopes up to a minute. With correct clocks the oldest have the lowest numbers.
    private func expire(_ connection: StoreConnection, until minute: Int64, _ limit: Int64)
        throws(StoreError) -> Bool
    {
        let rows = try connection.rows(
            "SELECT \(SweptRow.columns) FROM envelope ORDER BY seq LIMIT ?", limit,
            read: SweptRow.init
        ).filter { $0.minute <= minute }
        for row in rows { try Self.delete(connection, row) }
        return rows.count == limit
    }

    /// Deletes envelopes whose time to live has ended.
    private func expire(_ connection: StoreConnection, at second: Int64, _ limit: Int64)
        throws(StoreError) -> Bool
    {
        let rows = try connection.rows(
            "SELECT \(SweptRow.columns) FROM envelope WHERE until <= ? ORDER BY until LIMIT ?",
            second, limit, read: SweptRow.init)
        for row in rows { try Self.delete(connection, row) }
        return rows.count == limit
    }

    /// Continues a cyclic scan of all envelopes: deletes envelopes that are too old, and sets times in the future to
    /// the current time. A wrong clock leaves both behind.
    private func expireRound(
        _ connection: StoreConnection, until minute: Int64, latest: Int64, _ limit: Int64,
        _ memory: inout StoreMemory
    ) throws(StoreError) -> Bool {
        let rows = try connection.rows(
            "SELECT \(SweptRow.columns) FROM envelope WHERE seq > ? ORDER BY seq LIMIT ?",
            memory.sweptSequence, limit, read: SweptRow.init)
        memory.sweptSequence = Int64(rows.count) == limit ? rows.last?.sequence ?? 0 : 0
        var count = 0
        for row in rows {
            if row.minute <= minute {
                try Self.delete(connection, row)
            } else if row.minute > latest + Self.futureMinutes {
                try connection.run(
                    "UPDATE envelope SET minute = ? WHERE seq = ?", latest, row.sequence)
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
        static let columns = "seq, mailbox, length(body), minute, failures >= 5"

        let sequence: Int64
        let mailbox: Int64
        let size: Int64
        let minute: Int64
        let dead: Int64

        init(_ row: PreparedStatement<StoreError>) {
            sequence = row.integer(0)
            mailbox = row.integer(1)
            size = row.integer(2)
            minute = row.integer(3)
            dead = row.integer(4)
        }
    }

    private static func delete(_ connection: StoreConnection, _ row: SweptRow) throws(StoreError) {
        try connection.run("DELETE FROM envelope WHERE seq = ?", row.sequence)
        try connection.run(
            """
            UPDATE mailbox SET messages = messages - (1 - ?1), bytes = bytes - (1 - ?1) * ?2,
                dead = dead - ?1, dead_bytes = dead_bytes - ?1 * ?2
            WHERE number = ?3
            """, row.dead, row.size, row.mailbox)
    }

    /// Continues a cyclic scan of all mailboxes: deletes those without an envelope, a known envelope id or an account.
    /// Their owners lose nothing.
    private func forgetMailboxes(
        _ connection: StoreConnection, _ limit: Int64, _ memory: inout StoreMemory
    ) throws(StoreError) -> Bool {
        let rows = try connection.rows(
            """
            SELECT number, messages = 0 AND dead = 0
                AND NOT EXISTS (SELECT 1 FROM seen WHERE seen.mailbox = number)
                AND NOT EXISTS (SELECT 1 FROM account WHERE account.key = mailbox.key)
                AND NOT EXISTS (SELECT 1 FROM envelope WHERE envelope.mailbox = number)
            FROM mailbox WHERE number > ? ORDER BY number LIMIT ?
            """, memory.sweptRow, limit
        ) { (number: $0.integer(0), isEmpty: $0.integer(1) != 0) }
        let isPartial = Int64(rows.count) == limit
        memory.sweptRow = isPartial ? rows.last?.number ?? 0 : 0
        let empty = rows.filter(\.isEmpty)
        for row in empty {
            try connection.run("DELETE FROM mailbox WHERE number = ?", row.number)
        }
        return isPartial && !empty.isEmpty
    }

    /// Continues a cyclic scan of `seen`: deletes old rows, and sets times in the future to the current time. The scan
    /// needs no index by time.
    private func forget(
        _ connection: StoreConnection, until minute: Int64, latest: Int64, _ limit: Int64,
        _ memory: inout StoreMemory
    ) throws(StoreError) -> Bool {
        let rows = try connection.rows(
            """
            SELECT mailbox, id, minute FROM seen WHERE (mailbox, id) > (?, ?)
            ORDER BY mailbox, id LIMIT ?
            """, memory.sweptMailbox, memory.sweptID, limit
        ) { (mailbox: $0.integer(0), id: $0.bytes(1), minute: $0.integer(2)) }
        let isPartial = Int64(rows.count) == limit
        (memory.sweptMailbox, memory.sweptID) =
            if isPartial, let last = rows.last { (last.mailbox, last.id) } else { (0, []) }
        var count = 0
        for row in rows {
            if row.minute <= minute {
                try connection.run(
                    "DELETE FROM seen WHERE mailbox = ? AND id = ?", row.mailbox, row.id)
            } else if row.minute > latest + Self.futureMinutes {
                try connection.run(
                    "UPDATE seen SET minute = ? WHERE mailbox = ? AND id = ?", latest,
                    row.mailbox, row.id)
            } else {
                continue
            }
            count += 1
        }
        return isPartial && count > 0
    }

    /// Deletes the oldest claims up to a minute, and then the superseded signed prekeys that no claim can name any
    /// more.
    private func forgetClaims(_ connection: StoreConnection, until minute: Int64, _ limit: Int64)
        throws(StoreError) -> Bool
    {
        try connection.run(
            """
            DELETE FROM prekey_claim WHERE number IN (
                SELECT number FROM prekey_claim WHERE minute <= ?1 ORDER BY minute LIMIT ?2
            )
            """, minute, limit)
        guard connection.changes < limit else { return true }
        try connection.run(
            "DELETE FROM prekey_signed WHERE superseded <= ?", minute)
        return false
    }
}
