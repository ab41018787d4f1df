import Sotto

/// The items that wait to be sent, in the file `outbox.db`: a queue for each relay. Any number of processes add to it.
/// For each relay one process at a time, the holder of ``lock(of:)``, sends from it.
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
        }

        /// The kind of the item.
        public let kind: Kind
        /// The envelope's id; for a publication, its owner's id.
        public let id: String
        /// The envelope's recipient; for a publication, its owner.
        public let to: String
        /// The record on one line.
        public let envelope: [UInt8]

        /// Creates an item.
        public init(id: String, to: String, envelope: [UInt8], kind: Kind = .envelope) {
            self.kind = kind
            self.id = id
            self.to = to
            self.envelope = envelope
        }
    }

    private let database: DurableDatabase
    private let lockPath: String
    /// Identifies the items of this process.
    private let owner = Envelope.newID()

    /// Opens or creates the outbox in `directory`.
    public init(directory: StateDirectory, lockTimeout: Double) throws(StateError) {
        database = try DurableDatabase(
            path: directory.file("outbox.db"), migrations: Self.migrations,
            lockTimeout: lockTimeout)
        lockPath = directory.file("outbox.lock")
        // Outcomes that were never collected because their process was killed.
        try database.use { connection throws(StateError) in
            let forget = try connection.statement(
                "DELETE FROM outbox WHERE outcome IS NOT NULL AND day < ?")
            forget.bind(1, Timestamp.now().seconds / 86_400 - 1)
            try forget.run()
        }
    }

    /// The schema, by version. A later version adds a script; a released script never changes.
    private static let migrations = [
        """
        CREATE TABLE outbox (
            number INTEGER PRIMARY KEY AUTOINCREMENT, relay TEXT NOT NULL, owner TEXT,
            day INTEGER NOT NULL, id TEXT NOT NULL, recipient TEXT NOT NULL,
            envelope BLOB, outcome TEXT
        );
        """,
        "ALTER TABLE outbox ADD COLUMN kind INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE outbox ADD COLUMN url TEXT",
    ]

    /// Returns the lock of a relay's queue, not taken. The process that holds it sends.
    public func lock(of relay: String) throws(StateError) -> RangeLock {
        try RangeLock(path: lockPath, name: relay)
    }

    /// Adds items for a relay in one transaction, durable when this returns. Returns their numbers, which increase in
    /// the order of sending. `url` is the relay's full address, with which a later process can reach it.
    public func append(_ items: [Item], relay: String, url: String? = nil) throws(StateError)
        -> [Int64]
    {
        guard !items.isEmpty else { return [] }
        return try database.transaction { connection throws(StateError) in
            let day = Timestamp.now().seconds / 86_400
            var numbers: [Int64] = []
            for item in items {
                let insert = try connection.statement(
                    """
                    INSERT INTO outbox (relay, owner, day, id, recipient, envelope, kind, url)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                    """)
                insert.bind(1, relay)
                insert.bind(2, owner)
                insert.bind(3, day)
                insert.bind(4, item.id)
                insert.bind(5, item.to)
                insert.bind(6, item.envelope)
                insert.bind(7, item.kind.rawValue)
                if let url { insert.bind(8, url) } else { insert.bindNull(8) }
                try insert.run()
                numbers.append(connection.lastRow)
            }
            return numbers
        }
    }

    /// Returns the first waiting items for a relay after a number, at most `limit`.
    public func waiting(relay: String, after number: Int64, limit: Int) throws(StateError)
        -> [(number: Int64, item: Item)]
    {
        try database.use { connection throws(StateError) in
            let select = try connection.statement(
                """
                SELECT number, id, recipient, envelope, kind FROM outbox
                WHERE relay = ? AND number > ? AND outcome IS NULL ORDER BY number LIMIT ?
                """)
            defer { select.reset() }
            select.bind(1, relay)
            select.bind(2, number)
            select.bind(3, Int64(limit))
            var rows: [(number: Int64, item: Item)] = []
            while try select.step() {
                let item = Item(
                    id: select.text(1), to: select.text(2), envelope: select.bytes(3),
                    kind: Item.Kind(rawValue: select.integer(4)) ?? .envelope)
                rows.append((select.integer(0), item))
            }
            return rows
        }
    }

    /// Removes items whose outcome is known. For an item of another process, the outcome is stored for it.
    public func settle(_ outcomes: [(number: Int64, outcome: String)]) throws(StateError) {
        guard !outcomes.isEmpty else { return }
        try database.transaction { connection throws(StateError) in
            for (number, outcome) in outcomes {
                let delete = try connection.statement(
                    "DELETE FROM outbox WHERE number = ? AND (owner IS NULL OR owner = ?)")
                delete.bind(1, number)
                delete.bind(2, owner)
                try delete.run()
                guard connection.changes == 0 else { continue }
                let leave = try connection.statement(
                    "UPDATE outbox SET envelope = NULL, outcome = ? WHERE number = ?")
                leave.bind(1, outcome)
                leave.bind(2, number)
                try leave.run()
            }
        }
    }

    /// Removes and returns the outcomes that other processes stored for this one in one relay's queue.
    public func collect(relay: String) throws(StateError) -> [(number: Int64, outcome: String)] {
        let found = try database.use { connection throws(StateError) in
            let select = try connection.statement(
                """
                SELECT number, outcome FROM outbox
                WHERE owner = ? AND relay = ? AND outcome IS NOT NULL
                """)
            defer { select.reset() }
            select.bind(1, owner)
            select.bind(2, relay)
            var rows: [(number: Int64, outcome: String)] = []
            while try select.step() { rows.append((select.integer(0), select.text(1))) }
            return rows
        }
        try settle(found)
        return found
    }

    /// Releases the remaining items of this process in one relay's queue to the process that sends next.
    public func release(relay: String) throws(StateError) {
        try database.use { connection throws(StateError) in
            let update = try connection.statement(
                "UPDATE outbox SET owner = NULL WHERE owner = ? AND relay = ?")
            update.bind(1, owner)
            update.bind(2, relay)
            try update.run()
        }
    }

    /// Returns the rows of a statement with at most one bound text.
    func read<T>(
        _ sql: String, _ text: String? = nil, _ row: (PreparedStatement) -> T
    ) throws(StateError) -> [T] {
        try database.use { connection throws(StateError) in
            let select = try connection.statement(sql)
            defer { select.reset() }
            if let text { select.bind(1, text) }
            var rows: [T] = []
            while try select.step() { rows.append(row(select)) }
            return rows
        }
    }

    /// Returns the number of items that wait for a relay.
    public func count(relay: String) throws(StateError) -> Int {
        try database.use { connection throws(StateError) in
            let count = try connection.statement(
                "SELECT count(*) FROM outbox WHERE relay = ? AND outcome IS NULL")
            defer { count.reset() }
            count.bind(1, relay)
            return try count.step() ? Int(count.integer(0)) : 0
        }
    }
}
