import Arguments
import Sotto
import SottoTool

struct LoginKeyCommand: Program {
    static let configuration = CommandConfiguration(
        name: "login-key",
        abstract: "Create the RSA key for the login of Kecalek's clients, or print its public key.",
        usage: """
            sotto bridge login-key [--bits N] [--password SOURCE | --unprotected] -o PEM
            sotto bridge login-key --public PEM [--password SOURCE]
            sotto bridge login-key --record PEM [--password SOURCE] [-i FILE]
            sotto bridge login-key --revoke [-i FILE]
            """,
        discussion: """
            With --record the identity signs a record that allows the key to log in for it at a relay, and with --revoke \
            a record that revokes it. Pipe either record into send.

            EXAMPLES
              sotto bridge login-key -o private.pem
              sotto bridge login-key --record private.pem | sotto send
              sotto recv --login-key private.pem --of alice.card
            """)

    @Option("--bits", value: "n", help: "Length of the key: 2048, 3072 or 4096 bits.", values: .any)
    var bits = RSALoginKey.Size.bits3072.rawValue

    @OptionGroup var destination: SecretFileOptions

    @OptionGroup var password: PasswordOptions

    @Flag("--unprotected", help: "Write the key without a password.")
    var unprotected = false

    @Option("--public", value: "file", help: "Print the public key of the key in this file.")
    var publicHalf: String?

    @Option(
        "--record", value: "file",
        help: "Print a record that allows the key in this file to log in for the identity.")
    var record: String?

    @Flag("--revoke", help: "Print a record that revokes the identity's RSA login key.")
    var revoke = false

    @OptionGroup var identity: IdentityOptions

    let given = GivenArguments()

    func checkMode() throws { try given.check(for: mode) }

    func validate() throws {
        if unprotected { try given.refuse("--password", with: "--unprotected") }
        guard RSALoginKey.Size(rawValue: bits) != nil else {
            throw UsageError("--bits must be 2048, 3072 or 4096")
        }
    }

    private var mode: LoginKeyMode {
        if record != nil { return .record }
        if revoke { return .revocation }
        return publicHalf == nil ? .new : .publicKey
    }

    func execute() throws {
        if record != nil || revoke {
            let key = try record.map { try KeyFile.loginKey(at: $0, password.password).publicKey }
            let record = LoginKeyRecord(key, of: try identity.load(), issued: .now())
            let output = try Output(path: "-", content: .text)
            try output.writeLine(record.record)
            return try output.finish()
        }
        if let publicHalf {
            let key = try KeyFile.loginKey(at: publicHalf, password.password)
            let output = try Output(path: "-", content: .text)
            try output.writeText(key.publicPEM())
            return try output.finish()
        }
        let output = try destination.open(tool: BridgeTool.toolName)
        guard let size = RSALoginKey.Size(rawValue: bits) else { return }
        let pem: String
        if unprotected {
            pem = RSALoginKey(size: size).pem()
        } else {
            let password = try NewSecret("password", tool: BridgeTool.toolName).read(
                password.password)
            pem = RSALoginKey(size: size).pem(password: password)
        }
        try output.write(Array(pem.utf8))
        try output.finish()
    }
}
