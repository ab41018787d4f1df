import Arguments
import Glibc
import Sotto
import SottoTool

/// `keygen passwd`: changes, adds or removes the passphrase of an identity file.
struct PasswdCommand: Program {
    static let configuration = CommandConfiguration(
        name: "passwd",
        abstract: "Change, add or remove the passphrase of an identity file.",
        usage: "sotto keygen passwd [--unprotected] [--passphrase SOURCE] [FILE]",
        discussion: """
            The file is replaced atomically, and its keys do not change. Copies of it keep their passphrase.

            EXAMPLES
              sotto keygen passwd alice.key
              sotto keygen passwd --unprotected alice.key
            """)

    @Option(
        "--passphrase", value: "source",
        help: "New passphrase: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var passphrase: SecretSource?

    @Flag("--unprotected", help: "Remove the passphrase.")
    var unprotected = false

    @Flag("-q", "--quiet", help: "Print nothing on stderr.")
    var quiet = false

    @OptionGroup var identity: IdentityOptions

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    func validate() throws {
        try passphrase?.validate()
        guard passphrase == nil || !unprotected else {
            throw UsageError("--unprotected and --passphrase cannot be combined")
        }
        guard file == nil || !identity.isGiven else {
            throw UsageError("the identity is given twice: use either an argument or -i")
        }
    }

    func execute() throws {
        let path = try file ?? identity.identities.first ?? IdentityFile.defaultPath()
        guard path != "-" else {
            throw Failure(
                .usage, "the passphrase of standard input cannot be changed",
                hint: "give a file name")
        }
        let original = try OriginalFile(path)
        var content = try IdentityFile.content(of: path, passphrase: identity.passphrase)
        defer { wipe(&content.text) }
        guard !OpenSSHKey.isOpenSSH(content.text) else {
            throw Failure(
                .usage, "\(path) is an OpenSSH key; use ssh-keygen to change its passphrase",
                hint: "ssh-keygen -p -f \(shellWord(path))")
        }
        guard content.protected != nil || !unprotected else {
            throw Failure(.no, "\(path) has no passphrase")
        }
        // A symbolic link is kept: its target is replaced.
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
        // The unlocked key is deleted, so that copies of the old file do not stay unlocked.
        if let old = content.protected { Keyring.delete(old) }
        guard !quiet else { return }
        let change =
            unprotected
            ? "no longer has a passphrase"
            : content.protected != nil ? "has a new passphrase" : "now has a passphrase"
        Terminal.say("\(KeygenTool.toolName): \(path) \(change)")
    }
}
