public import Sotto
public import SottoDatabase
import Synchronization

/// The items that wait to be sent, in the file `outbox.db`: a queue for each relay. Any number of processes add to it.
/// For each relay one process at a time, the holder of ``lock(of:)``, sends from it. An item is overwritten after its
/// delivery.
public final class Outbox: Sendable {
    /// An envelope to send, or a record that its owner publishes.
    public struct Item: Sendable {
        /// The kind of an item.
        public enum Kind: Int64, Sendable {
            /// An envelope.
            case envelope = 0
            /// A publication of prekeys.
            case prekeys = 1
            /// A card, or an answer to a login key.
            case record = 2
            /// An envelope with a time to live of 0. It is never in the outbox.
            case signal = 3
            /// A blob, whose file is in ``BlobFolder``.
            case blob = 4
        }

        /// The kind of the item.
        public let kind: Kind
        /// The envelope's id; for a publication, its owner's id; for a blob, its id in hex.
        public let id: String
        /// The envelope's recipient; for a publication, its owner; for a blob, the mailbox that counts it.
        public let to: String
        /// The record on one line.
        public let envelope: [UInt8]
        /// The time after which the item is not sent, or `nil`.
        public let expires: Timestamp?

        /// The id of the blob that the relay must have before the envelope, or `nil`.
        public let needs: String?

        /// Creates an item.
        public init(
            id: String, to: String, envelope: [UInt8], kind: Kind = .envelope,
            expires: Timestamp? = nil, needs: String? = nil
        ) {
            self.kind = kind
            self.id = id
            self.to = to
            self.envelope = envelope
            self.expires = expires
            self.needs = needs
        }
    }

    private let database: DurableDatabase
    private let path: String
    private let lockPath: String
    /// Identifies the items of this process.
    private let owner = Envelope.newID()
    /// When the log was last emptied, by the monotonic clock in seconds.
    private let logEmptied = Mutex(-Double.infinity)
    /// The least seconds between two times at which the log is emptied.
    private static let logInterval = 10.0

    /// Opens or creates the outbox in `directory`.
    public init(directory: StateDirectory, lockTimeout: Double) throws(StateError) {
        database = try Self.database(in: directory, lockTimeout: lockTimeout)
        path = directory.file("outbox.db")
        lockPath = directory.file("outbox.lock")
        // Outcomes that were never collected because their process was killed.
        try database.use { connection throws(StateError) in
            try connection.run(
                "DELETE FROM outbox WHERE outcome IS NOT NULL AND day < ?",
                Timestamp.now().seconds / 86_400 - 1)
            try connection.run(
                "DELETE FROM outcome WHERE day < ?",
                Timestamp.now().seconds / 86_400 - Self.outcomeDays)
        }
    }

    /// The schema, by version. A later version adds a script; a released script never changes.
    static let migrations = [
        """
        CREATE TABLE outbox (
            number INTEGER PRIMARY KEY AUTOINCREMENT, relay TEXT NOT NULL, owner TEXT,
            day INTEGER NOT NULL, kind INTEGER NOT NULL, id TEXT NOT NULL,
            recipient TEXT NOT NULL, envelope BLOB, expires INTEGER, needs TEXT, outcome TEXT,
            holder INTEGER, held INTEGER
        );
        CREATE INDEX outbox_blob ON outbox (id) WHERE kind = 4;
        CREATE INDEX outbox_needs ON outbox (needs) WHERE needs IS NOT NULL;
        CREATE INDEX outbox_waiting ON outbox (relay, number) WHERE kind = 4 AND outcome IS NULL;
        CREATE INDEX outbox_held ON outbox (holder) WHERE held IS NOT NULL;
        CREATE TABLE outcome (
            id TEXT PRIMARY KEY, outcome TEXT NOT NULL, day INTEGER NOT NULL
        ) WITHOUT ROWID;
        """
    ]

    /// The kind of the file: `SoOu` in ASCII.
    private static let fileKind: Int32 = 0x536F_4F75

    /// Opens or creates the file of the outbox in `directory`.
    static func database(
        in directory: StateDirectory, lockTimeout: Double
    ) throws(StateError) -> DurableDatabase {
        try directory.database(
            "outbox.db", kind: fileKind, migrations: migrations, lockTimeout: lockTimeout)
    }

