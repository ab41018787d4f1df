import Glibc
import Sotto
import SottoState
import SottoWire
import Synchronization

/// The store in one SQLite file.
///
/// | table | what it is |
/// |---|---|
/// | `mailbox` | a public key, its small number, and how much waits there |
/// | `envelope` | what waits: `seq` is the order, `body` the envelope as it came |
/// | `seen` | for each id that a mailbox ever got: 16 bytes of the body's SHA-256, to know it again |
///
/// No row says who sent, and no time is finer than a minute.
final class SQLiteStore: Store {
    private let writer: DurableDatabase
    private let reader: DurableDatabase
    private let retention: Retention
    private let path: String
    private let reserve: UInt64
    private let lock: FileLock
    private let memory = Mutex(Memory())

    /// What the writer remembers between commits.
    private struct Memory {
        var mailboxes: [SessionID: MailboxRow] = [:]
        var nextSequence: Int64 = 1
        var sweptMailbox: Int64 = 0
        var sweptID: [UInt8] = []
    }

    /// A row of `mailbox`.
    private struct MailboxRow {
        let number: Int64
        var messages: Int64
        var bytes: Int64
    }

    /// How many mailboxes are remembered before all are forgotten.
    private static let remembered = 100_000

    /// Opens or makes the file at `path`, and keeps other relays from using it.
    init(path: String, retention: Retention) throws(StateError) {
        self.path = path
        self.retention = retention
        lock = try FileLock(path: path + "-lock")
        guard lock.lock(timeout: 2) else { throw .locked(what: "the store \(path)") }
        writer = try DurableDatabase(path: path, migrations: Self.migrations, lockTimeout: 10)
        reader = try DurableDatabase(path: path, migrations: Self.migrations, lockTimeout: 10)
        var space = statvfs()
        // Below this much free space new envelopes wait, so that taking some out still works.
        reserve =
            statvfs(path, &space) == 0
            ? min(16 << 20, UInt64(space.f_blocks) * UInt64(space.f_frsize) / 8) : 0
        // The log must find room in the reserve.
        let pages = min(4_000, max(16, reserve / 2 / 4_096))
        let last = try writer.use { connection throws(StateError) in
            try connection.run("PRAGMA wal_autocheckpoint = \(pages)")
            try connection.run("PRAGMA cache_size = -16384")
            return try connection.integer(
                "SELECT seq FROM sqlite_sequence WHERE name = 'envelope'")
        }
        memory.withLock { $0.nextSequence = last + 1 }
    }

    private static let migrations = [
        """
        CREATE TABLE mailbox (
            number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE,
            messages INTEGER NOT NULL, bytes INTEGER NOT NULL
        );
        CREATE TABLE envelope (
            seq INTEGER PRIMARY KEY AUTOINCREMENT, mailbox INTEGER NOT NULL, minute INTEGER NOT NULL,
            failures INTEGER NOT NULL, id BLOB NOT NULL, body BLOB NOT NULL
        );
        CREATE INDEX envelope_mailbox ON envelope (mailbox);
        CREATE TABLE seen (
            mailbox INTEGER NOT NULL, id BLOB NOT NULL, digest BLOB NOT NULL,
            seq INTEGER NOT NULL, minute INTEGER NOT NULL, PRIMARY KEY (mailbox, id)
        ) WITHOUT ROWID;
        """
    ]

    // MARK: Writing

    func commit(_ changes: [Change], at minute: Int64) throws(StateError) -> [Outcome] {
        if changes.contains(where: \.isStore), try isLow() {
            return try acknowledgeOnly(changes, at: minute)
        }
        do throws(StateError) {
            return try write(changes, at: minute)
        } catch .full {
            return try acknowledgeOnly(changes, at: minute)
        }
    }

    /// The changes on a full disk: envelopes are put off, acknowledgements are tried.
    private func acknowledgeOnly(_ changes: [Change], at minute: Int64) throws(StateError)
        -> [Outcome]
    {
        var outcomes = [Outcome](repeating: .diskFull, count: changes.count)
        let places = changes.indices.filter { !changes[$0].isStore }
        guard !places.isEmpty else { return outcomes }
        do throws(StateError) {
            for (place, outcome) in zip(places, try write(places.map { changes[$0] }, at: minute)) {
                outcomes[place] = outcome
            }
        } catch .full {}
        return outcomes
    }

    /// Whether so little space is left that new envelopes must wait.
    ///
    /// What is in the log needs room once more when it is folded into the file, so a log that would not find
    /// it is folded now, while it still can.
    private func isLow() throws(StateError) -> Bool {
        guard let free = Self.free(path) else { return false }
        var log = stat()
        let logBytes = stat(path + "-wal", &log) == 0 ? UInt64(log.st_size) : 0
        guard free < reserve + logBytes, logBytes > 0 else { return free < reserve }
        do throws(StateError) {
            try writer.use { connection throws(StateError) in
                try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
            }
        } catch .full {
            return true
        }
        return Self.free(path).map { $0 < reserve } ?? false
    }

