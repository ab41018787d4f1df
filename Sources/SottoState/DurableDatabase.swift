import CSQLite
import Glibc

/// A SQLite file in WAL mode whose commits are on disk when they return: `synchronous` is set to FULL and read back.
///
/// One connection with its prepared statements. Any thread can use it, one thread at a time.
package final class DurableDatabase: @unchecked Sendable {
    // Sendable: the following properties are used only by the thread that holds the lock.
    /// The path of the file.
    package let path: String
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private var handle: OpaquePointer?
    private var statements: [String: OpaquePointer] = [:]
    /// The number of pages in the log after the last commit, and the number at which the log is checkpointed. Both are
    /// set only after ``checkpointLog(atPages:)``.
    private var logPages = 0
    private var checkpointPages = Int.max

    /// Opens or creates the file with mode 0600 and updates its schema.
    ///
    /// `migrations` are SQL scripts; `PRAGMA user_version` is the number of scripts that were run. A file with a higher
    /// number is from a later version: it is not written to, and ``StateError/newerVersion(path:)`` is thrown. Waits at
    /// most `lockTimeout` seconds for other processes that write.
    package init(path: String, migrations: [String], lockTimeout: Double) throws(StateError) {
        self.path = path
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
        guard code == SQLITE_OK, let handle else { throw StateError(sqlite: code, path) }
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, Int32(clamping: Int64(lockTimeout * 1_000)))
        while true {
            do throws(StateError) {
                try prepare(migrations)
                return
            } catch {
                // SQLite returns immediately, ignoring its busy timeout, when two processes race to switch a new file
                // to WAL.
                guard case .locked = error, Monotonic.seconds() < deadline else { throw error }
                usleep(5_000)
            }
        }
    }

    private func prepare(_ migrations: [String]) throws(StateError) {
        try use { connection throws(StateError) in
            func version() throws(StateError) -> Int {
                Int(try connection.integer("PRAGMA user_version"))
            }
            guard try version() <= migrations.count else { throw .newerVersion(path: path) }
            try connection.run("PRAGMA journal_mode = WAL")
            try connection.run("PRAGMA synchronous = FULL")
            guard try connection.integer("PRAGMA synchronous") == 2 else {
                throw .notDurable(path: path)
            }
            guard try version() < migrations.count else { return }
            try connection.transaction { () throws(StateError) in
                // Another process may have migrated the file first.
                for number in try version()..<max(version(), migrations.count) {
                    try connection.script(migrations[number])
                    try connection.run("PRAGMA user_version = \(number + 1)")
                }
            }
        }
    }

    deinit {
        try? close()
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    /// Calls `body` with the connection.
    package func use<T, E: Error>(_ body: (Connection) throws(E) -> T) throws(E) -> T {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return try body(Connection(database: self))
    }

    /// Runs `body` in one transaction, which is durable when this returns and rolled back if `body` throws.
    package func transaction<T>(
        _ body: (Connection) throws(StateError) -> T
    ) throws(StateError) -> T {
        try use { connection throws(StateError) in
            let value = try connection.transaction { () throws(StateError) in
                try body(connection)
            }
            if logPages >= checkpointPages { try checkpointLog(connection) }
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

    private func checkpointLog(_ connection: Connection) throws(StateError) {
        do throws(StateError) {
            try connection.run("PRAGMA wal_checkpoint(PASSIVE)")
        } catch .full {
            // The log grows until a later commit.
        }
    }

    /// Runs `body` in a transaction like ``transaction(_:)``, and rethrows its errors of any type.
    package func work<T>(_ body: (Connection) throws -> T) throws -> T {
        try use { connection in try connection.transaction(anyError: body) }
    }

    /// Runs `body` on a read snapshot of the file, and rolls back everything it wrote.
    package func view<T>(_ body: (Connection) throws -> T) throws -> T {
        try use { connection in
            try connection.run("BEGIN")
            defer { connection.rollBack() }
            return try body(connection)
        }
    }

    /// Closes the file; the last process to close it checkpoints the log. The database cannot be used afterwards.
    package func close() throws(StateError) {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        for statement in statements.values { sqlite3_finalize(statement) }
        statements = [:]
        let code = sqlite3_close(handle)
        guard code == SQLITE_OK else { throw StateError(sqlite: code, path) }
        handle = nil
    }

    /// Returns the statement of `sql`, prepared once.
    fileprivate func statement(_ sql: String) throws(StateError) -> OpaquePointer {
        if let known = statements[sql] { return known }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(
            handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw StateError(sqlite: code, path) }
        statements[sql] = statement
        return statement
    }

    fileprivate var connectionHandle: OpaquePointer? { handle }
}

/// The connection of a ``DurableDatabase`` during ``DurableDatabase/use(_:)``.
package struct Connection {
    fileprivate let database: DurableDatabase

    /// Returns the statement of `sql`, prepared once for each connection.
    package func statement(_ sql: String) throws(StateError) -> PreparedStatement {
        PreparedStatement(handle: try database.statement(sql), path: database.path)
    }

    /// Runs one statement to its end and ignores its rows.
    package func run(_ sql: String) throws(StateError) {
        let statement = try statement(sql)
        defer { statement.reset() }
        while try statement.step() {}
    }

    /// Returns the integer in the first column of the statement's first row, or 0 if it has no row.
    package func integer(_ sql: String) throws(StateError) -> Int64 {
        let statement = try statement(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : 0
    }

    /// Runs several statements, separated by semicolons.
    package func script(_ sql: String) throws(StateError) {
        let code = sqlite3_exec(database.connectionHandle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw StateError(sqlite: code, database.path) }
    }

    /// The number of rows that the last statement changed.
    package var changes: Int { Int(sqlite3_changes(database.connectionHandle)) }

    /// The row id of the last inserted row.
    package var lastRow: Int64 { sqlite3_last_insert_rowid(database.connectionHandle) }

    fileprivate func transaction<T>(_ body: () throws(StateError) -> T) throws(StateError) -> T {
        try run("BEGIN IMMEDIATE")
        do throws(StateError) {
            let value = try body()
            try run("COMMIT")
            return value
        } catch {
            rollBack()
            throw error
        }
    }

    fileprivate func transaction<T>(anyError body: (Connection) throws -> T) throws -> T {
        try run("BEGIN IMMEDIATE")
        do {
            let value = try body(self)
            try run("COMMIT")
            return value
        } catch {
            rollBack()
            throw error
        }
    }

    fileprivate func rollBack() {
        // A failed COMMIT may have ended the transaction already.
        if sqlite3_get_autocommit(database.connectionHandle) == 0 { try? run("ROLLBACK") }
    }
}
