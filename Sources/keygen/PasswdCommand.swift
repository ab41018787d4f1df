import Arguments
import Glibc
import Sotto
import SottoTool

/// `keygen passwd`: another passphrase for an identity file, or the first, or none.
struct PasswdCommand: Program {
    static let configuration = CommandConfiguration(
        name: "passwd",
        abstract: "Change the passphrase of an identity file, add one, or take it away.",
        usage: "keygen passwd [--unprotected] [--passphrase SOURCE] [FILE]",
        discussion: """
            The file is replaced whole or not at all, and holds what it held before. Copies of it keep their passphrase.

            EXAMPLES
              keygen passwd alice.key
              keygen passwd --unprotected alice.key
            """)

    @Option(
        "--passphrase", value: "source",
        help: "New passphrase: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var passphrase: SecretSource?

    @Flag("--unprotected", help: "Leave the file without a passphrase.")
    var unprotected = false

    @Flag("-q", "--quiet", help: "Say nothing on stderr.")
    var quiet = false

    @OptionGroup var identity: IdentityOptions

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    func validate() throws {
        try passphrase?.validate()
        guard passphrase == nil || !unprotected else {
            throw UsageError("--unprotected and --passphrase exclude each other")
        }
        guard file == nil || !identity.isGiven else {
            throw UsageError("give the identity once: as an argument or with -i")
        }
    }

    func execute() throws {
        let path = try file ?? identity.identities.first ?? IdentityFile.defaultPath()
        guard path != "-" else {
            throw Failure(.usage, "standard input has no passphrase to change", hint: "name a file")
        }
        let original = try OriginalFile(path)
        var content = try IdentityFile.content(of: path, passphrase: identity.passphrase)
        defer { wipe(&content.text) }
        guard !OpenSSHKey.isOpenSSH(content.text) else {
            throw Failure(
                .usage, "\(path) is a key of OpenSSH, which has passphrases of its own",
                hint: "ssh-keygen -p -f \(shellWord(path))")
        }
        guard content.protected != nil || !unprotected else {
            throw Failure(.no, "\(path) has no passphrase")
        }
        // A link stays one: what it names is replaced.
        guard let resolved = realpath(path, nil) else { throw Failure(errno: errno, "read", path) }
        defer { free(resolved) }
        let output = try Output(path: String(cString: resolved), content: .text)
        if unprotected {
            try output.write(content.text)
        } else {
            let new = Passphrase(try newSecret("passphrase", passphrase))
            try output.write(AgeFile.seal(content.text, for: .passphrase(new), armored: true))
        }
        try output.keepOwner(original.owner)
        try output.finish()
        // Copies of the old file shall not stay open either.
        if let old = content.protected { Keyring.delete(old) }
        guard !quiet else { return }
        let change =
            unprotected
            ? "has no passphrase now"
            : content.protected != nil ? "has a new passphrase" : "has a passphrase now"
        Terminal.say("\(KeygenTool.toolName): \(path) \(change)")
    }
}

/// The file that is replaced, locked, so that no other process replaces it at the same time.
final class OriginalFile {
    /// Whose it is.
    let owner: (user: uid_t, group: gid_t)
    private let descriptor: Int32

    init(_ path: String) throws(Failure) {
        // Whoever opens a pipe would wait for somebody who writes.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(errno: errno, "read the identity", path) }
        self.descriptor = descriptor
        var (opened, named) = (stat(), stat())
        guard fstat(descriptor, &opened) == 0 else { throw Failure(errno: errno, "read", path) }
        owner = (opened.st_uid, opened.st_gid)
        guard opened.st_mode & S_IFMT == S_IFREG else {
            throw Failure(.usage, "\(path) is no regular file, which alone can be replaced")
        }
        guard opened.st_nlink == 1 else {
            throw Failure(
                .usage, "\(path) has other names, under which it would stay as it is",
                hint: "find the other names: find . -samefile \(shellWord(path))")
        }
        // Who comes after another finds a lock, or that the name is another file's by now.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, stat(path, &named) == 0,
            (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)
        else { throw Failure(.tryAgain, "another process is changing \(path)") }
    }

    deinit { close(descriptor) }
}
