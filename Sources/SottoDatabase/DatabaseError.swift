import CSQLite
import Glibc
public import SottoBytes

/// An error of a database file or a lock file.
public enum DatabaseError: Error, Sendable, Equatable {
    /// Another process held `what` for longer than the lock timeout.
    case locked(what: String)
    /// `path` cannot be created or opened; `code` is the system's error number.
    case cannotOpen(path: String, code: Int32)
    /// `path` was written by a later version; it was not changed.
    case newerVersion(path: String)
    /// `path` is a file of another kind, or an unreleased build wrote it; it was not changed.
    case otherFormat(path: String)
    /// SQLite does not synchronize `path` at each commit.
    case notDurable(path: String)
    /// `path` cannot grow because the disk is full; its content is intact.
    case full(path: String)
    /// Reading or writing `path` failed; `code` is SQLite's extended result code.
    case inputOutput(path: String, code: Int32)
    /// `path` is not a database, or is damaged.
    case damaged(path: String)
    /// SQLite refused one of our statements on `path`.
    case unexpected(path: String, code: Int32)
}

extension DatabaseError: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .locked(let what):
            Failure(
                .tryAgain, "\(what) is in use by another process",
                hint: "run the same command again, or set a longer --lock-timeout")
        case .cannotOpen(let path, let code):
            Failure(
                code == EACCES || code == EPERM ? .permission : .cannotCreate,
                "cannot open \(path): \(Failure.text(of: code))")
        case .newerVersion(let path):
            Failure(
                .configuration, "\(path) was written by a newer sotto",
                hint: "use that version; the file was not changed")
        case .otherFormat(let path):
            Failure(
                .configuration, "no released sotto wrote \(path)",
                hint: "move it away, or use the build that wrote it; the file was not changed")
        case .notDurable(let path):
            Failure(.configuration, "the database \(path) does not synchronize its commits")
        case .full(let path):
            Failure(
                .ioError, "no space left on the disk of \(path)",
                hint: "free some space, then run the same command again")
        case .inputOutput(let path, let code):
            Failure(.ioError, "cannot read or write \(path) (SQLite \(code))")
        case .damaged(let path):
            Failure(.ioError, "\(path) is damaged or is not a database")
        case .unexpected(let path, let code):
            Failure(.bug, "unexpected SQLite error \(code) on \(path)")
        }
    }
}

/// The error of a module that uses a database. A transaction throws it directly, so that each module has one error.
package protocol DatabaseFailure: Error {
    /// Creates the module's error for an error of the database.
    init(_ error: DatabaseError)
}

extension DatabaseError: DatabaseFailure {
    package init(_ error: DatabaseError) { self = error }

    /// Creates the error for an extended SQLite result code on a file.
    init(sqlite code: Int32, _ path: String) {
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

    /// Returns whether the file system of `path` is read-only.
    private static func isReadOnly(_ path: String) -> Bool {
        var system = statvfs()
        return statvfs(path, &system) == 0 && system.f_flag & UInt(ST_RDONLY) != 0
    }
}

/// SQLITE_IOERR_SHMSIZE, a macro that Swift does not import.
private let shmSize = SQLITE_IOERR | 19 << 8
