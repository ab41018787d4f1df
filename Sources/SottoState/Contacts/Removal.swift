import Glibc
import Sotto
import SottoDatabase

/// Removal of the whole state of an identity.
extension IdentityStore {
    /// Removes the state's files. The store cannot be used afterwards.
    ///
    /// Throws ``StateError/database(_:)`` with ``DatabaseError/locked(what:)`` if another process has the state open.
    public func remove() throws(StateError) {
        // The change of the mode needs the file for this process alone, and copies the log into the file.
        try use { connection throws(StateError) in
            try connection.run("PRAGMA journal_mode = DELETE")
            guard try connection.first("PRAGMA journal_mode", read: { $0.text(0) }) == "delete"
            else {
                throw .database(.locked(what: database.path))
            }
        }
        do throws(DatabaseError) { try database.close() } catch { throw .database(error) }
        guard let slash = database.path.lastIndex(of: "/") else { return }
        let directory = String(database.path[..<slash])
        let name = String(database.path[database.path.index(after: slash)...])
        for file in directoryNames(directory).names
        where file == name || file.hasPrefix(name + "-") {
            unlink(directory + "/" + file)
        }
        unlink("\(directory)/\(owner.device).recv-lock")
        guard access(database.path, F_OK) != 0 else {
            throw .database(.cannotOpen(path: database.path, code: EACCES))
        }
    }
}
