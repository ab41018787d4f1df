import GRDB
import GRDBSQLite
import Glibc

/// A SQLite file in WAL mode whose commits are on disk when they return: `synchronous` is FULL, and has
/// been read back.
///
/// One connection, used from any thread, one at a time. GRDB opens it, keeps its statements and
/// serialises its use; the statements themselves are stepped directly, for speed.
package final class DurableDatabase: Sendable {
    /// Where the file is.
    package let path: String
    private let queue: DatabaseQueue

    /// Opens or makes the file, mode 0600, and brings its schema up to date.
    ///
    /// `migrations` are SQL scripts; `PRAGMA user_version` counts those that were run. A file with more of
    /// them is from a later version, is not written to, and throws ``StateError/newerVersion(path:)``.
    /// Another process that writes is waited for, `lockTimeout` seconds at most.
    package init(path: String, migrations: [String], lockTimeout: Double) throws(StateError) {
        self.path = path
        // Made here for its mode, which SQLite gives to the files beside it too. An existing file is not
        // opened: closing it would drop the locks that SQLite holds on it elsewhere in this process.
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            Glibc.close(descriptor)
        } else if errno != EEXIST {
            throw .cannotOpen(path: path, code: errno)
        }
        var configuration = Configuration()
        configuration.busyMode = .timeout(lockTimeout)
        configuration.foreignKeysEnabled = false
        let deadline = Monotonic.seconds() + lockTimeout
        do {
            queue = try DatabaseQueue(path: path, configuration: configuration)
        } catch {
            throw StateError(sqlite: (error as? DatabaseError)?.extendedResultCode.rawValue, path)
        }
        while true {
            do throws(StateError) {
                try prepare(migrations)
                return
            } catch {
                // SQLite gives up at once, without its busy timeout, where two processes race to
                // switch a new file to WAL.
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
                // Another process may have been first.
                for number in try version()..<max(version(), migrations.count) {
                    try connection.script(migrations[number])
                    try connection.run("PRAGMA user_version = \(number + 1)")
                }
            }
        }
    }

    /// Lends the connection to `body`.
    package func use<T>(_ body: (Connection) throws(StateError) -> T) throws(StateError) -> T {
        let result: Result<T, StateError> = queue.inDatabase { database in
            do throws(StateError) {
                return .success(try body(Connection(database: database, path: path)))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Runs `body` in one transaction, durable when this returns, and without a trace when it throws.
    package func transaction<T>(
        _ body: (Connection) throws(StateError) -> T
    ) throws(StateError) -> T {
        try use { connection throws(StateError) in
            try connection.transaction { () throws(StateError) in try body(connection) }
        }
    }

    /// As ``transaction(_:)``, for work that has errors of its own.
    package func work<T>(_ body: (Connection) throws -> T) throws -> T {
        let result: Result<T, any Error> = queue.inDatabase { database in
            Result {
                try Connection(database: database, path: path).transaction(anyError: body)
            }
        }
        return try result.get()
    }

    /// Runs `body` on one unchanging view of the file, and takes back whatever it wrote.
    package func view<T>(_ body: (Connection) throws -> T) throws -> T {
        let result: Result<T, any Error> = queue.inDatabase { database in
            Result {
                let connection = Connection(database: database, path: path)
                try connection.run("BEGIN")
                defer { connection.rollBack() }
                return try body(connection)
            }
        }
        return try result.get()
    }

    /// Closes the file; the last to do so folds the log into it.
    package func close() throws(StateError) {
        do {
            try queue.close()
        } catch {
            throw StateError(sqlite: (error as? DatabaseError)?.extendedResultCode.rawValue, path)
        }
    }
}

/// The connection of a ``DurableDatabase`` while it is lent.
package struct Connection {
    fileprivate let database: Database
    fileprivate let path: String

    /// The prepared statement of `sql`, made once for each connection.
    package func statement(_ sql: String) throws(StateError) -> PreparedStatement {
        do {
            let statement = try database.cachedStatement(sql: sql)
            return PreparedStatement(handle: statement.sqliteStatement, path: path)
        } catch {
            throw StateError(sqlite: (error as? DatabaseError)?.extendedResultCode.rawValue, path)
        }
    }

    /// Runs one statement to its end, ignoring its rows.
    package func run(_ sql: String) throws(StateError) {
        let statement = try statement(sql)
        defer { statement.reset() }
        while try statement.step() {}
    }

    /// The integer in the first column of the statement's first row; 0 without one.
    package func integer(_ sql: String) throws(StateError) -> Int64 {
        let statement = try statement(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : 0
    }

    /// Runs several statements, separated by semicolons.
    package func script(_ sql: String) throws(StateError) {
        let code = sqlite3_exec(database.sqliteConnection, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw StateError(sqlite: extendedCode, path) }
    }

    /// How many rows the last statement changed.
    package var changes: Int { Int(sqlite3_changes(database.sqliteConnection)) }

    /// The rowid of the last row inserted.
    package var lastRow: Int64 { sqlite3_last_insert_rowid(database.sqliteConnection) }

    private var extendedCode: Int32 { sqlite3_extended_errcode(database.sqliteConnection) }

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
        // A failed COMMIT may have ended the transaction by itself.
        if sqlite3_get_autocommit(database.sqliteConnection) == 0 { try? run("ROLLBACK") }
    }
}
