public import Sotto
public import SottoDatabase

/// An error of reading or writing local state.
public enum StateError: Error, Sendable, Equatable {
    /// A file of the state could not be used.
    case database(DatabaseError)
    /// No home directory is set for the state.
    case noHome
    /// Other users can access the directory `path`.
    case notPrivate(path: String)
    /// The directory `path` is shared with other users, such as `/tmp`, and must stay accessible to them.
    case shared(path: String)
    /// An encrypted record in `path` cannot be decrypted with this identity.
    case unsealable(path: String)
}

extension StateError: DatabaseFailure {
    package init(_ error: DatabaseError) { self = .database(error) }
}

/// A connection to a database of the state.
package typealias StateConnection = Connection<StateError>

extension StateError: ReportableError {
    /// The text of the error message.
    public var message: String {
        switch self {
        case .database(let error): error.message
        case .noHome: "no directory for the state: HOME is not set"
        case .notPrivate(let path): "the state directory \(path) is accessible to other users"
        case .shared(let path): "the state directory \(path) is shared with other users"
        case .unsealable(let path): "a record in \(path) cannot be decrypted with this identity"
        }
    }

    /// The text of the hint.
    public var hint: String? {
        switch self {
        case .database(.damaged), .unsealable:
            "restore a backup, or move it away; a new one is then created without sessions, contacts and messages"
        case .database(let error): error.hint
        case .noHome: "set the environment variable SOTTO_HOME to a directory"
        case .notPrivate(let path): "chmod 700 \(shellWord(path))"
        case .shared(let path):
            "use a directory of your own: export SOTTO_HOME=\(shellWord(path + "/sotto-state"))"
        }
    }

    /// The exit status, from sysexits(3).
    public var status: Int32 {
        switch self {
        case .database(let error): error.status
        case .noHome: 78
        case .notPrivate, .shared: 77
        case .unsealable: 74
        }
    }
}
