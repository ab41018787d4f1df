import Glibc
public import Sotto

/// An error of reading or writing local state.
public enum StateError: Error, Sendable, Equatable {
    /// Another process held `what` for longer than the lock timeout.
    case locked(what: String)
    /// No home directory is set for the state.
    case noHome
    /// Other users can access the directory `path`.
    case notPrivate(path: String)
    /// The directory `path` is shared with other users, such as `/tmp`, and must stay accessible to them.
    case shared(path: String)
    /// `path` cannot be created or opened; `code` is the system's error number.
    case cannotOpen(path: String, code: Int32)
    /// `path` was written by a later version; it was not changed.
    case newerVersion(path: String)
    /// SQLite does not synchronize `path` at each commit.
    case notDurable(path: String)
    /// `path` cannot grow because the disk is full; its content is intact.
    case full(path: String)
    /// Reading or writing `path` failed; `code` is SQLite's extended result code.
    case inputOutput(path: String, code: Int32)
    /// `path` is not a database, or is damaged.
    case damaged(path: String)
    /// An encrypted record in `path` cannot be decrypted with this identity.
    case unsealable(path: String)
    /// SQLite refused one of our statements on `path`.
    case unexpected(path: String, code: Int32)
    /// The URL of a PostgreSQL database is malformed. It may contain a password and is not repeated.
    case badServerURL
    /// A PostgreSQL server could not be reached within the timeout.
    case serverAway(server: String, reason: String)
    /// A PostgreSQL server refused; `state` is its SQLSTATE, or empty.
    case serverRefused(server: String, state: String, reason: String)
    /// A PostgreSQL server can lose committed transactions while `setting` is `value`.
    case serverUnsafe(server: String, setting: String, value: String, needed: String)
    /// `path` has content but must be empty for this operation.
    case notEmpty(path: String)
}

extension StateError: ReportableError {
    /// The text of the error message.
    public var message: String {
        switch self {
        case .locked(let what): "\(what) is in use by another process"
        case .noHome: "no directory for the state: HOME is not set"
        case .notPrivate(let path): "the state directory \(path) is accessible to other users"
        case .shared(let path): "the state directory \(path) is shared with other users"
        case .cannotOpen(let path, let code): "cannot open \(path): \(Self.text(of: code))"
        case .newerVersion(let path): "\(path) was written by a newer sotto"
        case .notDurable(let path): "the database \(path) does not synchronize its commits"
        case .full(let path): "no space left on the disk of \(path)"
        case .inputOutput(let path, let code): "cannot read or write \(path) (SQLite \(code))"
        case .damaged(let path): "\(path) is damaged or is not a database"
        case .unsealable(let path): "a record in \(path) cannot be decrypted with this identity"
        case .unexpected(let path, let code): "unexpected SQLite error \(code) on \(path)"
        case .badServerURL: "the database URL is malformed"
        case .serverAway(let server, let reason): "cannot reach \(server): \(reason)"
        case .serverRefused(let server, "", let reason): "cannot use \(server): \(reason)"
        case .serverRefused(let server, let state, let reason):
            "cannot use \(server): \(reason) (SQLSTATE \(state))"
        case .serverUnsafe(let server, let setting, let value, _):
            "\(server) can lose committed data: \(setting) is \(value)"
        case .notEmpty(let path): "\(path) is not empty"
        }
    }

    /// Returns the system's text for an error number, starting in lower case.
    private static func text(of code: Int32) -> String {
        let text = String(cString: strerror(code))
        return text.prefix(1).lowercased() + text.dropFirst()
    }

    /// The text of the hint.
    public var hint: String? {
        switch self {
        case .locked: "run the same command again, or set a longer --lock-timeout"
        case .noHome: "set the environment variable SOTTO_HOME to a directory"
        case .notPrivate(let path): "chmod 700 \(shellWord(path))"
        case .shared(let path):
            "use a directory of your own: export SOTTO_HOME=\(shellWord(path + "/sotto-state"))"
        case .newerVersion: "use that version; the file was not changed"
        case .full: "free some space, then run the same command again"
        case .damaged, .unsealable:
            "restore a backup, or move it away; a new one is then created without sessions, contacts and messages"
        case .badServerURL: "use a URL such as postgresql://user@host/database"
        case .serverAway: "check that the server runs and can be reached"
        case .serverUnsafe(_, "server_version", _, let needed): "use PostgreSQL \(needed)"
        case .serverUnsafe(_, let setting, _, let needed):
            "set \(setting) = \(needed) in postgresql.conf, and for the role and the database"
        case .notEmpty: "use the name of a new store"
        case .cannotOpen, .notDurable, .inputOutput, .unexpected, .serverRefused: nil
        }
    }

    /// The exit status, from sysexits(3).
    public var status: Int32 {
        switch self {
        case .locked: 75
        case .noHome, .newerVersion, .notDurable, .serverUnsafe: 78
        case .badServerURL: 64
        case .serverAway: 75
        case .serverRefused(_, let state, _): state.hasPrefix("28") ? 77 : 78
        case .notEmpty: 73
        case .notPrivate, .shared: 77
        case .cannotOpen(_, let code): code == EACCES || code == EPERM ? 77 : 73
        case .full, .inputOutput, .damaged, .unsealable: 74
        case .unexpected: 70
        }
    }
}
