import Glibc
import Sotto

/// Finds the file system of a directory, from proc(5).
enum MountTable {
    /// Returns the type of a directory's file system, such as `ext4`, or `nil` if it is unknown.
    static func type(of directory: String) -> String? {
        guard let real = realpath(directory, nil), let file = fopen("/proc/self/mountinfo", "re")
        else { return nil }
        defer {
            free(real)
            fclose(file)
        }
        let path = String(cString: real) + "/"
        var found: (length: Int, type: String)?
        var line: UnsafeMutablePointer<CChar>?
        var size = 0
        defer { free(line) }
        while getline(&line, &size, file) > 0, let line {
            // 36 35 98:0 /root /mount/point options optional fields - type source options
            let fields = String(cString: line).split(separator: " ")
            guard fields.count > 6, let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count
            else { continue }
            let point = unescaped(fields[4])
            let isAbove = path.hasPrefix(point == "/" ? "/" : point + "/")
            // A later file system on the same mount point hides an earlier one.
            guard isAbove, point.utf8.count >= found?.length ?? 0 else { continue }
            found = (point.utf8.count, String(fields[dash + 1]))
        }
        return found?.type
    }

    /// Whether a type of file system is on another machine.
    static func isNetwork(_ type: String) -> Bool {
        [
            "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre",
            "gfs2", "ocfs2", "ncpfs", "virtiofs", "vboxsf",
        ].contains(type) || type.hasPrefix("fuse.")
    }

    /// Decodes a path of the table, in which white space is written in octal.
    private static func unescaped(_ text: Substring) -> String {
        String(text).replacingAll("\\040", with: " ").replacingAll("\\011", with: "\t")
            .replacingAll("\\012", with: "\n").replacingAll("\\134", with: "\\")
    }
}
