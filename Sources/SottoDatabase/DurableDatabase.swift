import CSQLite
import Glibc

/// A SQLite file in WAL mode whose commits are on disk when they return: `synchronous` is set to FULL and read back.
///
/// One connection with its prepared statements. Any thread can use it, one thread at a time.
package final class DurableDatabase: @unchecked Sendable {
    // Sendable: the following properties are used only by the thread that holds the lock.
    /// The path of the file.
    package let path: String
    private let kind: Int32?
    private let migrations: [String]
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private(set) var handle: OpaquePointer?
    private var statements: [String: OpaquePointer] = [:]
    /// The number of pages in the log after the last commit, and the number at which the log is checkpointed. Both are
    /// set only after ``checkpointLog(atPages:)``.
    private var logPages = 0
    private var checkpointPages = Int.max

    /// Opens or creates the file with mode 0600 and updates its schema.
    ///
    /// `migrations` are SQL scripts; ``SchemaVersion`` says how `PRAGMA user_version` tells which of them were run. `kind` is
    /// the file's `PRAGMA application_id`. A file of a later version throws ``DatabaseError/newerVersion(path:)``, and one of
    /// another kind or with tables of other scripts ``DatabaseError/otherFormat(path:)``; neither is written to. Without
    /// `kind`, every file is accepted. Waits at most `lockTimeout` seconds for other processes that write. With `erases`,
    /// deleted content is overwritten. Without `migrates`, the update is left to ``migrate(after:)``.
    package init(
        path: String, kind: Int32? = nil, migrations: [String], lockTimeout: Double,
        erases: Bool = false, migrates: Bool = true
    ) throws(DatabaseError) {
        self.path = path
        self.kind = kind
        self.migrations = migrations
        // The file is created here to set its mode, which SQLite also gives to the log files. An existing file is not
        // opened: closing it would release the locks that SQLite holds on it elsewhere in this process.
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            Glibc.close(descriptor)
        } else if errno != EEXIST {
            throw .cannotOpen(path: path, code: errno)
        }
        lock = .allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
        let deadline = Monotonic.seconds() + lockTimeout
        let code = sqlite3_open_v2(
            path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let handle else { throw DatabaseError(sqlite: code, path) }
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, Int32(clamping: Int64(lockTimeout * 1_000)))
        while true {
            do throws(DatabaseError) {
                try prepare(erases: erases)
                break
            } catch {
                // SQLite returns immediately, ignoring its busy timeout, when two processes race to switch a new file
                // to WAL.
                guard case .locked = error, Monotonic.seconds() < deadline else { throw error }
                usleep(5_000)
            }
        }
        if migrates { try migrate { _, _ throws(DatabaseError) in } }
    }

    private func prepare(erases: Bool) throws(DatabaseError) {
        try use { connection throws(DatabaseError) in
            try check(connection)
            try connection.run("PRAGMA journal_mode = WAL")
            try connection.run("PRAGMA synchronous = FULL")
            guard try connection.integer("PRAGMA synchronous") == 2 else {
                throw .notDurable(path: path)
            }
            if erases { try connection.run("PRAGMA secure_delete = ON") }
            // Long transactions, such as those of an import, change more pages than SQLite keeps in memory by default.
            try connection.run("PRAGMA cache_size = -16384")
        }
    }

    /// Throws unless the file is new, or of this kind and of this version or an earlier one.
    private func check(_ connection: Connection<DatabaseError>) throws(DatabaseError) {
        guard let kind else { return }
        // Closing a file whose process was killed would copy the log into it.
        let hasLog = access(path + "-wal", F_OK) == 0
        func refuse(_ error: DatabaseError) throws(DatabaseError) {
            if hasLog { csqlite_keep_log_on_close(handle) }
            throw error
        }
        let present = try connection.integer("PRAGMA user_version")
        let presentKind = try connection.integer("PRAGMA application_id")
        if presentKind != kind, present != 0 || presentKind != 0 {
            try refuse(.otherFormat(path: path))
        }
        switch SchemaVersion(present, of: migrations) {
        case .known: break
        case .later: try refuse(.newerVersion(path: path))
        case .other: try refuse(.otherFormat(path: path))
        }
    }

    /// Runs the scripts that the file lacks in one transaction. `after` is called after each, with its number from 1, and
    /// converts content that no SQL can convert.
    package func migrate<Failure>(
        after: (Int, Connection<Failure>) throws(Failure) -> Void
    ) throws(Failure) {
        try use { connection throws(Failure) in
            func version() throws(Failure) -> Int {
                SchemaVersion.count(in: try connection.integer("PRAGMA user_version"))
            }
            guard try version() < migrations.count else { return }
            try connection.transaction(
                { () throws(Failure) in
                    // Another process may have migrated the file first.
                    for number in try version()..<max(version(), migrations.count) {
                        try connection.script(migrations[number])
                        try after(number + 1, connection)
                        let present = SchemaVersion.number(of: migrations.prefix(number + 1))
                        try connection.run("PRAGMA user_version = \(present)")
                    }
                    if let kind { try connection.run("PRAGMA application_id = \(kind)") }
                }, { $0 })
        }
    }

    deinit {
        try? close()
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    /// Calls `body` with the connection.
    package func use<T, Failure>(
        _ body: (Connection<Failure>) throws(Failure) -> T
    ) throws(Failure) -> T {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return try body(Connection(database: self))
    }

    /// Runs `body` in one transaction, which is durable when this returns and rolled back if `body` throws.
    package func transaction<T, Failure>(
        _ body: (Connection<Failure>) throws(Failure) -> T
    ) throws(Failure) -> T {
        try use { connection throws(Failure) in
            let value = try connection.transaction(
                { () throws(Failure) in try body(connection) }, { $0 })
            if logPages >= checkpointPages {
                do throws(DatabaseError) { try checkpointLog() } catch { throw Failure(error) }
            }
            return value
        }
    }

    /// Checkpoints the log after each ``transaction(_:)`` that leaves this many pages in it, instead of SQLite's own
    /// 1,000.
    ///
    /// SQLite does not report errors of its automatic checkpoints. After this call a transaction throws if the file
    /// could not be written or synchronized, even though its commit is in the log.
    package func checkpointLog(atPages pages: Int) {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        checkpointPages = pages
        sqlite3_wal_hook(
            handle,
            { database, _, _, pages in
                guard let database else { return SQLITE_OK }
                let own = Unmanaged<DurableDatabase>.fromOpaque(database).takeUnretainedValue()
                own.logPages = Int(pages)
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func checkpointLog() throws(DatabaseError) {
        do throws(DatabaseError) {
            try Connection<DatabaseError>(database: self).run("PRAGMA wal_checkpoint(PASSIVE)")
        } catch .full {
            // The log grows until a later commit.
        }
    }

    /// Runs `body` in a transaction like ``transaction(_:)``, and rethrows its errors of any type.
    package func work<T, Failure: DatabaseFailure>(
        _ body: (Connection<Failure>) throws -> T
    ) throws -> T {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        let connection = Connection<Failure>(database: self)
        return try connection.transaction({ try body(connection) }, { $0 })
    }

    /// Runs `body`, which only reads, on one snapshot of the file. Its statements take no locks of their own.
    package func snapshot<T, Failure>(
        _ body: (Connection<Failure>) throws(Failure) -> T
    ) throws(Failure) -> T {
        try use { connection throws(Failure) in
            try connection.run("BEGIN")
            defer { connection.rollBack() }
            return try body(connection)
        }
    }

    /// Runs `body` on a read snapshot of the file, and rolls back everything it wrote.
    package func view<T, Failure: DatabaseFailure>(
        _ body: (Connection<Failure>) throws -> T
    ) throws -> T {
        let result = try snapshot { (connection: Connection<Failure>) throws(Failure) in
            Result { try body(connection) }
        }
        return try result.get()
    }

    /// Closes the file; the last process to close it checkpoints the log. The database cannot be used afterwards.
    package func close() throws(DatabaseError) {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        for statement in statements.values { sqlite3_finalize(statement) }
        statements = [:]
        let code = sqlite3_close(handle)
        guard code == SQLITE_OK else { throw DatabaseError(sqlite: code, path) }
        handle = nil
    }

    /// Returns the statement of `sql`, prepared once.
    func statement(_ sql: String) throws(DatabaseError) -> OpaquePointer {
        if let known = statements[sql] { return known }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(
            handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw DatabaseError(sqlite: code, path) }
        statements[sql] = statement
        return statement
    }
}
