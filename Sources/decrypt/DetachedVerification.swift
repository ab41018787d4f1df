import Sotto
import SottoContacts
import SottoMessages
import SottoTool

/// Verifies a minisign signature of the input by one of the `--from` signers.
struct DetachedVerification {
    /// The path of the signature file.
    let signature: String
    let file: String?
    let from: [String]
    let identity: IdentityChoice
    let lockTimeout: Double
    let quiet: Bool

    func run() throws {
        let source = PeekingSource(try Input(path: signature))
        try source.skipByteOrderMark()
        let signature = try MinisignSignature(try source.peek(MinisignSignature.limit))
        let signers = try DemandedSigners(
            from, AddressBook(identity.load, lockTimeout: lockTimeout)
        ).all
        let input = try Input(path: file)
        let hash = MinisignHash()
        try copy(
            from: input, to: hash,
            progress: Progress(tool: DecryptTool.toolName, quiet: quiet))
        hash.finish()
        for signer in signers
        where signature.isSignature(of: hash.value, by: signer.id.publicKey) {
            try signature.verify(hash: hash.value, by: signer.id.publicKey)
            say(signer, signature)
            return
        }
        let isTheirs = signers.contains {
            signature.names($0.id.publicKey) || signature.isMade(by: $0.id.publicKey)
        }
        guard isTheirs else {
            throw Failure(
                .untrusted,
                "the signature is by the key \(signature.keyName), which is not the required signer's",
                hint: "compare the ids with fingerprint")
        }
        throw MinisignError.signature
    }

    private func say(_ signer: Correspondent, _ signature: MinisignSignature) {
        guard !quiet else { return }
        let id = signer.id.description
        Terminal.say("decrypt: signed by \(id)" + (signer.name == id ? "" : " (\(signer.name))"))
        if !signature.trustedComment.isEmpty {
            Terminal.say("decrypt: trusted comment: \(signature.trustedComment)")
        }
    }
}
