import Arguments
import Glibc
import Sotto
import SottoMessengers
import SottoTool

/// `bridge passwd`: changes the password of a key file of Kecalek.
struct PasswdCommand: Program {
    static let configuration = CommandConfiguration(
        name: "passwd",
        abstract: "Change the password of a key file: ECP1, or an RSA key in PEM.",
        usage:
            "sotto bridge passwd [--password SOURCE] [--new-password SOURCE | --unprotected] FILE",
        discussion: """
            The file is replaced atomically, and its key does not change. Copies of it keep their password. An RSA key \
            without a password gets one. keygen passwd is for identity files.

            EXAMPLES
              sotto bridge passwd private.pem
              sotto bridge passwd --password @FILE:old --new-password @FILE:new identity.ecp1
            """)

    @OptionGroup var password: PasswordOptions

    @Option(
        "--new-password", value: "source",
        help: "New password: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask.")
    var newPassword: SecretSource?

    @Flag("--unprotected", help: "Remove the password of an RSA key.")
    var unprotected = false

    @Flag("-q", "--quiet", help: "Print nothing on stderr.")
    var quiet = false

    @Argument("file", help: "The key file.")
    var file: String

    let given = GivenArguments()

    func validate() throws {
        try newPassword?.validate()
        if unprotected { try given.refuse("--new-password", with: "--unprotected") }
    }

    func execute() throws {
        guard file != "-" else {
            throw Failure(
                .usage, "the password of standard input cannot be changed",
                hint: "give a file name")
        }
        let original = try OriginalFile(file, what: "read the key file")
        var content = try Input(path: file).readAll(limit: ECP1File.limit)
        defer { wipe(&content) }
        var changed = try content.starts(with: ECP1File.mark) ? ecp1(content) : rsa(content)
        defer { wipe(&changed) }
        // A symbolic link is kept: its target is replaced.
        guard let resolved = realpath(file, nil) else { throw Failure(errno: errno, "read", file) }
        defer { free(resolved) }
        let output = try Output(path: String(cString: resolved), content: .binary)
        try output.write(changed)
        try output.keepOwner(original.owner)
        try output.finish()
        guard !quiet else { return }
        let change = unprotected ? "no longer has a password" : "has a new password"
        Terminal.say("\(BridgeTool.toolName): \(file) \(change)")
    }

    private func secret() throws -> SecretBytes {
        try NewSecret("password", tool: BridgeTool.toolName).read(newPassword, warns: !quiet)
    }

    private func ecp1(_ content: [UInt8]) throws -> [UInt8] {
        guard !unprotected else {
            throw Failure(
                .usage, "an ECP1 file always has a password",
                hint: "make an identity of it: sotto bridge import ecp1 \(shellWord(file))")
        }
        let key = try ECP1File(content).open(
            password: KeyFile.password(of: file, password.password))
        return try ECP1File(sealing: key, password: secret()).bytes
    }

    private func rsa(_ content: [UInt8]) throws -> [UInt8] {
        guard !unprotected || RSALoginKey.isEncrypted(file: content) else {
            throw Failure(.no, "\(file) has no password")
        }
        let key = try KeyFile.loginKey(at: file, password.password)
        return Array((unprotected ? key.pem() : key.pem(password: try secret())).utf8)
    }
}
