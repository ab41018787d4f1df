import Glibc
public import Sotto

/// Why local state cannot be read or written.
public enum StateError: Error, Sendable, Equatable {
    /// Another process held `what` for longer than the lock timeout.
    case locked(what: String)
    /// There is no home directory to put the state in.
    case noHome
    /// The directory `path` can be used by others than its owner.
    case notPrivate(path: String)
    /// The directory `path` belongs to others too, such as `/tmp`, and must stay open to them.
    case shared(path: String)
    /// `path` cannot be created or opened; `code` is the system's error number.
    case cannotOpen(path: String, code: Int32)
    /// `path` was written by a later version, and was not touched.
    case newerVersion(path: String)
    /// SQLite does not keep its promise to synchronise `path` at each commit.
    case notDurable(path: String)
    /// There is no room for `path` to grow; what it held is unharmed.
    case full(path: String)
    /// Reading or writing `path` failed; `code` is SQLite's extended result code.
    case inputOutput(path: String, code: Int32)
    /// `path` is not a database, or is damaged.
    case damaged(path: String)
    /// A sealed record in `path` does not open under this identity.
    case unsealable(path: String)
    /// SQLite refused a statement of ours on `path`.
    case unexpected(path: String, code: Int32)
    /// The URL of a PostgreSQL database is not one. It may have a password, and is not repeated.
    case badServerURL
    /// A PostgreSQL server could not be reached for as long as it is waited for.
    case serverAway(server: String, reason: String)
    /// A PostgreSQL server refused; `state` is its SQLSTATE, or empty.
    case serverRefused(server: String, state: String, reason: String)
    /// A PostgreSQL server does not keep what it has committed, as long as `setting` is `value`.
    case serverUnsafe(server: String, setting: String, value: String, needed: String)
    /// There is something in `path`, which must be empty for what was to be done.
    case notEmpty(path: String)
}

extension StateError: ReportableError {
    /// What went wrong, in the form of a tool's error message.
    public var message: String {
        switch self {
        case .locked(let what): "\(what) is in use by another process"
        case .noHome: "there is no directory for the state"
        case .notPrivate(let path): "the state directory \(path) is open to others"
        case .shared(let path): "the state directory \(path) is shared with other users"
        case .cannotOpen(let path, let code): "cannot open \(path): \(Self.text(of: code))"
        case .newerVersion(let path): "\(path) was written by a newer sotto"
        case .notDurable(let path): "the database \(path) does not synchronise its commits"
        case .full(let path): "no space is left for \(path)"
        case .inputOutput(let path, let code): "cannot read or write \(path) (SQLite \(code))"
        case .damaged(let path): "\(path) is damaged, or not a database"
        case .unsealable(let path): "a record in \(path) does not open under this identity"
        case .unexpected(let path, let code): "unexpected SQLite error \(code) on \(path)"
        case .badServerURL: "the URL of the database is not one that libpq reads"
        case .serverAway(let server, let reason): "cannot reach \(server): \(reason)"
        case .serverRefused(let server, "", let reason): "cannot use \(server): \(reason)"
        case .serverRefused(let server, let state, let reason):
            "cannot use \(server): \(reason) (SQLSTATE \(state))"
        case .serverUnsafe(let server, let setting, let value, _):
            "\(server) does not keep what it commits: \(setting) is \(value)"
        case .notEmpty(let path): "\(path) is not empty"
        }
    }

    /// The system's text for an error number, beginning in lower case.
    private static func text(of code: Int32) -> String {
        let text = String(cString: strerror(code))
        return text.prefix(1).lowercased() + text.dropFirst()
    }

    /// What to do about it.
    public var hint: String? {
        switch self {
        case .locked: "run the same command again, or wait longer with --lock-timeout"
        case .noHome: "set SOTTO_HOME to a directory"
        case .notPrivate(let path): "chmod 700 \(shellWord(path))"
        case .shared(let path):
            "name a directory of your own in it: export SOTTO_HOME=\(shellWord(path + "/sotto-state"))"
        case .newerVersion: "use that version; the file was not touched"
        case .full: "free some space, then run the same command again"
        case .damaged, .unsealable:
            "restore it from a backup, or move it away: a new one is made, without sessions, contacts and what was opened"
        case .badServerURL: "for example postgresql://user@host/database"
        case .serverAway: "see that the server runs and can be reached"
        case .serverUnsafe(_, "server_version", _, let needed): "use PostgreSQL \(needed)"
        case .serverUnsafe(_, let setting, _, let needed):
            "set \(setting) = \(needed) in postgresql.conf, and for the role and the database"
        case .notEmpty: "name a store that is new"
        case .cannotOpen, .notDurable, .inputOutput, .unexpected, .serverRefused: nil
        }
    }

    /// The number of the exit status, as sysexits(3) has it.
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
