import Glibc
import Sotto
import SottoDatabase

/// The directory that holds the user's state. Other users cannot access it.
public struct StateDirectory: Sendable {
    /// The path of the directory.
    public let path: String

    /// Returns `$SOTTO_HOME`, else `$XDG_STATE_HOME/sotto`, else `~/.local/state/sotto`; creates it if it is missing.
    public static func standard() throws(StateError) -> StateDirectory {
        try StateDirectory(path: standardPath())
    }

    /// Returns the same directory, or `nil` if it is missing; does not create it.
    public static func existing() throws(StateError) -> StateDirectory? {
        let path = try standardPath()
        return access(path, F_OK) == 0 ? try StateDirectory(path: path) : nil
    }

    private static func standardPath() throws(StateError) -> String {
        // With its bytes replaced, a path that is not UTF-8 would name another directory.
        func variable(_ name: String) throws(StateError) -> String? {
            guard let value = getenv(name) else { return nil }
            guard let path = String(validatingCString: value) else {
                throw .notUTF8(variable: name)
            }
            return path.isEmpty ? nil : path
        }
        if let home = try variable("SOTTO_HOME") { return home }
        if let state = try variable("XDG_STATE_HOME"), state.hasPrefix("/") {
            return state + "/sotto"
        }
        guard let home = try variable("HOME") else { throw .noHome }
        return home + "/.local/state/sotto"
    }

    /// Opens the directory `path`. Creates it with mode 0700, and its parents, if it is missing.
    ///
    /// Throws ``StateError/notPrivate(path:)`` if its mode gives other users access, or ``StateError/shared(path:)`` if
    /// it does not belong to this user alone.
    public init(path: String) throws(StateError) {
        self.path = path
        var status = stat()
        if stat(path, &status) != 0 {
            try Self.make(path)
            guard stat(path, &status) == 0 else {
                throw .database(.cannotOpen(path: path, code: errno))
            }
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw .database(.cannotOpen(path: path, code: ENOTDIR))
        }
        guard status.st_mode & 0o077 == 0 else {
            // Removing the access of other users to a shared directory would break their files in it.
            let isShared = status.st_mode & S_ISVTX != 0 || status.st_uid != geteuid()
            throw isShared ? .shared(path: path) : .notPrivate(path: path)
        }
    }

    private static func make(_ path: String) throws(StateError) {
        let slash = path.lastIndex(of: "/")
        let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            guard errno == ENOENT, parent != "/", parent != "." else {
                throw .database(.cannotOpen(path: path, code: errno))
            }
            try make(parent)
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
                throw .database(.cannotOpen(path: path, code: errno))
            }
        }
        let code = synchronizeDirectory(parent)
        guard code == 0 else { throw .database(.inputOutput(path: parent, code: code)) }
    }

    /// Returns the path of a file in the directory.
    public func file(_ name: String) -> String { path + "/" + name }

    /// Opens or creates a database of a kind in the directory. What is deleted from it is overwritten.
    func database(
        _ name: String, kind: Int32, migrations: [String], lockTimeout: Double
    ) throws(StateError) -> DurableDatabase {
        do throws(DatabaseError) {
            return try DurableDatabase(
                path: file(name), kind: kind, migrations: migrations, lockTimeout: lockTimeout,
                erases: true)
        } catch {
            throw .database(error)
        }
    }
}
