import Sotto
import SottoContacts
import SottoOpenSSL
import SottoTool

/// Decrypts an age file, and verifies the signature inside if it has one.
struct FileDecryption {
    let tool: DecryptTool
    let input: Input
    let source: any ByteSource
    let signers: DemandedSigners
    private let identities: () throws -> [IdentityFile]

    init(tool: DecryptTool, input: Input, source: any ByteSource) throws {
        self.tool = tool
        self.input = input
        self.source = source
        signers = try DemandedSigners(
            tool.senders.from, AddressBook(tool.identity.load, lockTimeout: tool.lock.timeout))
        identities = { try tool.identity.loadAll(derivation: BcryptPBKDF.derivation) }
    }

    func run() throws {
        guard !tool.form.text else {
            throw Failure(.usage, "--text is only for messages, but the input is a file")
        }
        let identities = try loadIdentities()
        let output = try Output(path: tool.output, content: .unknown, inputs: [input])
        // `-o -` writes even binary data to a terminal.
        let shown: any ByteSink =
            tool.output == nil && output.isTerminal ? TerminalText(output) : output
        let passphrase = try PassphraseOnce(tool.passphrase)
        let progress = Progress(tool: DecryptTool.toolName, quiet: tool.quiet)
        if tool.hold, !output.isFile {
            // The first pass verifies everything and stores the ciphertext; the second pass decrypts the stored
            // ciphertext.
            let spool = try Spool()
            try open(
                TeeSource(source, to: spool), identities, passphrase, progress, to: NullSink(),
                isFirstOfTwo: true)
            try spool.rewind()
            try open(
                spool, identities, passphrase, progress,
                to: output.isTerminal ? HoldingSink(shown) : shown)
        } else {
            try open(
                source, identities, passphrase, progress,
                to: output.isFile ? output : HoldingSink(shown))
        }
    }

    /// A file with a passphrase needs no identity, so a missing default identity is reported only if it is needed.
    private func loadIdentities() throws -> [IdentityFile] {
        do {
            return try identities()
        } catch let failure as Failure
            where failure.status == .noInput && !tool.identity.isGiven
        {
            return []
        }
    }

    private func open(
        _ source: any ByteSource, _ files: [IdentityFile], _ passphrase: PassphraseOnce,
        _ progress: Progress, to sink: any ByteSink, isFirstOfTwo: Bool = false
    ) throws {
        let identities = files.flatMap(\.ageIdentities)
        let age: AgeFileReader
        do {
            age = try AgeFileReader(
                source, identities: identities, cipher: OpenSSLChunkCipher(),
                passphrase: { try passphrase.get() })
        } catch AgeError.noMatch where identities.isEmpty {
            throw Failure(
                .noKey, "no identity exists to decrypt the file",
                hint: "select one with -i FILE, or create one with keygen")
        }
        let peeking = PeekingSource(age)
        var content: any ByteSource = peeking
        var verified: (signer: SessionID, audience: [UInt8])?
        if try peeking.peek(SignedStream.magic.count).elementsEqual(SignedStream.magic) {
            let signed = try SignedStreamReader(peeking)
            let signer = SessionID(publicKey: signed.signer)
            try checkAudience(of: signed, in: age)
            try signers.check(signer)
            content = signed
            verified = (signer, signed.audience)
        } else if !signers.all.isEmpty {
            throw Failure(
                .authentication, "the file is not signed, but --from requires a signature")
        }
        try copy(from: content, to: sink, progress: progress)
        try sink.finish()
        // Reported only now, because the file could fail to authenticate until its end.
        if let verified, !tool.quiet, !isFirstOfTwo { say(verified.signer, verified.audience) }
    }

    /// A file that a recipient re-encrypted to this identity was not signed for it.
    private func checkAudience(of signed: SignedStreamReader, in age: AgeFileReader) throws {
        if signed.audience == SignedStream.anyone { return }
        let named = age.namedRecipients ?? age.openedBy.map { [$0.text] } ?? []
        let isForUs = age.openedBy.map { named.contains($0.text) } ?? false
        guard isForUs, constantTimeEqual(signed.audience, SignedStream.audience(named)) else {
            throw Failure(
                .authentication,
                "the file was signed for other recipients and then forwarded to this one")
        }
    }

    private func say(_ signer: SessionID, _ audience: [UInt8]) {
        let found = signers.find(signer).map { $0.name }
        let name = found.map { $0 == signer.description ? "" : " (\($0))" } ?? ""
        let anyone = audience == SignedStream.anyone ? ", for anyone" : ""
        Terminal.say("decrypt: signed by \(signer)\(name)\(anyone)")
    }
}

/// A passphrase that is asked for at most once, even if a file is decrypted twice.
final class PassphraseOnce {
    private let source: SecretSource?
    private var known: Passphrase?

    init(_ source: SecretSource?) throws {
        self.source = source
        known = try source?.passphrase()
    }

    func get() throws -> Passphrase {
        if let known { return known }
        let asked = Passphrase(try Terminal.ask("Passphrase: ", secret: true))
        known = asked
        return asked
    }
}