    private static func free(_ path: String) -> UInt64? {
        var space = statvfs()
        guard statvfs(path, &space) == 0 else { return nil }
        return UInt64(space.f_bavail) * UInt64(space.f_frsize)
    }

    private func write(_ changes: [Change], at minute: Int64) throws(StateError) -> [Outcome] {
        try memory.withLock { memory throws(StateError) in
            // Worked on as a copy, which becomes the memory once the transaction is on disk.
            var sequence = memory.nextSequence
            var touched: [SessionID: MailboxRow] = [:]
            let outcomes = try writer.transaction { connection throws(StateError) in
                let change = Transaction(connection: connection, minute: minute)
                var outcomes: [Outcome] = []
                outcomes.reserveCapacity(changes.count)
                for item in changes {
                    let mailbox: SessionID
                    switch item {
                    case .store(let envelope): mailbox = envelope.to
                    case .acknowledge(let id, _, _): mailbox = id
                    }
                    var row: MailboxRow
                    if let found = touched[mailbox] ?? memory.mailboxes[mailbox] {
                        row = found
                    } else {
                        row = try Self.row(connection, mailbox)
                    }
                    switch item {
                    case .store(let envelope):
                        outcomes.append(
                            try store(envelope, &row, &sequence, change))
                    case .acknowledge(_, let ids, let handled):
                        for id in ids { try Self.acknowledge(id, handled, &row, change) }
                        outcomes.append(.acknowledged)
                    }
                    touched[mailbox] = row
                }
                for row in touched.values { try Self.update(connection, row) }
                return outcomes
            }
            memory.nextSequence = sequence
            if memory.mailboxes.count + touched.count > Self.remembered { memory.mailboxes = [:] }
            memory.mailboxes.merge(touched) { $1 }
            return outcomes
        }
    }

    /// A transaction and the minute that it writes.
    private struct Transaction {
        let connection: Connection
        let minute: Int64
    }

    private func store(
        _ envelope: AddressedEnvelope, _ row: inout MailboxRow, _ sequence: inout Int64,
        _ transaction: Transaction
    ) throws(StateError) -> Outcome {
        let connection = transaction.connection
        let id = EnvelopeID.bytes(envelope.id)
        let digest = Array(sha256(envelope.bytes)[..<16])
        let size = Int64(envelope.bytes.count)
        let isFull =
            row.messages >= retention.mailboxMessages
            || row.bytes + size > retention.mailboxBytes
        if !isFull {
            let mark = try connection.statement(
                """
                INSERT INTO seen (mailbox, id, digest, seq, minute) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING
                """)
            mark.bind(1, row.number)
            mark.bind(2, id)
            mark.bind(3, digest)
            mark.bind(4, sequence)
            mark.bind(5, transaction.minute)
            try mark.run()
        }
        guard !isFull, connection.changes == 1 else {
            let known = try connection.statement(
                "SELECT digest FROM seen WHERE mailbox = ? AND id = ?")
            defer { known.reset() }
            known.bind(1, row.number)
            known.bind(2, id)
            guard try known.step() else { return .mailboxFull }
            return known.bytes(0) == digest ? .duplicate : .conflict
        }
        let insert = try connection.statement(
            """
            INSERT INTO envelope (seq, mailbox, minute, failures, id, body)
            VALUES (?, ?, ?, 0, ?, ?)
            """)
        insert.bind(1, sequence)
        insert.bind(2, row.number)
        insert.bind(3, transaction.minute)
        insert.bind(4, id)
        insert.bind(5, envelope.bytes)
        try insert.run()
        sequence += 1
        row.messages += 1
        row.bytes += size
        return .stored
    }

    private static func acknowledge(
        _ id: String, _ handled: Request.Handled, _ row: inout MailboxRow,
        _ transaction: Transaction
    ) throws(StateError) {
        let connection = transaction.connection
        let find = try connection.statement(
            """
            SELECT envelope.seq, length(body) FROM seen JOIN envelope ON envelope.seq = seen.seq
            WHERE seen.mailbox = ? AND seen.id = ?
            """)
        find.bind(1, row.number)
        find.bind(2, EnvelopeID.bytes(id))
        guard try find.step() else { return find.reset() }
        let (sequence, size) = (find.integer(0), find.integer(1))
        find.reset()
        switch handled {
        case .delivered:
            let delete = try connection.statement("DELETE FROM envelope WHERE seq = ?")
            delete.bind(1, sequence)
            try delete.run()
            row.messages -= 1
            row.bytes -= size
        case .failed:
            let count = try connection.statement(
                "UPDATE envelope SET failures = failures + 1 WHERE seq = ?")
            count.bind(1, sequence)
            try count.run()
        }
    }