    /// Returns the lock of a relay's queue, not taken. The process that holds it sends. Its offset is a hash of the
    /// relay; two relays with one offset would only wait for each other.
    public func lock(of relay: String) throws(StateError) -> RangeLock {
        let digest = sha256(Array(relay.utf8))
        let offset = digest.prefix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) } & (1 << 62 - 1)
        do throws(DatabaseError) {
            return try RangeLock(path: lockPath, offset: offset)
        } catch {
            throw .database(error)
        }
    }

    /// Adds items for a relay in one transaction, durable when this returns. Returns their numbers, which increase in
    /// the order of sending. `relay` is the relay's full address. No item may be a ``Item/Kind/signal``.
    public func append(_ items: [Item], relay: String) throws(StateError) -> [Int64] {
        precondition(items.allSatisfy { $0.kind != .signal })
        guard !items.isEmpty else { return [] }
        return try database.transaction { connection throws(StateError) in
            let day = Timestamp.now().seconds / 86_400
            var numbers: [Int64] = []
            for item in items {
                try connection.run(
                    """
                    INSERT INTO outbox
                        (relay, owner, day, id, recipient, envelope, kind, expires, needs)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """, relay, owner, day, item.id, item.to, item.envelope, item.kind.rawValue,
                    item.expires?.seconds, item.needs)
                numbers.append(connection.lastRow)
            }
            return numbers
        }
    }

    /// Adds items whose relay is not known yet, in one transaction, durable when this returns. ``assign(_:to:)`` gives
    /// them a relay. Items that wait there already are not added again. No item may be a ``Item/Kind/signal``.
    public func append(unassigned items: [Item]) throws(StateError) {
        precondition(items.allSatisfy { $0.kind != .signal })
        try database.transaction { connection throws(StateError) in
            let day = Timestamp.now().seconds / 86_400
            for item in items {
                try connection.run(
                    """
                    INSERT INTO outbox (relay, day, id, recipient, envelope, kind, expires, needs)
                    SELECT '', ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS
                        (SELECT 1 FROM outbox WHERE relay = '' AND id = ?2 AND kind = ?5)
                    """, day, item.id, item.to, item.envelope, item.kind.rawValue,
                    item.expires?.seconds, item.needs)
            }
        }
    }

    /// Moves the items without a relay to the queue of `relay`: those for the recipients of `items`, or all for `nil`, with
    /// the blobs that they need. An item of `items` itself is removed, because it is sent now. Returns whether items
    /// were moved.
    public func assign(_ relay: String, to items: [Item]? = nil) throws(StateError) -> Bool {
        guard
            try !read("SELECT 1 FROM outbox WHERE relay = '' LIMIT 1", row: { $0.integer(0) })
                .isEmpty
        else { return false }
        return try database.transaction { connection throws(StateError) in
            guard let items else {
                try connection.run(
                    "UPDATE outbox SET relay = ? WHERE relay = ''", relay)
                return connection.changes > 0
            }
            var count = 0
            for item in items where item.kind == .envelope || item.kind == .blob {
                try connection.run(
                    "DELETE FROM outbox WHERE relay = '' AND id = ? AND kind = ?", item.id,
                    item.kind.rawValue)
                guard item.kind == .envelope else { continue }
                try connection.run(
                    """
                    UPDATE outbox SET relay = ?1 WHERE relay = '' AND kind = 4 AND id IN
                        (SELECT needs FROM outbox WHERE relay = '' AND kind = 0 AND recipient = ?2)
                    """, relay, item.to)
                try connection.run(
                    """
                    UPDATE outbox SET relay = ?1
                    WHERE relay = '' AND kind = 0 AND recipient = ?2
                    """, relay, item.to)
                count += connection.changes
            }
            return count > 0
        }
    }

    /// Returns the first waiting items for a relay after a number, at most `limit`, except blobs, the envelopes that need a
    /// waiting blob, and those that are held.
    public func waiting(relay: String, after number: Int64, limit: Int) throws(StateError)
        -> [(number: Int64, item: Item)]
    {
        try database.use { connection throws(StateError) in
            try connection.rows(
                """
                SELECT number, id, recipient, envelope, kind, expires FROM outbox
                WHERE relay = ? AND number > ? AND outcome IS NULL AND held IS NULL AND kind != 4
                    AND (needs IS NULL OR NOT EXISTS (SELECT 1 FROM outbox AS blob
                        WHERE blob.kind = 4 AND blob.id = outbox.needs AND blob.outcome IS NULL))
                ORDER BY number LIMIT ?
                """, relay, number, limit
            ) { row throws(StateError) in (row.integer(0), try item(row)) }
        }
    }

    /// Returns the highest number of an item, or 0.
    public func lastNumber() throws(StateError) -> Int64 {
        try read("SELECT max(number) FROM outbox") { $0.isNull(0) ? 0 : $0.integer(0) }[0]
    }

    /// Returns the first waiting blobs for a relay, at most `limit`, oldest first.
    public func blobs(
        relay: String, limit: Int
    ) throws(StateError) -> [(number: Int64, item: Item)] {
        try read(
            """
            SELECT number, id, recipient, envelope, kind, expires FROM outbox
            WHERE relay = ? AND outcome IS NULL AND kind = 4 ORDER BY number LIMIT ?
            """, relay, limit
        ) { row throws(StateError) in (row.integer(0), try item(row)) }
    }

    /// Returns the waiting envelopes that need a blob: those for a relay that are not held, or for `nil` all.
    public func items(
        needing blob: String, relay: String?
    ) throws(StateError) -> [(number: Int64, item: Item)] {
        try read(
            """
            SELECT number, id, recipient, envelope, kind, expires FROM outbox
            WHERE needs = ?1 AND needs IS NOT NULL AND outcome IS NULL
                AND (?2 IS NULL OR relay = ?2 AND held IS NULL)
            ORDER BY number
            """, blob, relay
        ) { row throws(StateError) in (row.integer(0), try item(row)) }
    }

    /// Returns the other relays that do not have the blobs yet which envelopes for a relay need.
    package func relaysOfBlobs(neededAt relay: String) throws(StateError) -> Set<String> {
        Set(
            try read(
                """
                SELECT DISTINCT blob.relay FROM outbox JOIN outbox AS blob
                    ON blob.kind = 4 AND blob.id = outbox.needs AND blob.outcome IS NULL
                WHERE outbox.relay = ?1 AND outbox.outcome IS NULL AND blob.relay != ?1
                """, relay
            ) { $0.text(0) })
    }

    /// Returns the numbers of the items for a relay.
    package func numbers(relay: String) throws(StateError) -> Set<Int64> {
        Set(try read("SELECT number FROM outbox WHERE relay = ?", relay) { $0.integer(0) })
    }

    /// Reads an item. Throws for an unknown kind, because it tells how the item is sent.
    private func item(_ row: PreparedStatement<StateError>) throws(StateError) -> Item {
        guard let kind = Item.Kind(rawValue: row.integer(4)) else {
            throw .unknownItem(id: row.text(1))
        }
        return Item(
            id: row.text(1), to: row.text(2), envelope: row.bytes(3), kind: kind,
            expires: row.isNull(5) ? nil : Timestamp(seconds: row.integer(5)))
    }

    /// Removes items whose outcome is known. For an item of another process, the outcome is stored for it. The outcome of
    /// an envelope is kept for the history, see ``outcomes()``.
    public func settle(_ outcomes: [(number: Int64, outcome: String)]) throws(StateError) {
        guard !outcomes.isEmpty else { return }
        try database.transaction { connection throws(StateError) in
            let day = Timestamp.now().seconds / 86_400
            for (number, outcome) in outcomes {
                try connection.run(
                    """
                    INSERT OR REPLACE INTO outcome (id, outcome, day)
                    SELECT id, ?, ? FROM outbox WHERE number = ? AND kind = 0
                    """, outcome, day, number)
                try connection.run(
                    "DELETE FROM outbox WHERE number = ? AND (owner IS NULL OR owner = ?)", number,
                    owner)
                guard connection.changes == 0 else { continue }
                try connection.run(
                    "UPDATE outbox SET envelope = NULL, outcome = ? WHERE number = ?", outcome,
                    number)
            }
        }
        try emptyLog()
    }

    /// Empties the log after the last waiting item, so that no delivered envelope stays in it while this process runs.
    private func emptyLog() throws(StateError) {
        let now = Monotonic.seconds()
        guard logEmptied.withLock({ now - $0 >= Self.logInterval }) else { return }
        do throws(StateError) {
            try database.use { connection throws(StateError) in
                guard
                    try !connection.exists(
                        "SELECT 1 FROM outbox WHERE envelope IS NOT NULL LIMIT 1")
                else { return }
                try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
                logEmptied.withLock { $0 = now }
            }
        } catch .database(.full) {
            // The log stays until a later time.
        }
    }

    /// Removes and returns the outcomes that other processes stored for this one in one relay's queue.
    public func collect(relay: String) throws(StateError) -> [(number: Int64, outcome: String)] {
        let found = try database.use { connection throws(StateError) in
            try connection.rows(
                """
                SELECT number, outcome FROM outbox
                WHERE owner = ? AND relay = ? AND outcome IS NOT NULL
                """, owner, relay
            ) { row throws(StateError) in (row.integer(0), row.text(1)) }
        }
        try settle(found)
        return found
    }

    /// Releases the remaining items of this process in one relay's queue to the process that sends next.
    public func release(relay: String) throws(StateError) {
        try database.use { connection throws(StateError) in
            try connection.run(
                "UPDATE outbox SET owner = NULL WHERE owner = ? AND relay = ?", owner, relay)
        }
    }

    /// Runs `body` in one transaction.
    func write(_ body: (StateConnection) throws(StateError) -> Void) throws(StateError) {
        try database.transaction(body)
    }

    /// Returns the rows of a statement.
    func read<T, each Value: DatabaseValue>(
        _ sql: String, _ values: repeat each Value,
        row: (PreparedStatement<StateError>) throws(StateError) -> T
    ) throws(StateError) -> [T] {
        try database.use { connection throws(StateError) in
            try connection.rows(sql, repeat each values) { statement throws(StateError) in
                try row(statement)
            }
        }
    }

    /// Returns the number of items that wait for a relay and are not held.
    public func count(relay: String) throws(StateError) -> Int {
        try database.use { connection throws(StateError) in
            return Int(
                try connection.integer(
                    """
                    SELECT count(*) FROM outbox
                    WHERE relay = ? AND outcome IS NULL AND held IS NULL
                    """, relay))
        }
    }
}
