import Arguments
import Sotto
import SottoTool

struct ExportCommand: Program {
    static let configuration = CommandConfiguration(
        name: "export",
        abstract: "Write a key in another program's key file format.",
        usage: """
            sotto keygen export age [--classic] -o FILE [FILE]
            sotto keygen export ssh -o FILE [FILE]
            sotto keygen export minisign [--password SOURCE | --unprotected] -o FILE [FILE]
            sotto keygen export age|ssh|minisign --public-key [--classic] [-o FILE] [FILE]
            """,
        discussion: """
            age is an age identity file with the post-quantum and the classic key, for age 1.3 and newer; with --classic, \
            for every version of age. ssh is the signing key, which is the id, as an OpenSSH private key; minisign is the \
            same key as minisign's secret key, which is protected by a separate password. With --public-key, the public \
            key.

            EXAMPLES
              sotto keygen export age --classic -o alice.age alice.key
              sotto keygen export ssh -o ~/.ssh/id_alice alice.key
              sotto keygen export minisign --public-key alice.key > alice.pub
            """)

    enum Key: String, ExpressibleByArgument, CaseIterable {
        case age, ssh, minisign
    }

    @OptionGroup var destination: SecretFileOptions

    @OptionGroup var password: PasswordOptions

    @Flag("--unprotected", help: "Write minisign's key without a password.")
    var unprotected = false

    @Flag("--classic", help: "For age: write only the X25519 key, without the post-quantum key.")
    var classic = false

    @Flag("--public-key", help: "Write the public key.")
    var publicKey = false

    @OptionGroup var identity: IdentityOptions

    @Argument("key", help: "The format to write: age, ssh or minisign.")
    var key: Key

    @Argument("file", help: "Identity file. Default: as -i.")
    var file: String?

    let given = GivenArguments()

    func checkMode() throws { try given.check(for: ExportMode(key, isPublic: publicKey)) }

    func validate() throws {
        if unprotected { try given.refuse("--password", with: "--unprotected") }
    }

    func execute() throws {
        let output = try destination.open(tool: KeygenTool.toolName, secret: !publicKey)
        let identity = try identity.load(argument: file)
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
            // The program age does not encrypt one file to post-quantum and classic recipients.
            (classic ? identity.ageKey.recipient.text : identity.hybridKey.recipient.text) + "\n"
        case .ssh:
            "\(OpenSSHPublicKey(publicKey: identity.device.publicKey).text) \(comment(identity))\n"
        case .minisign: MinisignKey.publicFile(identity.device.publicKey)
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
        }
    }
}
