import Arguments
import Sotto
import SottoTool

struct ExportCommand: Program {
    static let configuration = CommandConfiguration(
        name: "export",
        abstract: "Write a key in another program's key file format.",
        usage: """
            keygen export age [--classic] [--public-key] [-o FILE] [FILE]
            keygen export ssh [--public-key] [-o FILE] [FILE]
            keygen export minisign [-o FILE] [--password SOURCE | --unprotected] [FILE]
            keygen export minisign --public-key [-o FILE] [FILE]
            keygen export ecp1 [-o KEYFILE] [--password SOURCE] [FILE]
            keygen export rsa [-o KEYFILE] [--password SOURCE | --unprotected] [FILE]
            """,
        discussion: """
            age is an age identity file with the post-quantum and the classic key, for age 1.3 and newer; with --classic, \
            for every version of age. ssh is the signing key, which is the id, as an OpenSSH private key; minisign is the \
            same key as minisign's secret key. With --public-key, the public key. ecp1 is Kecalek's key file with the \
            signing key; rsa is the RSA key for Mercurio in PKCS #8 PEM format. The last three are protected by a \
            separate password.

            EXAMPLES
              keygen export age --classic -o alice.age alice.key
              keygen export ssh -o ~/.ssh/id_alice alice.key
              keygen export minisign --public-key alice.key > alice.pub
              keygen export ecp1 -o alice.ecp1 alice.key
              keygen export rsa -o alice.pem alice.key
            """)

    enum Key: String, ExpressibleByArgument, CaseIterable {
        case age, ssh, minisign, ecp1, rsa

        /// Whether the key file can be protected by a password.
        var hasPassword: Bool { self == .minisign || self == .ecp1 || self == .rsa }
    }

    @OptionGroup var destination: SecretFileOptions

    @OptionGroup var password: PasswordOptions

    @Flag("--unprotected", help: "Write the RSA key or minisign's key without a password.")
    var unprotected = false

    @Flag("--classic", help: "For age: write only the X25519 key, without the post-quantum key.")
    var classic = false

    @Flag("--public-key", help: "Write the public key; for age, ssh and minisign.")
    var publicKey = false

    @OptionGroup var identity: IdentityOptions

    @Argument("key", help: "The format to write: age, ssh, minisign, ecp1 or rsa.")
    var key: Key

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    func validate() throws {
        guard !unprotected || key == .rsa || key == .minisign else {
            throw UsageError("--unprotected is only for rsa and minisign")
        }
        guard !unprotected || password.password == nil else {
            throw UsageError("--unprotected and --password cannot be combined")
        }
        guard password.password == nil || key.hasPassword else {
            throw UsageError("--password is only for minisign, ecp1 and rsa")
        }
        guard !classic || key == .age else { throw UsageError("--classic is only for age") }
        guard !publicKey || key != .ecp1 && key != .rsa else {
            throw UsageError("--public-key is only for age, ssh and minisign")
        }
        guard !publicKey || !unprotected && password.password == nil else {
            throw UsageError("--public-key needs no password")
        }
    }

    func execute() throws {
        let output = try destination.open(key == .ecp1 ? .binary : .text, secret: !publicKey)
        if key == .ecp1, output.isTerminal {
            throw Failure(
                .usage, "refusing to write a key file to the terminal",
                hint: "write to a file with -o, or redirect the output")
        }
        let identity = try load(identity, file)
        if publicKey {
            try output.writeText(publicText(of: identity))
        } else {
            try writeSecret(of: identity, to: output)
        }
        try output.finish()
    }

    private func publicText(of identity: Identity) -> String {
        switch key {
        case .age:
            // age refuses a file for both post-quantum and classic recipients.
            (classic ? identity.ageKey.recipient.text : identity.hybridKey.recipient.text) + "\n"
        case .ssh:
            "\(OpenSSHPublicKey(publicKey: identity.id.publicKey).text) \(comment(identity))\n"
        case .minisign, .ecp1, .rsa: MinisignKey.publicFile(identity.id.publicKey)
        }
    }

    /// Returns the comment of the key: the owner's name without white space, else the id.
    private func comment(_ identity: Identity) -> String {
        let visible = String(
            String.UnicodeScalarView(identity.name.unicodeScalars.filter { !$0.isInvisible }))
        let name = visible.split(whereSeparator: \.isWhitespace).joined(separator: "-")
        return name.isEmpty ? identity.id.description : name
    }

    private func writeSecret(of identity: Identity, to output: Output) throws {
        switch key {
        case .age:
            let (hybrid, classic) = (identity.hybridKey, identity.ageKey)
            if !self.classic {
                try output.write(Array("# public key: \(hybrid.recipient.text)\n".utf8))
                try output.write(Array("\(hybrid.text())\n".utf8))
            }
            try output.write(Array("# public key: \(classic.recipient.text)\n".utf8))
            try output.write(Array("\(classic.text())\n".utf8))
        case .ssh:
            let pem = OpenSSHKey.pem(identity.signingKey, comment: comment(identity))
            try pem.withBytes { try output.write($0) }
        case .minisign:
            let password =
                unprotected ? nil : Passphrase(try newSecret("password", password.password))
            guard let file = MinisignKey.secretFile(identity.signingKey, password: password) else {
                throw Failure(
                    .ioError, "256 MiB of memory for the password's key are not available")
            }
            try file.withBytes { try output.write($0) }
        case .ecp1:
            Terminal.say(
                "\(KeygenTool.toolName): warning: the password of an ECP1 file is easy to guess (PBKDF2); an identity file made with --protect is safer"
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
    }
}
