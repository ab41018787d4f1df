public import Glibc
public import Sotto

extension IdentitySource {
    /// Changes the record in an identity file, which is replaced atomically and keeps its passphrase and its owner.
    /// `file` is an argument; without it, the file of `-i` or the default is changed. Returns the path.
    public func replaceRecord(
        argument file: String?, _ change: (inout JSONObject) throws -> Void
    ) throws -> String {
        guard file == nil || !isGiven else {
            throw Failure(.usage, "the identity is given twice: use either an argument or -i")
        }
        let path = try file ?? identities.first ?? IdentityFile.defaultPath()
        guard path != "-" else {
            throw Failure(.usage, "standard input cannot be changed", hint: "give a file name")
        }
        let original = try OriginalFile(path)
        var file = try IdentityFile.changed(path, passphrase: passphrase) { text in
            guard var record = try? JSON.object(parsing: text),
                (try? Identity(record: record)) != nil
            else {
                throw Failure(
                    .malformed, "\(path) is not a sotto identity and cannot be changed",
                    hint: "create one with sotto keygen -o FILE")
            }
            try change(&record)
            wipe(&text)
            text = record.serialized() + [UInt8(ascii: "\n")]
        }
        defer { wipe(&file) }
        // A symbolic link is kept: its target is replaced.
        guard let resolved = realpath(path, nil) else { throw Failure(errno: errno, "read", path) }
        defer { free(resolved) }
        let output = try Output(path: String(cString: resolved), content: .text)
        try output.write(file)
        try output.keepOwner(original.owner)
        try output.finish()
        return path
    }
}

/// The file to replace, locked so that no other process replaces it at the same time.
public final class OriginalFile {
    /// The owner of the file.
    public let owner: (user: uid_t, group: gid_t)
    private let descriptor: Int32

    /// Opens the file at `path` without reading it. `action` is what fails, in messages.
    public init(_ path: String, what action: String = "read the identity") throws(Failure) {
        // O_NONBLOCK: opening a pipe would otherwise wait for a writer.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(errno: errno, action, path) }
        self.descriptor = descriptor
        var (opened, named) = (stat(), stat())
        guard fstat(descriptor, &opened) == 0 else { throw Failure(errno: errno, "read", path) }
        owner = (opened.st_uid, opened.st_gid)
        guard opened.st_mode & S_IFMT == S_IFREG else {
            throw Failure(.usage, "\(path) is not a regular file and cannot be replaced")
        }
        guard opened.st_nlink == 1 else {
            throw Failure(
                .usage, "\(path) has further hard links, which would keep the old content",
                hint: "find them: find . -samefile \(shellWord(path))")
        }
        // A second process finds the lock taken, or the name belongs to a new file.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, stat(path, &named) == 0,
            (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)
        else { throw Failure(.tryAgain, "another process is changing \(path)") }
    }

    deinit { close(descriptor) }
}
