import ArgumentParser
import Sotto
import SottoTool

struct LoginKeyCommand: Program {
    static let configuration = CommandConfiguration(
        commandName: "login-key",
        abstract: "Make the RSA key with which Kecalek's clients log in, or print its public half.",
        usage: """
            keygen login-key [--bits N] [--password SOURCE | --unprotected] -o PEM
            keygen login-key --public PEM [--password SOURCE]
            keygen login-key --record PEM [--password SOURCE] [-i FILE]
            keygen login-key --revoke [-i FILE]
            """,
        discussion: """
            With --record the identity signs that the key may log in for it at a relay, and with --revoke that none \
            may any more; give either to send.

            EXAMPLES
              keygen login-key -o private.pem
              keygen login-key --record private.pem | send
              recv --login-key private.pem --of alice.card
            """)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Length of the key: 2048, 3072 or 4096 bits.", valueName: "n"))
    var bits = RSALoginKey.Size.bits3072.rawValue

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "File to make, mode 0600; it is never overwritten. Default: stdout.",
            valueName: "file"))
    var output: String?

    @OptionGroup var password: PasswordOptions

    @Flag(help: "Write the key without a password.")
    var unprotected = false

    @Option(
        name: .customLong("public"),
        help: ArgumentHelp("Print the public half of the key in this file.", valueName: "file"),
        completion: .file())
    var publicHalf: String?

    @Option(
        help: ArgumentHelp(
            "Print a record that lets the key in this file log in for the identity.",
            valueName: "file"),
        completion: .file())
    var record: String?

    @Flag(help: "Print a record that lets no RSA key log in for the identity.")
    var revoke = false

    @OptionGroup var identity: IdentityOptions

    func validate() throws {
        guard !(record != nil && (revoke || publicHalf != nil || output != nil || unprotected)),
            !(revoke
                && (publicHalf != nil || output != nil || unprotected || password.password != nil))
        else {
            throw ValidationError("--record and --revoke print a record, and go alone")
        }
        guard record != nil || revoke || identity.identities.isEmpty && identity.passphrase == nil
        else {
            throw ValidationError("-i goes with --record and --revoke")
        }
        guard RSALoginKey.Size(rawValue: bits) != nil else {
            throw ValidationError("--bits is 2048, 3072 or 4096")
        }
        guard !unprotected || password.password == nil else {
            throw ValidationError("--unprotected and --password exclude each other")
        }
        guard publicHalf == nil || output == nil && !unprotected else {
            throw ValidationError("--public goes without -o and --unprotected")
        }
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
        let output = try Output(path: output, content: .text, replacing: false)
        output.keepPrivate(tool: KeygenTool.toolName)
        guard let size = RSALoginKey.Size(rawValue: bits) else { return }
        let pem: String
        if unprotected {
            pem = RSALoginKey(size: size).pem()
        } else {
            let password = try newSecret("password", password.password)
            pem = RSALoginKey(size: size).pem(password: password)
        }
        try output.write(Array(pem.utf8))
        try output.finish()
    }
}
