import Arguments
import Sotto
import SottoContacts
import SottoOpenSSL
import SottoTool

@main
struct EncryptTool: CoreProgram {
    static let configuration = CommandConfiguration(
        name: "encrypt",
        abstract: "Encrypt a file or pipe (age v1), or messages (envelopes).",
        usage: """
            encrypt -r CARD [-r CARD ...] [-R FILE] [-s] [-a] [-o FILE] [FILE]
            encrypt -p [-s] [-a] [-o FILE] [FILE]
            encrypt --to CARD [--to CARD ...] [--jsonl] [--suite SUITE] [-o FILE] [FILE]
            encrypt --chat FILE [--to CARD ...] [--jsonl] [--suite SUITE] [-o FILE] [FILE]
            encrypt --detached [--trusted-comment TEXT] [-i FILE] [-o FILE] [FILE]
            """,
        discussion: """
            With -r, -R or -p the output is an age v1 file, which other age programs read too. With --to it is one \
            JSON envelope per line, for send. With --detached nothing is encrypted: the output is a signature. CARD \
            is a card file, a sotto: URI, an age1... string or an ssh-ed25519 key.

            EXAMPLES
              tar c photos | encrypt -r bob.card -s -i alice.key > photos.age
              encrypt -p -a notes.txt > notes.txt.age
              echo 'hello, bob' | encrypt --to bob.card -i alice.key | send
              encrypt --detached -i alice.key photos.tar > photos.tar.minisig
              echo 'dinner at 8' | encrypt --chat family.chat --to bob | send

            SUITES

            \(SuiteTraits.table.joined(separator: "\n"))

            phrase is as strong as its phrase. In ratchet only the beginning of a session is post-quantum.

            To write to someone who uses another messenger: bridge seal --help
            """,
        version: sottoVersion)

    @Option(
        "-r", "--recipient", value: "card",
        help: "Encrypt the input as a file to this card; may be repeated.")
    var recipient: [String] = []

    @Option(
        "-R", "--recipients-file", value: "file",
        help: "Encrypt to every card in this file, one per line; may be repeated.")
    var recipientsFile: [String] = []

    @Flag(
        "-p", "--ask-passphrase",
        help: "Encrypt the file with a passphrase from a prompt on the terminal.")
    var askPassphrase = false

    @Option(
        "--passphrase", value: "source",
        help: "Encrypt the file with the passphrase from @ENV:NAME, @FD:N or @FILE:PATH.")
    var passphrase: SecretSource?

    @Flag("-s", "--sign", help: "Sign the content with your identity.")
    var sign = false

    @Flag("--detached", help: "Write only a minisign signature, and encrypt nothing.")
    var detached = false

    @Option(
        "--trusted-comment", value: "text",
        help: "Sign this comment together with the file. Default: the time and the file's name.")
    var trustedComment: String?

    @Flag("-a", "--armor", help: "Write the file in ASCII armor.")
    var armor = false

    @Option(
        "--to", value: "card",
        help: "Encrypt the input as a message to this card; may be repeated, one envelope each.")
    var to: [String] = []

    @Flag(
        "--jsonl",
        help:
            "Each line is a message: a JSON record with a body or text, or plain text if it does not begin with {."
    )
    var jsonl = false

    @Flag(
        "--classic",
        help: "Use the classic X25519 key of every card instead of the post-quantum key.")
    var classic = false

    @Option(
        "--suite", value: "suite",
        help:
            "The encryption of a message, see SUITES. Default: the session if one exists, else sealed; "
            + "phrase with --chat.")
    var suite: Suite?

    @OptionGroup var session: SessionOptions

    @Option(
        "--trust", value: "policy",
        help:
            "Encrypt only to these keys: any, first-use (contacts) or verified (compared contacts)."
    )
    var trust: TrustPolicy?

    @Flag("--stateless", help: "Use no state: neither sessions nor contacts.")
    var stateless = false

    @Option(
        "--chat", value: "file",
        help:
            "Encrypt the message for the chat in this file, made by keygen chat; alone or with --to."
    )
    var chat: String?

    @Flag(
        "--bare",
        help:
            "With --chat: write the encrypted text alone, a line that begins with v2., and no envelope."
    )
    var bare = false

    @OptionGroup var attachment: AttachmentOptions

    @OptionGroup var lock: LockOptions

    @OptionGroup var identity: IdentityOptions

    @Option("-o", "--output", value: "file", help: "Write to this file; `-` is stdout.")
    var output: String?

    @Flag("-q", "--quiet", help: "Print no progress and no notes on stderr.")
    var quiet = false

    @Argument("file", help: "Input file; `-` is stdin, the default.")
    var file: String?

    func validate() throws {
        try passphrase?.validate()
    }

    /// The suite that was selected by its name or by other options.
    var chosenSuite: Suite? { suite ?? (chat == nil ? nil : .phrase) }

    /// Whether the input is a message.
    private var isMessage: Bool { !to.isEmpty || chat != nil }

