public import Glibc
import Sotto

extension Output {
    /// Sees to it that others cannot read the secret that will be written: a new file that a shell made for
    /// stdout gets mode 0600, and of any other that others can read a warning is said, with what to do.
    ///
    /// A file with content, or of another owner, is not changed: its mode is somebody's decision.
    public func keepPrivate(tool: String, quiet: Bool = false) {
        var status = stat()
        guard !isFile, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_mode & 0o077 != 0
        else { return }
        if status.st_size == 0, status.st_uid == geteuid(), fchmod(descriptor, 0o600) == 0 {
            if !quiet {
                Terminal.say("\(tool): note: others could read the output; it has mode 0600 now")
            }
            return
        }
        Terminal.say("\(tool): warning: others can read the output, which holds a secret")
        if let path = Self.path(of: descriptor) {
            Terminal.say("\(tool): hint: chmod 600 \(shellWord(path))")
        }
    }

    /// Gives the new file to the owner of the one that it replaces. Throws a failure where that is not allowed.
    public func keepOwner(_ owner: (user: uid_t, group: gid_t)) throws(Failure) {
        var status = stat()
        guard isFile, fstat(descriptor, &status) == 0,
            (status.st_uid, status.st_gid) != (owner.user, owner.group)
        else { return }
        guard fchown(descriptor, owner.user, owner.group) == 0 else {
            // A group that is not ours is nobody's loss: the group has no rights.
            if status.st_uid == owner.user { return }
            throw Failure(errno: errno, "keep the owner of", "the file")
        }
    }

    private static func path(of descriptor: Int32) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes {
            readlink("/proc/self/fd/\(descriptor)", $0.baseAddress!, $0.count)
        }
        return count > 0 ? String(validating: buffer[..<count], as: UTF8.self) : nil
    }
}
