import Sotto
import SottoContacts
import SottoTool

/// Verifies a minisign signature of the input by one of the `--from` signers.
struct DetachedVerification {
    let tool: DecryptTool
    /// The path of the signature file.
    let path: String

    func run() throws {
        guard !tool.senders.from.isEmpty else {
            throw Failure(
                .usage, "--verify requires the expected signer",
                hint: "give the signer's card: --from CARD")
        }
        guard tool.output == nil, !tool.form.text, !tool.preview, !tool.hold else {
            throw Failure(
                .usage,
                "--verify writes no plaintext and cannot be combined with -o, --text or --hold")
        }
        guard path != "-" || tool.file != nil && tool.file != "-" else {
            throw Failure(.usage, "standard input can be the signature or the file, not both")
        }
        let signature = try MinisignSignature(
            try Input(path: path).readAll(limit: MinisignSignature.limit))
        let signers = try DemandedSigners(
            tool.senders.from, AddressBook(tool.identity.load, lockTimeout: tool.lock.timeout)
        ).all
        let input = try Input(path: tool.file)
        let hash = MinisignHash()
        try copy(
            from: input, to: hash,
            progress: Progress(tool: DecryptTool.toolName, quiet: tool.quiet))
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
        guard !tool.quiet else { return }
        let id = signer.id.description
        Terminal.say("decrypt: signed by \(id)" + (signer.name == id ? "" : " (\(signer.name))"))
        if !signature.trustedComment.isEmpty {
            Terminal.say("decrypt: trusted comment: \(signature.trustedComment)")
        }
    }
}
