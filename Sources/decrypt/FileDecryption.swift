import Sotto
import SottoContacts
import SottoMessages
import SottoOpenSSL
import SottoTool

/// Decrypts an age file, and verifies the signature inside if it has one.
struct FileDecryption {
    let identity: IdentityChoice
    let passphrase: SecretSource?
    /// The signers of whom one must have signed; all are accepted if it is empty.
    let from: [String]
    let lockTimeout: Double
    /// Whether no part is printed before all of it is verified.
    let isHeld: Bool
    let output: String?
    let quiet: Bool

    /// Decrypts `source`, the bytes of `input`.
    func run(_ input: Input, _ source: any ByteSource) throws {
        let signers = try DemandedSigners(
            from, AddressBook(identity.load, lockTimeout: lockTimeout))
        let identities = try loadIdentities().flatMap(\.ageIdentities)
        let output = try Output(path: output, content: .unknown, inputs: [input])
        // `-o -` writes even binary data to a terminal.
        let shown: any ByteSink =
            self.output == nil && output.isTerminal ? TerminalText(output) : output
        let keys = Keys(
            identities: identities, passphrase: try PassphraseOnce(passphrase), signers: signers)
        if isHeld, !output.isFile {
            // The first pass verifies everything and stores the ciphertext; the second pass decrypts the stored
            // ciphertext.
            let spool = try Spool()
            try open(
                TeeSource(source, to: spool), with: keys, to: NullSink(), isFirstOfTwo: true)
            try spool.rewind()
            try open(spool, with: keys, to: output.isTerminal ? HoldingSink(shown) : shown)
        } else {
            try open(source, with: keys, to: output.isFile ? output : HoldingSink(shown))
        }
    }

    /// A file with a passphrase needs no identity, so a missing default identity is reported only if it is needed.
    private func loadIdentities() throws -> [IdentityFile] {
        do {
            return try identity.loadAll(derivation: BcryptPBKDF.derivation)
        } catch let failure as Failure
            where failure.status == .noInput && !identity.isGiven
        {
            return []
        }
    }

    private struct Keys {
        let identities: [AgeIdentity]
        let passphrase: PassphraseOnce
        let signers: DemandedSigners
    }

    private func open(
        _ source: any ByteSource, with keys: Keys, to sink: any ByteSink,
        isFirstOfTwo: Bool = false
    ) throws {
        let age: AgeFileReader
        do {
            age = try AgeFileReader(
                source, identities: keys.identities, cipher: OpenSSLChunkCipher(),
                passphrase: { try keys.passphrase.get() })
        } catch AgeError.noMatch where keys.identities.isEmpty {
            throw Failure(
                .noKey, "no identity exists to decrypt the file",
                hint: "select one with -i FILE, or create one with sotto keygen -o FILE")
        }
        let peeking = PeekingSource(age)
        var content: any ByteSource = peeking
        var verified: (signer: KeyID, audience: [UInt8])?
        if try peeking.peek(SignedStream.magic.count).elementsEqual(SignedStream.magic) {
            let signed = try SignedStreamReader(peeking)
            let signer = KeyID(publicKey: signed.signer)
            try checkAudience(of: signed, in: age)
            try keys.signers.check(signer)
            content = signed
            verified = (signer, signed.audience)
        } else if !keys.signers.all.isEmpty {
            throw Failure(
                .authentication, "the file is not signed, but --from requires a signature")
        }
        try copy(
            from: content, to: sink,
            progress: Progress(tool: DecryptTool.toolName, quiet: quiet))
        try sink.finish()
        // Reported only now, because the file could fail to authenticate until its end.
        if let verified, !quiet, !isFirstOfTwo {
            let name = keys.signers.find(verified.signer)?.name
            say(verified.signer, name: name, verified.audience)
        }
    }

    /// A file that a recipient re-encrypted to this identity was not signed for it.
    private func checkAudience(of signed: SignedStreamReader, in age: AgeFileReader) throws {
        if signed.audience == SignedStream.anyone { return }
        let named = age.namedRecipients ?? age.openedBy.map { [$0.text] } ?? []
        let isForUs = age.openedBy.map { named.contains($0.text) } ?? false
        let signer = KeyID(publicKey: signed.signer)
        if constantTimeEqual(signed.audience, SignedStream.backupAudience(of: signer.description)) {
            throw Failure(.usage, "the file is a backup, and only sotto history import reads it")
        }
        guard isForUs, constantTimeEqual(signed.audience, SignedStream.audience(named)) else {
            throw Failure(
                .authentication,
                "the file was signed for other recipients and then forwarded to this one")
        }
    }

    private func say(_ signer: KeyID, name: String?, _ audience: [UInt8]) {
        let name = name.map { $0 == signer.description ? "" : " (\($0))" } ?? ""
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
