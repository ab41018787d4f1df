import Glibc
import SottoBytes

/// The place to which the name of an output file leads.
enum OutputPlace {
    /// A descriptor that this process has: `/dev/stdout`, `/dev/fd/N`, `/proc/self/fd/N`, or a link to one of them.
    case descriptor(Int32)
    /// A path whose last part is no symbolic link. Its file may not exist.
    case path(String)

    /// The most symbolic links that are followed, as in Linux.
    private static let mostLinks = 40

    /// Follows the symbolic links at `path`, also a dangling one.
    ///
    /// A link of another user in a directory in which all users may write is not followed, as with the setting
    /// `fs.protected_symlinks` of Linux.
    init(_ path: String) throws(Failure) {
        var place = path
        for _ in 0...Self.mostLinks {
            let (directory, name) = try Self.parts(of: place)
            if let number = Self.descriptor(name, in: directory) {
                self = .descriptor(number)
                return
            }
            var link = stat()
            guard lstat(place, &link) == 0, link.st_mode & S_IFMT == S_IFLNK else {
                self = .path(place)
                return
            }
            guard Self.isTrusted(link, in: directory) else {
                throw AtomicFile.failure(EACCES, path)
            }
            let target = try Self.target(of: place)
            place = target.hasPrefix("/") ? target : directory + "/" + target
        }
        throw AtomicFile.failure(ELOOP, path)
    }

    /// Returns the directory of a path without symbolic links, and the last part.
    private static func parts(of path: String) throws(Failure) -> (directory: String, name: String)
    {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let name = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? path
        let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard let real = realpath(directory, nil) else {
            throw AtomicFile.failure(errno, path)
        }
        defer { free(real) }
        return (String(cString: real), name)
    }

    private static func descriptor(_ name: String, in directory: String) -> Int32? {
        let process = "/proc/\(getpid())"
        guard
            directory == process + "/fd"
                || directory.hasPrefix(process + "/task/") && directory.hasSuffix("/fd")
        else { return nil }
        return Int32(name)
    }

    private static func isTrusted(_ link: stat, in directory: String) -> Bool {
        var parent = stat()
        guard stat(directory, &parent) == 0, parent.st_mode & S_ISVTX != 0,
            parent.st_mode & S_IWOTH != 0
        else { return true }
        return link.st_uid == geteuid() || link.st_uid == parent.st_uid
    }

    private static func target(of link: String) throws(Failure) -> String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { readlink(link, $0.baseAddress!, $0.count) }
        guard count > 0 else { throw AtomicFile.failure(errno, link) }
        guard let target = String(validating: buffer[..<count], as: UTF8.self) else {
            throw Failure(
                .cannotCreate, "the link \(link) leads to a path that is not UTF-8",
                hint: "name the file itself")
        }
        return target
    }
}
