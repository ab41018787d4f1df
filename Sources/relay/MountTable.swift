import Glibc
import Sotto

/// Which file system a place is on, from proc(5).
enum MountTable {
    /// The type of the file system of a directory, such as `ext4`; `nil` where that is not known.
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
            // Of two on one point the later one hides the other.
            guard isAbove, point.utf8.count >= found?.length ?? 0 else { continue }
            found = (point.utf8.count, String(fields[dash + 1]))
        }
        return found?.type
    }

    /// Whether the disk of a type of file system is another machine's.
    static func isNetwork(_ type: String) -> Bool {
        [
            "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre",
            "gfs2", "ocfs2", "ncpfs", "virtiofs", "vboxsf",
        ].contains(type) || type.hasPrefix("fuse.")
    }

    /// A path of the table, in which white space is written in octal.
    private static func unescaped(_ text: Substring) -> String {
        String(text).replacingAll("\\040", with: " ").replacingAll("\\011", with: "\t")
            .replacingAll("\\012", with: "\n").replacingAll("\\134", with: "\\")
    }
}
