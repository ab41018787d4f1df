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
        case .locked, .cannotOpen, .otherFormat, .notDurable, .inputOutput, .damaged, .unexpected:
            self = .database(error)
        }
    }
}

/// A connection to a store in a SQLite file.
typealias StoreConnection = Connection<StoreError>
