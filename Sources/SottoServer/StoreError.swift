public import Sotto
public import SottoDatabase

/// An error of a relay's store.
public enum StoreError: Error, Sendable, Equatable {
    /// The store's file could not be used.
    case database(DatabaseError)
    /// The store called `name` has no space; its content is intact.
    case full(name: String)
    /// A later version wrote the store called `name`; it was not changed.
    case newerVersion(name: String)
    /// The store called `name` has content but must be empty for this operation.
    case notEmpty(name: String)
    /// The URL of a PostgreSQL database is malformed. It may contain a password and is not repeated.
    case badServerURL
    /// A PostgreSQL server could not be reached within the timeout.
    case serverAway(server: String, reason: String)
    /// A PostgreSQL server refused; `state` is its SQLSTATE, or empty.
    case serverRefused(server: String, state: String, reason: String)
    /// A PostgreSQL server can lose committed transactions while `setting` is `value`.
    case serverUnsafe(server: String, setting: String, value: String, needed: String)
}

extension StoreError: DatabaseFailure {
    package init(_ error: DatabaseError) {
        switch error {
        case .full(let path): self = .full(name: path)
        case .newerVersion(let path): self = .newerVersion(name: path)
        case .locked, .cannotOpen, .notDurable, .inputOutput, .damaged, .unexpected:
            self = .database(error)
        }
    }
}

/// A connection to a store in a SQLite file.
typealias StoreConnection = Connection<StoreError>

extension StoreError: ReportableError {
    /// The text of the error message.
    public var message: String {
        switch self {
        case .database(let error): error.message
        case .full(let name): DatabaseError.full(path: name).message
        case .newerVersion(let name): DatabaseError.newerVersion(path: name).message
        case .notEmpty(let name): "\(name) is not empty"
        case .badServerURL: "the database URL is malformed"
        case .serverAway(let server, let reason): "cannot reach \(server): \(reason)"
        case .serverRefused(let server, "", let reason): "cannot use \(server): \(reason)"
        case .serverRefused(let server, let state, let reason):
            "cannot use \(server): \(reason) (SQLSTATE \(state))"
        case .serverUnsafe(let server, let setting, let value, _):
            "\(server) can lose committed data: \(setting) is \(value)"
        }
    }

    /// The text of the hint.
    public var hint: String? {
        switch self {
        case .database(.damaged):
            "restore a backup, or move it away; a new one is then created without members, prekeys and waiting messages"
        case .database(let error): error.hint
        case .full(let name): DatabaseError.full(path: name).hint
        case .newerVersion(let name): DatabaseError.newerVersion(path: name).hint
        case .notEmpty: "use the name of a new store"
        case .badServerURL: "use a URL such as postgresql://user@host/database"
        case .serverAway: "check that the server runs and can be reached"
        case .serverUnsafe(_, "server_version", _, let needed): "use PostgreSQL \(needed)"
        case .serverUnsafe(_, let setting, _, let needed):
            "set \(setting) = \(needed) in postgresql.conf, and for the role and the database"
        case .serverRefused: nil
        }
    }

    /// The exit status, from sysexits(3).
    public var status: Int32 {
        switch self {
        case .database(let error): error.status
        case .full: 74
        case .newerVersion, .serverUnsafe: 78
        case .notEmpty: 73
        case .badServerURL: 64
        case .serverAway: 75
        case .serverRefused(_, let state, _): state.hasPrefix("28") ? 77 : 78
        }
    }
}
