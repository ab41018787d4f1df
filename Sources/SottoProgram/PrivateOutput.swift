public import Glibc
public import SottoBytes

extension Output {
    /// Prevents other users from reading the secret that will be written. A new file that a shell created for stdout
    /// gets mode 0600; for any other file that other users can read, a warning tells what to do.
    ///
    /// The mode of a file that has content or another owner is not changed, because it may be intended.
    public func keepPrivate(tool: String, quiet: Bool = false) {
        var status = stat()
        guard !isFile, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_mode & 0o077 != 0
        else { return }
        if status.st_size == 0, status.st_uid == geteuid(), fchmod(descriptor, 0o600) == 0 {
            if !quiet {
                Terminal.say(
                    "\(tool): note: other users could read the output; its mode is now 0600")
            }
            return
        }
        Terminal.say("\(tool): warning: other users can read the output, which contains a secret")
        if let path = RegularFile.path(of: descriptor) {
            Terminal.say("\(tool): hint: chmod 600 \(shellWord(path))")
        }
    }

    /// Gives the new file to the owner of the replaced file. Throws a failure if that is not permitted.
    public func keepOwner(_ owner: (user: uid_t, group: gid_t)) throws(Failure) {
        var status = stat()
        guard isFile, fstat(descriptor, &status) == 0,
            (status.st_uid, status.st_gid) != (owner.user, owner.group)
        else { return }
        guard fchown(descriptor, owner.user, owner.group) == 0 else {
            // The group may stay different: it has no access to the file.
            if status.st_uid == owner.user { return }
            throw Failure(errno: errno, "keep the owner of", "the file")
        }
    }
}
