public import SottoBytes
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
    /// The list of the owner's devices is private, and another device than the first one would give out the owner's card.
    case privateDevices
    /// Another device than the first one has no card of the owner yet.
    case noOwnersCard
    /// The list of the owner's devices has this one no more.
    case removedDevice
}

extension StateError {
    /// Whether only the work that needs one record fails, and not the work on others.
    public var isOfOneRecord: Bool {
        switch self {
        case .unsealable, .damagedGroup, .unknownItem: true
        case .database, .noHome, .notUTF8, .notPrivate, .shared, .privateDevices,
            .noOwnersCard, .removedDevice:
            false
        }
    }

    /// Whether a disk has no space.
    public var isOfFullDisk: Bool { if case .database(.full) = self { true } else { false } }
}

extension StateError: DatabaseFailure {
    package init(_ error: DatabaseError) { self = .database(error) }
}

/// A connection to a database of the state.
package typealias StateConnection = Connection<StateError>

extension StateError: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .database(.damaged(let path)):
            Failure(
                .ioError, DatabaseError.damaged(path: path).failure.message, hint: Self.lostHint)
        case .database(let error): error.failure
        case .noHome:
            Failure(
                .configuration, "no directory for the state: HOME is not set",
                hint: "set the environment variable SOTTO_HOME to a directory")
        case .notUTF8(let variable): .notUTF8(variable: variable)
        case .notPrivate(let path):
            Failure(
                .permission, "the state directory \(path) is accessible to other users",
                hint: "chmod 700 \(shellWord(path))")
        case .shared(let path):
            Failure(
                .permission, "the state directory \(path) is shared with other users",
                hint:
                    "use a directory of your own: export SOTTO_HOME=\(shellWord(path + "/sotto-state"))"
            )
        case .unsealable(let path):
            Failure(
                .ioError, "a record in \(path) cannot be decrypted with this identity",
                hint: "restore a backup; if it is a contact, remove it and add it again")
        case .damagedGroup(let id, let path):
            Failure(
                .ioError, "the group \(id) cannot be read: its changes in \(path) are damaged",
                hint: "restore a backup; the other groups are not concerned")
        case .unknownItem(let id):
            Failure(
                .ioError, "the item \(id) in the outbox is of an unknown kind",
                hint: "delete it: sotto send --drop \(shellWord(id))")
        case .privateDevices:
            Failure(
                .usage, "only machine one does this: your list of devices is private",
                hint: "run this command there")
        case .noOwnersCard:
            Failure(
                .noInput, "this device does not have your card and your list of devices yet",
                hint:
                    "run on machine one, and then read the mail here: sotto device announce --send")
        case .removedDevice:
            Failure(
                .untrusted,
                "this machine is no device of yours any more: machine one removed it, and nobody takes its messages",
                hint: "to add it again, move its identity away: sotto device request --help")
        }
    }

    private static let lostHint =
        "restore a backup, or move it away; a new one is then created without sessions, contacts and messages"
}
