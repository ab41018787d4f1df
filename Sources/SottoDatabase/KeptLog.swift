import CSQLite
import Glibc
import SottoBytes

/// Decides whether the log of a file stays where it is when the file is closed.
///
/// The last program that closes a file copies the log into it and removes the log, and the next one makes another log: four
/// synchronised writes in addition to that of a commit. A short log can stay instead, if nothing in it was erased. The file
/// `PATH-kept` names such a log by the random numbers in its header and by its length, so that it does not name the log after
/// any further commit, also of a program that is killed. A program keeps a log that it found named or empty, and to which
/// it added all the rest without erasing anything.
struct KeptLog {
    /// The longest log that is kept, in bytes: 128 pages. Each program that opens the file reads the log.
    private static let mostBytes = 128 * 4_120

    /// The log when the file was opened; `nil` if it was empty.
    private let opened: Log?
    /// Another connection has committed something if the number is another one.
    private let version: Int64

    /// Reads the log of a file that was opened. Returns `nil` if the log can have content that was erased.
    init?(_ connection: Connection<DatabaseError>) throws(DatabaseError) {
        version = try connection.integer("PRAGMA data_version")
        opened = Log(connection.database.path)
        guard opened?.isKept ?? true else { return nil }
    }

    /// Returns whether the log stays when the connection is closed, and names it then.
    func keep(_ connection: Connection<DatabaseError>) -> Bool {
        let path = connection.database.path
        if let opened, opened == Log(path) { return true }
        // A program that writes now is not waited for: it closes the file later.
        sqlite3_busy_timeout(connection.database.handle, 0)
        do throws(DatabaseError) {
            try connection.run("BEGIN IMMEDIATE")
            defer { connection.rollBack() }
            guard try connection.integer("PRAGMA data_version") == version, let log = Log(path),
                log.length <= Self.mostBytes
            else { return false }
            return log.note()
        } catch {
            return false
        }
    }

    /// A log that is not empty.
    private struct Log: Equatable {
        private let path: String
        /// The random numbers and the checksum in the header (sqlite.org/fileformat2.html, §4.1).
        private let header: [UInt8]
        let length: Int

        static func == (a: Log, b: Log) -> Bool { a.bytes == b.bytes }

        private var bytes: [UInt8] { header + UInt64(length).bigEndianBytes }

        init?(_ path: String) {
            self.path = path
            let file = open(path + "-wal", O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return nil }
            defer { close(file) }
            var status = stat()
            var header = [UInt8](repeating: 0, count: 16)
            guard fstat(file, &status) == 0, pread(file, &header, 16, 16) == 16 else { return nil }
            self.header = header
            length = Int(status.st_size)
        }

        /// Whether the log is the one that was named.
        var isKept: Bool {
            let file = open(path + "-kept", O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return false }
            defer { close(file) }
            var named = [UInt8](repeating: 0, count: bytes.count)
            return read(file, &named, named.count) == named.count && named == bytes
        }

        /// Names the log. Returns whether this succeeded.
        func note() -> Bool {
            let file = open(path + "-kept", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            guard file >= 0 else { return false }
            defer { close(file) }
            return write(file, bytes, bytes.count) == bytes.count
        }
    }
}

/// Finds out whether a statement can erase something: whether it deletes rows, or overwrites a column that is no integer.
final class ErasureCheck {
    private let handle: OpaquePointer
    /// The columns that the statement overwrites which is being prepared, with their tables.
    private var overwritten: [(table: String, column: String)] = []
    private var deletes = false

    /// Observes the statements that are prepared on a connection.
    init(_ handle: OpaquePointer) {
        self.handle = handle
        sqlite3_set_authorizer(
            handle,
            { context, action, table, column, _, _ in
                guard let context, let table, action == SQLITE_DELETE || action == SQLITE_UPDATE
                else { return SQLITE_OK }
                let check = Unmanaged<ErasureCheck>.fromOpaque(context).takeUnretainedValue()
                if action == SQLITE_UPDATE, let column {
                    check.overwritten.append((String(cString: table), String(cString: column)))
                } else {
                    check.deletes = true
                }
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Forgets the statements before. Call it before each statement: SQLite prepares earlier ones again after a change of the schema.
    func begin() { (overwritten, deletes) = ([], false) }

    /// Returns whether the statement that was prepared since ``begin()`` can erase something.
    func canErase(_ sql: String) -> Bool {
        deletes || sql.utf8.starts(with: "INSERT OR REPLACE".utf8)
            || overwritten.contains { !isInteger($0.column, of: $0.table) }
    }

    private func isInteger(_ column: String, of table: String) -> Bool {
        var type: UnsafePointer<CChar>?
        let code = sqlite3_table_column_metadata(
            handle, nil, table, column, &type, nil, nil, nil, nil)
        guard code == SQLITE_OK, let type else { return false }
        return String(cString: type) == "INTEGER"
    }
}
