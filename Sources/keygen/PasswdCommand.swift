import ArgumentParser
import Glibc
import Sotto
import SottoTool

/// `keygen passwd`: another passphrase for an identity file, or the first, or none.
struct PasswdCommand: Program {
    static let configuration = CommandConfiguration(
        commandName: "passwd",
        abstract: "Change the passphrase of an identity file, add one, or take it away.",
        usage: "keygen passwd [--unprotected] [--passphrase SOURCE] [FILE]",
        discussion: """
            The file is replaced whole or not at all, and holds what it held before. Copies of it keep their passphrase.

            EXAMPLES
              keygen passwd alice.key
              keygen passwd --unprotected alice.key
            """)

    @Option(
        help: ArgumentHelp(
            "New passphrase: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.", valueName: "source"))
    var passphrase: SecretSource?

    @Flag(help: "Leave the file without a passphrase.")
    var unprotected = false

    @Flag(name: [.short, .long], help: "Say nothing on stderr.")
    var quiet = false

    @OptionGroup var identity: IdentityOptions

    @Argument(help: "Identity file. Default: as -i.")
    var file: String?

    func validate() throws {
        try passphrase?.validate()
        guard passphrase == nil || !unprotected else {
            throw ValidationError("--unprotected and --passphrase exclude each other")
        }
        guard file == nil || !identity.isGiven else {
            throw ValidationError("give the identity once: as an argument or with -i")
        }
        guard identity.identities.count <= 1 else {
            throw ValidationError("one identity at a time")
        }
    }

    func execute() throws {
        let path = try file ?? identity.identities.first ?? IdentityFile.defaultPath()
        guard path != "-" else {
            throw Failure(.usage, "standard input has no passphrase to change", hint: "name a file")
        }
        var content = try IdentityFile.content(of: path, passphrase: identity.passphrase)
        defer { wipe(&content.text) }
        guard !OpenSSHKey.isOpenSSH(content.text) else {
            throw Failure(
                .usage, "\(path) is a key of OpenSSH, which has passphrases of its own",
                hint: "ssh-keygen -p -f \(path)")
        }
        guard content.isProtected || !unprotected else {
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
        try output.finish()
        guard !quiet else { return }
        let change =
            unprotected
            ? "has no passphrase now"
            : content.isProtected ? "has a new passphrase" : "has a passphrase now"
        Terminal.say("\(KeygenTool.toolName): \(path) \(change)")
    }
}
