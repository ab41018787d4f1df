import Glibc
import Sotto
import SottoDatabase
import SottoWire
import Synchronization

/// The store in one SQLite file; ``migrations`` describes its tables.
///
/// ``StoreTransaction`` writes, `StoreExpiry.swift` deletes old rows, and ``DiskSpace`` keeps the store within its
/// disk.
final class SQLiteStore: CopyableStore {
    let writer: DurableDatabase
    let reader: DurableDatabase
    let retention: Retention
    let memory = Mutex(StoreMemory())
    let room: DiskSpace
    /// The lock of a relay, which uses the store alone; `nil` for a program that only changes accounts.
    private let lock: FileLock?

    /// The number of cached mailbox rows at which the cache is cleared.
    private static let remembered = 100_000

    /// Opens or creates the file at `path`, and locks out other relays unless `isExclusive` is false; then only
    /// accounts and invitations may be changed.
    init(path: String, retention: Retention, isExclusive: Bool = true) throws(StoreError) {
        self.retention = retention
        do throws(DatabaseError) {
            lock = isExclusive ? try FileLock(path: path + "-lock") : nil
            if let lock, !lock.lock(timeout: 2) { throw .locked(what: "the store \(path)") }
            writer = try Self.open(path)
            reader = try Self.open(path)
        } catch {
            throw StoreError(error)
        }
        room = DiskSpace(path: path)
        // The log must fit into the reserve.
        let pages = min(4_000, max(16, room.reserve / 2 / 4_096))
        writer.checkpointLog(atPages: Int(pages))
        let last = try writer.use { connection throws(StoreError) in
            try connection.integer(
                "SELECT seq FROM sqlite_sequence WHERE name = 'envelope'")
        }
        memory.withLock { $0.nextSequence = last + 1 }
    }

    private static func open(_ path: String) throws(DatabaseError) -> DurableDatabase {
        try DurableDatabase(path: path, kind: kind, migrations: migrations, lockTimeout: 10)
    }

    // MARK: Writing

    func commit(_ changes: [Change], at minute: Int64) throws(StoreError) -> [Outcome] {
        var outcomes: [Outcome] = []
        outcomes.reserveCapacity(changes.count)
        var rest = changes[...]
        while !rest.isEmpty {
            let some = Array(rest.prefix(try room.count(of: rest, in: writer)))
            guard !some.isEmpty else {
                return outcomes + (try writeWhatNeedsNoRoom(Array(rest), at: minute))
            }
            do throws(StoreError) {
                outcomes += try write(some, at: minute)
            } catch .full {
                outcomes += try writeWhatNeedsNoRoom(some, at: minute)
            }
            rest = rest.dropFirst(some.count)
        }
        return outcomes
    }

    /// Applies changes on a full disk: those that need space are deferred, acknowledgements are tried.
    private func writeWhatNeedsNoRoom(_ changes: [Change], at minute: Int64) throws(StoreError)
        -> [Outcome]
    {
        var outcomes = [Outcome](repeating: .diskFull, count: changes.count)
        let places = changes.indices.filter { changes[$0].growth == 0 }
        guard !places.isEmpty else { return outcomes }
        do throws(StoreError) {
            for (place, outcome) in zip(places, try write(places.map { changes[$0] }, at: minute)) {
                outcomes[place] = outcome
            }
        } catch .full {
            // Together they do not fit into the log.
            for place in places { outcomes[place] = try acknowledge(changes[place], at: minute) }
        }
        return outcomes
    }

    /// Applies an acknowledgement on a full disk, in parts if the whole does not fit into the log.
    ///
    /// Debian's SQLite overwrites deleted data, so deleting is writing too.
    private func acknowledge(_ change: Change, at minute: Int64) throws(StoreError) -> Outcome {
        try room.checkpoint(writer)
        do throws(StoreError) {
            return try write([change], at: minute)[0]
        } catch .full {
            guard case .acknowledge(let mailbox, let ids, let handled) = change, ids.count > 1
            else { return .diskFull }
            var sum = 0
            for part in [ids.prefix(ids.count / 2), ids.dropFirst(ids.count / 2)] {
                let outcome = try acknowledge(
                    .acknowledge(mailbox, ids: Array(part), handled), at: minute)
                guard case .acknowledged(let removed) = outcome else { return outcome }
                sum += removed
            }
            return .acknowledged(removed: sum)
        }
    }

