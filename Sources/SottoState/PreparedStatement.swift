import CSQLite
import Glibc

/// A prepared statement. Parameters are numbered from 1, columns from 0.
package struct PreparedStatement {
    let handle: OpaquePointer
    let path: String

    /// Binds an integer.
    package func bind(_ index: Int32, _ value: Int64) { sqlite3_bind_int64(handle, index, value) }

    /// Binds bytes as a BLOB, copied.
    package func bind(_ index: Int32, _ bytes: [UInt8]) {
        if bytes.isEmpty {
            sqlite3_bind_zeroblob(handle, index, 0)
        } else {
            sqlite3_bind_blob(handle, index, bytes, Int32(bytes.count), transient)
        }
    }

    /// Binds text, copied.
    package func bind(_ index: Int32, _ text: String) {
        var text = text
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                _ = sqlite3_bind_text(handle, index, $0.baseAddress, Int32($0.count), transient)
            }
        }
    }

    /// Binds NULL.
    package func bindNull(_ index: Int32) { sqlite3_bind_null(handle, index) }

    /// Goes to the next row. Returns whether the statement has one.
    package func step() throws(StateError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            let code = sqlite3_extended_errcode(sqlite3_db_handle(handle))
            sqlite3_reset(handle)
            throw StateError(sqlite: code, path)
        }
    }

    /// Runs a statement without rows to its end and resets it.
    package func run() throws(StateError) {
        while try step() {}
        reset()
    }

    /// Makes the statement ready to be bound and stepped again.
    package func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    /// Returns an integer column of the row, or 0 for NULL.
    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    /// Returns whether a column of the row is NULL.
    package func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// Returns the bytes of a BLOB or text column of the row.
    package func bytes(_ column: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(handle, column) else { return [] }
        let count = Int(sqlite3_column_bytes(handle, column))
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Returns the text of a column of the row.
    package func text(_ column: Int32) -> String {
        String(decoding: bytes(column), as: UTF8.self)
    }
}

/// SQLITE_IOERR_SHMSIZE, a macro that Swift does not import.
private let shmSize = SQLITE_IOERR | 19 << 8

/// SQLITE_TRANSIENT, a macro that Swift does not import: SQLite copies the bound value.
private let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

extension StateError {
    /// Returns whether the file system of `path` is read-only.
    private static func isReadOnly(_ path: String) -> Bool {
        var system = statvfs()
        return statvfs(path, &system) == 0 && system.f_flag & UInt(ST_RDONLY) != 0
    }

    /// Creates the error for an extended SQLite result code on a file.
    init(sqlite code: Int32?, _ path: String) {
        let code = code ?? SQLITE_ERROR
        switch code & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED: self = .locked(what: path)
        case SQLITE_FULL: self = .full(path: path)
        // The log's index could not grow.
        case SQLITE_IOERR where code == shmSize: self = .full(path: path)
        case SQLITE_IOERR: self = .inputOutput(path: path, code: code)
        case SQLITE_CORRUPT, SQLITE_NOTADB: self = .damaged(path: path)
        case SQLITE_CANTOPEN:
            // On a read-only file system SQLite fails to open the log, which does not exist there.
            let other = errno == 0 ? EIO : errno
            self = .cannotOpen(path: path, code: Self.isReadOnly(path) ? EROFS : other)
        case SQLITE_READONLY, SQLITE_PERM:
            self = .cannotOpen(path: path, code: Self.isReadOnly(path) ? EROFS : EACCES)
        default: self = .unexpected(path: path, code: code)
        }
    }
}
