import Arguments
import Sotto
import SottoContacts
import SottoMessengers
import SottoTool

struct OpenCommand: Program {
    static let configuration = CommandConfiguration(
        name: "open",
        abstract: "Open a messenger's own records into message records.",
        usage: """
            bridge open FORMAT [-i FILE] [--from CARD] [--text] [-o FILE] [FILE]
            bridge open shainy --chat FILE [--text] [FILE]
            bridge open flow|kecalek [--ack FILE] [--from CARD] [FILE]
            bridge open kecalek --own-copy [FILE]
            bridge open whisper2 --attachment RECORD -o FILE BLOB
            """,
        discussion: """
            Each line is a record of the messenger, or an envelope around one, which version 0.1.0 made. The output is that \
            of decrypt: one message record for each line, or with --text only texts. flow and kecalek read each other's \
            records.

            EXAMPLES
              bridge open whisper2 --text answer.json
              bridge open mercurio --oaep-sha1 rows.jsonl
              contact accept bob | bridge open whisper2
            """)

    @OptionGroup var identity: IdentityListOptions

    @OptionGroup var senders: SenderOptions

    @OptionGroup var form: TextForm

    @Option("--chat", value: "file", help: "shainy: the chat in this file; may be repeated.")
    var chat: [String] = []

    @Flag(
        "--allow-unverified",
        help: "Treat messages without an authenticated sender as success; they are still marked.")
    var allowUnverified = false

    @Flag(
        "--allow-hidden-hash",
        help: "shainy: open texts with a zero hash, as written by bridge seal --no-hash.")
    var allowHiddenHash = false

    @Option(
        "--max-skew", value: "seconds",
        help: "whisper2: refuse messages whose signed time differs from now by more than this.")
    var maxSkew: Int?

    @Option(
        "--whisper-id", value: "wsp-id",
        help: "whisper2: your account. Default: the one in the identity file.")
    var whisperID: WhisperID?

    @Flag("--oaep-sha1", help: "mercurio: the keys are wrapped with SHA-1, as by an old client.")
    var oaepSHA1 = false

    @Option(
        "--attachment", value: "record",
        help:
            "whisper2: decrypt the input, an attachment, with the key in this message record, or in the message with this number."
    )
    var attachment: String?

    @Flag(
        "--own-copy",
        help:
            "kecalek: each line is the base64 of a copy that Kecalek encrypted to your own identity key."
    )
    var ownCopy = false

    @Option(
        "--ack", value: "file",
        help: "flow: append an acknowledgement of each message to this file.")
    var ack: String?

    @Flag(
        "--preview",
        help: "Print messages without changing the state, as if they had not been opened.")
    var preview = false

    @Flag("--stateless", help: "Do not record opened messages: replays are not detected.")
    var stateless = false

    @OptionGroup var lock: LockOptions

    @Option(
        "-o", "--output", value: "file",
        help: "Write to this file, which is created only when complete; `-` is stdout.")
    var output: String?

    @Flag("-q", "--quiet", help: "Print no notes on stderr.")
    var quiet = false

    @Argument("format", help: "The format: shainy, whisper2, mercurio, kecalek or flow.")
    var format: MessageFormat

    @Argument("file", help: "Input file; `-` is stdin, the default.")
    var file: String?

    func validate() throws {
        func demand(_ isGiven: Bool, _ name: String, _ formats: MessageFormat...) throws {
            guard !isGiven || formats.contains(format) else {
                let names = formats.map(\.rawValue).joined(separator: " and ")
                throw UsageError("\(name) is only for \(names)")
            }
        }
        try demand(!chat.isEmpty, "--chat", .shainy)
        try demand(allowHiddenHash, "--allow-hidden-hash", .shainy)
        try demand(maxSkew != nil, "--max-skew", .whisper2)
        try demand(whisperID != nil, "--whisper-id", .whisper2)
        try demand(attachment != nil, "--attachment", .whisper2)
        try demand(oaepSHA1, "--oaep-sha1", .mercurio)
        try demand(ownCopy, "--own-copy", .kecalek)
        try demand(ack != nil, "--ack", .flow)
        try senders.check(stateless: stateless)
        guard maxSkew.map((0...1_000_000_000).contains) ?? true else {
            throw UsageError("--max-skew must be 0 to 1000000000 seconds")
        }
        guard attachment == nil || !form.text && !preview else {
            throw UsageError(
                "--text and --preview are only for messages, but the input is a file")
        }
    }

    func execute() throws {
        for path in [output, ack] {
            try Output.check(
                path,
                isNoneOf: identity.files + senders.from + chat + [attachment].compactMap(\.self))
        }
        if let attachment { return try openAttachment(of: attachment) }
        let input = try Input(path: file)
        if !input.isReady, !input.isTerminal, chat.isEmpty { try identity.askAhead() }
        let source = PeekingSource(input)
        guard try !source.peek(1).isEmpty else {
            throw Failure(.no, form.text ? "" : "the input is empty")
        }
        let (plan, book) = (plan, AddressBook(identity.load, lockTimeout: lock.timeout))
        let chats = try chat.map { try MessengerChatFile.read($0) }
        let owner = try plan.owner(book, hasChats: !chats.isEmpty)
        let senderPolicy = try plan.senderPolicy(book, owner: owner)
        let lines = try MessengerInput(
            tool: self, identity: owner, chats: chats, signers: senderPolicy.signers)
        try MessageReading(
            plan, lines, book: book, owner: owner, chats: chats.map(\.chat),
            senderPolicy: senderPolicy, input: input, source: source
        ).run()
    }

    private var plan: ReadingPlan {
        var plan = ReadingPlan(tool: BridgeTool.toolName, form: form, identity: identity)
        plan.from = senders.from
        plan.trust = senders.trust
        plan.preview = preview
        plan.stateless = stateless
        plan.takesUnproven = allowUnverified
        plan.quiet = quiet
        plan.lockTimeout = lock.timeout
        plan.output = output
        return plan
    }

    private func openAttachment(of source: String) throws {
        let (attached, key) = try AttachedFile.find(source, identity, lockTimeout: lock.timeout)
        guard attached.isWhisper2 else {
            throw Failure(
                .usage, "the attachment does not have Whisper2's format",
                hint: "give the same arguments to decrypt")
        }
        try AttachedFile.decrypt(file, to: output) { blob, sink in
            do {
                try copy(
                    from: Whisper2AttachmentReader(blob, key: SecretBytes(copying: key)), to: sink)
            } catch is Whisper2AttachmentError {
                throw SuiteError.refused
            }
        }
    }

    /// The options for the formats.
    var options: MessengerOptions {
        var options = MessengerOptions()
        options.allowsHiddenHash = allowHiddenHash
        options.maximumSkew = maxSkew.map { Int64($0) * 1000 }
        options.whisperID = whisperID
        options.rsaPadding = oaepSHA1 ? .sha1 : .sha256
        return options
    }
}