    private func write(_ changes: [Change], at minute: Int64) throws(StoreError) -> [Outcome] {
        let isScarce = room.isScarce
        return try memory.withLock { memory throws(StoreError) in
            // Copies are changed; they become the cache once the transaction is on disk.
            var sequence = memory.nextSequence
            var touched: [KeyID: MailboxRow] = [:]
            let outcomes = try writer.transaction { connection throws(StoreError) in
                let transaction = StoreTransaction(
                    connection: connection, minute: minute, retention: retention,
                    isScarce: isScarce)
                var outcomes: [Outcome] = []
                outcomes.reserveCapacity(changes.count)
                for change in changes {
                    guard let mailbox = change.mailbox else {
                        outcomes.append(try transaction.apply(change))
                        continue
                    }
                    var row: MailboxRow
                    if let found = touched[mailbox] ?? memory.mailboxes[mailbox] {
                        row = found
                    } else if let found = try transaction.row(
                        of: mailbox, makes: change.growth > 0)
                    {
                        row = found
                    } else {
                        outcomes.append(change.growth > 0 ? .diskFull : .acknowledged(removed: 0))
                        continue
                    }
                    outcomes.append(try transaction.apply(change, &row, &sequence))
                    touched[mailbox] = row
                }
                for row in touched.values { try transaction.update(row) }
                return outcomes
            }
            memory.nextSequence = sequence
            if memory.mailboxes.count + touched.count > Self.remembered { memory.mailboxes = [:] }
            memory.mailboxes.merge(touched) { $1 }
            return outcomes
        }
    }

    // MARK: Reading

    func messages(
        in mailbox: KeyID, after: Int64, limit: Int, dead: Bool, at minute: Int64, second: Int64
    )
        throws(StoreError) -> Page
    {
        try reader.use { connection throws(StoreError) in
            let select = try connection.statement(
                """
                SELECT seq, id, body FROM envelope
                WHERE mailbox = (SELECT number FROM mailbox WHERE key = ?) AND seq > ?
                    AND \(dead ? "failures >= 5" : "failures < 5") AND minute > ?
                    AND (until IS NULL OR until > ?)
                ORDER BY seq LIMIT ?
                """, mailbox.publicKey, after, minute - retention.minutes, second,
                Int64(limit + 1))
            defer { select.reset() }
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
                        UUIDText.text(select.bytes(1)[...]),
                        Delivered(sequence: select.integer(0), envelope: body)
                    ))
            }
            return page
        }
    }

    func openBlobs(_ limits: BlobLimits) throws(StoreError) -> (any BlobStore)? {
        try FileBlobs(folder: StoreFile.blobs(of: writer.path), limits: limits)
    }

    func close() throws(StoreError) {
        do throws(DatabaseError) {
            try reader.close()
            do throws(DatabaseError) {
                try writer.use { connection throws(DatabaseError) in
                    try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
                }
            } catch .full {
                // The log is kept with all its data; a later start checkpoints it.
            }
            try writer.close()
        } catch {
            throw StoreError(error)
        }
        lock?.unlock()
    }
}

/// The state of the writer between commits.
struct StoreMemory {
    var mailboxes: [KeyID: MailboxRow] = [:]
    var nextSequence: Int64 = 1
    var sweepRows = SQLiteStore.sweepRows
    var sweptMailbox: Int64 = 0
    var sweptID: [UInt8] = []
    /// The positions of the cyclic scans of all mailboxes and all envelopes.
    var sweptRow: Int64 = 0
    var sweptSequence: Int64 = 0
}