    private static func row(_ connection: Connection, _ mailbox: SessionID) throws(StateError)
        -> MailboxRow
    {
        let select = try connection.statement(
            "SELECT number, messages, bytes FROM mailbox WHERE key = ?")
        defer { select.reset() }
        select.bind(1, mailbox.publicKey)
        if try select.step() {
            return MailboxRow(
                number: select.integer(0), messages: select.integer(1), bytes: select.integer(2))
        }
        let insert = try connection.statement(
            "INSERT INTO mailbox (key, messages, bytes) VALUES (?, 0, 0)")
        insert.bind(1, mailbox.publicKey)
        try insert.run()
        return MailboxRow(number: connection.lastRow, messages: 0, bytes: 0)
    }

    private static func update(_ connection: Connection, _ row: MailboxRow) throws(StateError) {
        let update = try connection.statement(
            "UPDATE mailbox SET messages = ?, bytes = ? WHERE number = ?")
        update.bind(1, row.messages)
        update.bind(2, row.bytes)
        update.bind(3, row.number)
        try update.run()
    }

    // MARK: Reading

    func messages(in mailbox: SessionID, after: Int64, limit: Int, dead: Bool, at minute: Int64)
        throws(StateError) -> Page
    {
        try reader.use { connection throws(StateError) in
            let select = try connection.statement(
                """
                SELECT seq, id, body FROM envelope
                WHERE mailbox = (SELECT number FROM mailbox WHERE key = ?) AND seq > ?
                    AND (failures >= ?) = ? AND minute > ?
                ORDER BY seq LIMIT ?
                """)
            defer { select.reset() }
            select.bind(1, mailbox.publicKey)
            select.bind(2, after)
            select.bind(3, Int64(WireLimits.failures))
            select.bind(4, dead ? 1 : 0)
            select.bind(5, minute - retention.minutes)
            select.bind(6, Int64(limit + 1))
            var page = Page()
            var bytes = 0
            while try select.step() {
                let body = select.bytes(2)
                bytes += body.count
                if page.messages.count == limit
                    || bytes > WireLimits.fetchBytes && bytes > body.count
                {
                    page.hasMore = true
                    break
                }
                page.messages.append(
                    (
                        EnvelopeID.text(select.bytes(1)),
                        Delivered(sequence: select.integer(0), envelope: body)
                    ))
            }
            return page
        }
    }

    // MARK: Ageing

    func sweep(at minute: Int64) throws(StateError) -> Bool {
        try memory.withLock { memory throws(StateError) in
            let more = try writer.transaction { connection throws(StateError) in
                let expired = try expire(connection, until: minute - retention.minutes)
                let end = minute - retention.minutes - Retention.tombstoneMinutes
                let forgotten = try forget(connection, until: end, &memory)
                return expired || forgotten
            }
            // Counts changed behind the memory's back.
            memory.mailboxes = [:]
            return more
        }
    }

    private static let sweepRows: Int64 = 1_000

    /// Deletes the oldest envelopes up to a minute. Sequence numbers grow with time, so they are the first.
    private func expire(_ connection: Connection, until minute: Int64) throws(StateError) -> Bool {
        let oldest = try connection.statement(
            "SELECT seq, mailbox, length(body), minute FROM envelope ORDER BY seq LIMIT ?")
        oldest.bind(1, Self.sweepRows)
        var rows: [(sequence: Int64, mailbox: Int64, size: Int64)] = []
        while try oldest.step(), oldest.integer(3) <= minute {
            rows.append((oldest.integer(0), oldest.integer(1), oldest.integer(2)))
        }
        oldest.reset()
        for row in rows {
            let delete = try connection.statement("DELETE FROM envelope WHERE seq = ?")
            delete.bind(1, row.sequence)
            try delete.run()
            let count = try connection.statement(
                "UPDATE mailbox SET messages = messages - 1, bytes = bytes - ? WHERE number = ?")
            count.bind(1, row.size)
            count.bind(2, row.mailbox)
            try count.run()
        }
        return rows.count == Int(Self.sweepRows)
    }

    /// Goes on through `seen`, some rows at a time and round and round, deleting old ones: they need no
    /// index by time.
    private func forget(_ connection: Connection, until minute: Int64, _ memory: inout Memory)
        throws(StateError) -> Bool
    {
        let next = try connection.statement(
            """
            SELECT mailbox, id, minute FROM seen WHERE (mailbox, id) > (?, ?)
            ORDER BY mailbox, id LIMIT ?
            """)
        next.bind(1, memory.sweptMailbox)
        next.bind(2, memory.sweptID)
        next.bind(3, Self.sweepRows)
        var old: [(mailbox: Int64, id: [UInt8])] = []
        var count: Int64 = 0
        (memory.sweptMailbox, memory.sweptID) = (0, [])
        while try next.step() {
            count += 1
            if count == Self.sweepRows {
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
        return count == Self.sweepRows && !old.isEmpty
    }

    func close() throws(StateError) {
        try reader.close()
        try writer.use { connection throws(StateError) in
            try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try writer.close()
        lock.unlock()
    }
}

extension Change {
    fileprivate var isStore: Bool { if case .store = self { true } else { false } }
}
