import Glibc

/// The regular files that an argument or a redirection names.
public enum RegularFile {
    /// Returns whether a regular file has this path, also one that a link leads to.
    public static func exists(at path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Returns the path of the regular file behind a descriptor, from the present folder if it is in it; `nil` for a pipe, a
    /// terminal, and a file without a name.
    public static func path(of descriptor: Int32) -> String? {
        guard let path = link("/proc/self/fd/\(descriptor)"), exists(at: path) else { return nil }
        guard let folder = link("/proc/self/cwd"), path.hasPrefix(folder + "/") else { return path }
        let name = String(path.dropFirst(folder.count + 1))
        // A name such as -q is no option with its folder.
        return name.hasPrefix("-") ? path : name
    }

    private static func link(_ path: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { readlink(path, $0.baseAddress!, $0.count) }
        return count > 0 ? String(validating: buffer[..<count], as: UTF8.self) : nil
    }
}
