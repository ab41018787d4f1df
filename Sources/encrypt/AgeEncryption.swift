import Sotto
import SottoContacts
import SottoMessages
import SottoOpenSSL
import SottoTool

/// Encrypts the input to an age file.
struct AgeEncryption {
    enum Access {
        /// The passphrase of this source, or of a prompt.
        case passphrase(SecretSource?)
        case recipients(FileRecipients)
    }

    let access: Access
    /// The identity that signs the content; `nil` if it is not signed.
    let signer: IdentityChoice?
    let isArmored: Bool
    let file: String?
    let output: String?
    let quiet: Bool

    func run() throws {
        let input = try Input(path: file)
        let access = try ageAccess()
        let signer = try signer?.load()
        let output = try Output(
            path: output, content: isArmored ? .text : .binary, inputs: [input])
        let source = PeekingSource(input)
        guard try signer != nil || source.peek(SignedStream.magic.count) != SignedStream.magic
        else {
            throw Failure(
                .malformed, "the input begins like signed content, but is not signed",
                hint: "sign it with -s, so that it is not mistaken for signed content")
        }
        var sink = try AgeFile.writer(
            for: access, armored: isArmored, namesAudience: signer != nil,
            cipher: OpenSSLChunkCipher(), to: output)
        if let signer {
            var audience: [String] = []
            if case .recipients(let recipients) = access { audience = recipients.map(\.text) }
            sink = try SignedStreamWriter(
                by: signer.signingKey, audience: SignedStream.audience(audience), to: sink)
        }
        try copy(
            from: source, to: sink,
            progress: Progress(tool: EncryptTool.toolName, quiet: quiet || input.isTerminal))
        try sink.finish()
    }

    private func ageAccess() throws -> AgeAccess {
        switch access {
        case .recipients(let recipients): return .recipients(try recipients.load())
        case .passphrase(let source):
            let secret = NewSecret(
                "passphrase", tool: EncryptTool.toolName, question: "Passphrase: ")
            return .passphrase(Passphrase(try secret.read(source, warns: !quiet)))
        }
    }
}

/// The recipients of an age file.
struct FileRecipients {
    /// Cards, recipients and names.
    let cards: [String]
    /// Files with a card on each line.
    let lists: [String]
    /// Whether the classic key of each card is used.
    let isClassic: Bool
    /// The owner of the address book.
    let identity: IdentityChoice
    /// Seconds to wait for another process that uses the state; `nil` if no state is used.
    let lockTimeout: Double?

    /// Returns the recipients. A repeated one is used once; a second stanza would only enlarge the file.
    func load() throws -> [AgeRecipient] {
        let book = AddressBook(identity.load, lockTimeout: lockTimeout)
        if lockTimeout != nil { book.openWithoutPrompt(identity) }
        var targets = try cards.map { try book.fileRecipient($0) }
        for path in lists {
            let list = try RecipientArgument.list(in: path)
            for (line, key) in list.skipped {
                Terminal.say(
                    "\(EncryptTool.toolName): warning: \(path), line \(line): skipped \(key.description), which is not supported"
                )
            }
            targets += try list.recipients.map { try book.checked($0) }
        }
        var recipients: [AgeRecipient] = []
        for target in targets {
            let recipient = try target.recipient(classic: isClassic)
            if !recipients.contains(recipient) { recipients.append(recipient) }
        }
        return recipients
    }
}
