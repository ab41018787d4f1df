import ArgumentParser
import Sotto
import SottoTool

struct ExportCommand: Program {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write a secret key in the form of another messenger's key file.",
        usage: """
            keygen export ecp1 [-o KEYFILE] [--password SOURCE] [FILE]
            keygen export rsa [-o KEYFILE] [--password SOURCE | --unprotected] [FILE]
            """,
        discussion: """
            ecp1 is Kecalek's key file with the signing key, which is the id; rsa is the RSA key for Mercurio, a PEM \
            of PKCS #8. Each is under a password of its own.

            EXAMPLES
              keygen export ecp1 -o alice.ecp1 alice.key
              keygen export rsa -o alice.pem alice.key
            """)

    enum Key: String, ExpressibleByArgument, CaseIterable {
        case ecp1, rsa
    }

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "File to make, mode 0600; it is never overwritten. Default: stdout.",
            valueName: "file"))
    var output: String?

    @OptionGroup var password: PasswordOptions

    @Flag(help: "Write the RSA key without a password.")
    var unprotected = false

    @OptionGroup var identity: IdentityOptions

    @Argument(help: "What to write: ecp1 or rsa.")
    var key: Key

    @Argument(help: "Identity file. Default: as -i.")
    var file: String?

    func validate() throws {
        guard !unprotected || key == .rsa else {
            throw ValidationError("--unprotected goes with rsa")
        }
        guard !unprotected || password.password == nil else {
            throw ValidationError("--unprotected and --password exclude each other")
        }
    }

    func execute() throws {
        let output = try Output(
            path: output, content: key == .ecp1 ? .binary : .text, replacing: false)
        if key == .ecp1, output.isTerminal {
            throw Failure(
                .usage, "refusing to write a key file to the terminal",
                hint: "name a file with -o, or redirect it")
        }
        output.keepPrivate(tool: KeygenTool.toolName)
        let identity = try load(identity, file)
        switch key {
        case .ecp1:
            Terminal.say(
                "\(KeygenTool.toolName): warning: the password of an ECP1 file is cheap to guess (PBKDF2): keygen --protect is the better form"
            )
            let file = try ECP1File(
                sealing: identity.signingSeed(),
                password: try newSecret("password", password.password))
            try output.write(file.bytes)
        case .rsa:
            guard let key = try identity.rsaKey() else { throw SuiteError.noRSAKey }
            if unprotected {
                try key.pem().withBytes { try output.write($0) }
            } else {
                let password = try newSecret("password", password.password)
                try output.write(Array(key.pem(password: password).utf8))
            }
        }
        try output.finish()
    }
}
