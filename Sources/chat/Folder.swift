import Glibc
import SottoBytes
import SottoProgram

/// The names in a folder, for the completion of paths.
enum Folder {
    private static let limit = 1000

    /// Returns the names in order; those of folders end with a slash. `~/` at the beginning is the home directory, and an empty text
    /// is the current folder. A folder that cannot be read has no names.
    static func names(_ folder: String) -> [String] {
        var path = folder.isEmpty ? "." : folder
        if folder.hasPrefix("~/"), let home = environmentVariable("HOME") {
            path = home + folder.dropFirst()
        }
        return directoryNames(path).names.sorted().prefix(limit).map { name in
            var entry = stat()
            let isFolder =
                stat("\(path)/\(name)", &entry) == 0 && entry.st_mode & S_IFMT == S_IFDIR
            return isFolder ? name + "/" : name
        }
    }
}