    /// Checks the combination of options. Called late, so that an unknown option is reported first.
    private func check() throws {
        let isFile = !recipient.isEmpty || !recipientsFile.isEmpty
        let isPassphrase = askPassphrase || passphrase != nil
        guard detached || trustedComment == nil else {
            throw UsageError("--trusted-comment requires --detached")
        }
        if detached {
            guard !(isFile || isPassphrase || isMessage || sign || armor || jsonl || classic),
                !session.begins, suite == nil, trust == nil, !bare, attachment.attach == nil
            else { throw UsageError("--detached can be combined only with -i, -o and a file") }
            return
        }
        guard [isFile, isPassphrase, isMessage].count(where: { $0 }) <= 1 else {
            throw UsageError("only one of -r or -R, a passphrase, and --to or --chat can be used")
        }
        guard isFile || isPassphrase || isMessage else {
            throw UsageError(
                "no recipient is given: use -r CARD, -R FILE, -p, --to CARD or --chat FILE")
        }
        guard !(isPassphrase && classic) else {
            throw UsageError("--classic is only for cards and cannot be used with a passphrase")
        }
        let isName = recipient.contains {
            !RecipientArgument.isWritten($0) && !RecipientArgument.isFile($0)
        }
        guard !identity.isGiven || sign || isMessage || isName else {
            throw UsageError("-i requires -s or --to; without them nothing is signed")
        }
        guard !isMessage || !(sign || armor) else {
            throw UsageError("-s and -a are only for files; a message is always signed")
        }
        guard !jsonl || isMessage else {
            throw UsageError("--jsonl requires --to or --chat")
        }
        guard
            isMessage
                || !session.begins && suite == nil && trust == nil && !bare
                    && attachment.attach == nil
        else {
            throw UsageError(
                "--suite, --trust and the message options require --to or --chat")
        }
        guard suite == nil || suite == .ratchet || !session.begins else {
            throw UsageError("--suite \(suite!.rawValue) has no session to begin")
        }
        guard attachment.attach == nil || !jsonl else {
            throw UsageError("--attach is for a single message and cannot be combined with --jsonl")
        }
        guard isMessage else { return }
        guard chosenSuite?.traits.isOfChat == true || !to.isEmpty else {
            throw UsageError("no recipient is given: use --to CARD")
        }
        guard chat == nil || chosenSuite == .phrase else {
            throw UsageError("--chat is only for --suite phrase")
        }
        guard !bare || chat != nil && to.isEmpty && attachment.attach == nil else {
            throw UsageError("--bare requires --chat and has no --to and no --attach")
        }
        guard session.bundle.count(where: { $0 == "-" }) + (file == nil || file == "-" ? 1 : 0) <= 1
        else {
            throw UsageError("standard input can be a bundle or the message, not both")
        }
    }

    func execute() throws {
        try check()
        let read =
            identity.files + recipient + recipientsFile + to + session.bundle
            + [chat, attachment.attach, passphrase?.path].compactMap(\.self)
        try Output.check(output, isNoneOf: read)
        try Output.check(attachment.blob, isNoneOf: read + [file].compactMap(\.self))
        guard attachment.blob == nil || attachment.blob != output else {
            throw UsageError("--blob and -o are the same file")
        }
        let input = try Input(path: file)
        if detached {
            try DetachedSigning(tool: self, input: input).run()
        } else if isMessage {
            try MessageEncryption(tool: self, input: input).run()
        } else {
            try encryptFile(input)
        }
    }

    private func encryptFile(_ input: Input) throws {
        let access = try fileAccess()
        let signer = sign ? try identity.load() : nil
        let output = try Output(
            path: output, content: armor ? .text : .binary, inputs: [input])
        let source = PeekingSource(input)
        guard try sign || source.peek(SignedStream.magic.count) != SignedStream.magic else {
            throw Failure(
                .malformed, "the input begins like signed content, but is not signed",
                hint: "sign it with -s, so that it is not mistaken for signed content")
        }
        var sink = try AgeFile.writer(
            for: access, armored: armor, namesAudience: sign, cipher: OpenSSLChunkCipher(),
            to: output)
        if let signer {
            var audience: [String] = []
            if case .recipients(let recipients) = access { audience = recipients.map(\.text) }
            sink = try SignedStreamWriter(
                by: signer.signingKey, audience: SignedStream.audience(audience), to: sink)
        }
        try copy(
            from: source, to: sink,
            progress: Progress(tool: Self.toolName, quiet: quiet || input.isTerminal))
        try sink.finish()
    }

    private func fileAccess() throws -> AgeAccess {
        if passphrase != nil || askPassphrase {
            let secret = NewSecret("passphrase", tool: Self.toolName, question: "Passphrase: ")
            return .passphrase(Passphrase(try secret.read(passphrase, warns: !quiet)))
        }
        let book = AddressBook(identity.load, lockTimeout: lock.timeout)
        if !stateless { book.openWithoutPrompt(identity) }
        var targets = try recipient.map { try book.fileRecipient($0) }
        for path in recipientsFile {
            let list = try RecipientArgument.list(in: path)
            guard !list.isEmpty else { throw Failure(.malformed, "\(path) contains no recipient") }
            targets += try list.map { try book.checked($0) }
        }
        var recipients: [AgeRecipient] = []
        for target in targets {
            let recipient = try target.recipient(classic: classic)
            // A repeated recipient is used once; a second stanza would only enlarge the file.
            if !recipients.contains(recipient) { recipients.append(recipient) }
        }
        return .recipients(recipients)
    }
}
