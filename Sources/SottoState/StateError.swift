public import SottoDatabase

/// An error of reading or writing local state.
public enum StateError: Error, Sendable, Equatable {
    /// A file of the state could not be used.
    case database(DatabaseError)
    /// No home directory is set for the state.
    case noHome
    /// A variable of the environment with the path of the state is not UTF-8.
    case notUTF8(variable: String)
    /// Other users can access the directory `path`.
    case notPrivate(path: String)
    /// The directory `path` is shared with other users, such as `/tmp`, and must stay accessible to them.
    case shared(path: String)
    /// An encrypted record in `path` cannot be decrypted with this identity.
    case unsealable(path: String)
    /// A change of a group in `path` is damaged. `id` is the beginning of the group's id.
    case damagedGroup(id: String, path: String)
    /// An item of the outbox is of an unknown kind. `id` is its id.
    case unknownItem(id: String)
}

extension StateError {
    /// Whether only the work that needs one record fails, and not the work on others.
    public var isOfOneRecord: Bool {
        switch self {
        case .unsealable, .damagedGroup, .unknownItem: true
        case .database, .noHome, .notUTF8, .notPrivate, .shared: false
        }
    }
}

extension StateError: DatabaseFailure {
    package init(_ error: DatabaseError) { self = .database(error) }
}

/// A connection to a database of the state.
package typealias StateConnection = Connection<StateError>
