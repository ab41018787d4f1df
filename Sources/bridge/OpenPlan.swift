import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoTool

/// A validated command line of `bridge open`.
enum OpenPlan {
    case records(RecordOpening)
    case attachment(Whisper2AttachmentOpening)

    /// Checks the options. Throws ``UsageError``, and a failure with status 64.
    init(_ tool: OpenCommand) throws {
        if tool.form.text { try tool.given.refuse("--details", with: "--text") }
        if tool.preview { try tool.given.refuse("--ack", with: "--preview") }
        if tool.read, tool.ack == nil { throw UsageError("--read requires --ack") }
        if tool.stateless, !tool.ownCopy {
            for option in ["--preview", "--lock-timeout"] {
                try tool.given.refuse(option, with: "--stateless")
            }
        }
        try TrustPolicy.check(tool.senders.trust, stateless: tool.stateless)
        guard tool.maxSkew.map((0...1_000_000_000).contains) ?? true else {
            throw UsageError("--max-skew must be 0 to 1000000000 seconds")
        }
        for path in [tool.output, tool.ack] {
            try Output.check(
                path,
                isNoneOf: tool.identity.files + tool.senders.from + tool.chat
                    + [tool.attachment].compactMap(\.self))
        }
        if let record = tool.attachment {
            self = .attachment(
                Whisper2AttachmentOpening(
                    record: record, blob: tool.file, identity: tool.identity.choice,
                    lockTimeout: tool.lock.timeout, output: tool.output))
        } else {
            self = .records(
                RecordOpening(
                    form: Self.form(tool), reading: Self.reading(tool), chats: tool.chat,
                    file: tool.file))
        }
    }

    func run() throws {
        switch self {
        case .records(let opening): try opening.run()
        case .attachment(let opening): try opening.run()
        }
    }

    private static func form(_ tool: OpenCommand) -> MessengerInput.Form {
        if tool.ownCopy { return .ownCopies }
        guard let messenger = tool.format.messenger else {
            return .session(tool.format, acknowledgements: tool.ack, areRead: tool.read)
        }
        var options = MessengerOptions()
        options.allowsHiddenHash = tool.allowHiddenHash
        options.maximumSkew = tool.maxSkew.map { Int64($0) * 1000 }
        options.whisperID = tool.whisperID
        options.rsaPadding = tool.oaepSHA1 ? .sha1 : .sha256
        return .messenger(messenger, options, showsDetails: tool.details)
    }

    private static func reading(_ tool: OpenCommand) -> ReadingPlan {
        ReadingPlan(
            tool: BridgeTool.toolName,
            form: tool.form.form(output: tool.output, details: tool.details),
            identity: tool.identity.choice,
            from: tool.senders.from, trust: tool.senders.trust, preview: tool.preview,
            stateless: tool.stateless,
            takesUnproven: tool.allowUnverified, quiet: tool.quiet, lockTimeout: tool.lock.timeout,
            output: tool.output)
    }
}

/// Opens a messenger's records into message records.
struct RecordOpening {
    let form: MessengerInput.Form
    let reading: ReadingPlan
    /// The files of the chats.
    let chats: [String]
    let file: String?

    func run() throws {
        let input = try Input(path: file)
        if !input.isReady, !input.isTerminal, chats.isEmpty { try reading.identity.askAhead() }
        let source = PeekingSource(input)
        guard try !source.peek(1).isEmpty else {
            throw input.emptyFailure
        }
        let book = reading.book(accounts: MessengerAccounts())
        let owner = try reading.owner(book, hasChats: !chats.isEmpty)
        let chats = try (form.isOfChats ? book.chatRecords(chats) : []).map {
            try MessengerChat(record: $0)
        }
        let senderPolicy = try reading.senderPolicy(book, owner: owner)
        let lines = try MessengerInput(
            form, identity: owner, chats: chats, signers: senderPolicy.signers)
        try MessageReading(
            reading, lines, book: book, owner: owner, chats: chats.map(\.chat),
            senderPolicy: senderPolicy, input: input, source: source
        ).run()
    }
}

/// Decrypts an attachment of Whisper2 with the key in a message record.
struct Whisper2AttachmentOpening {
    /// A file with the record, `-`, or the number of an opened message.
    let record: String
    let blob: String?
    let identity: IdentityChoice
    let lockTimeout: Double
    let output: String?

    func run() throws {
        let form = try AttachedFile.find(
            record, in: AddressBook(identity.load, lockTimeout: lockTimeout))
        guard case .foreign(let key) = form else {
            throw Failure(
                .usage, "the attachment does not have Whisper2's format",
                hint: "give the same arguments to sotto decrypt")
        }
        try AttachedFile.decrypt(twice: blob, to: output) { blob, sink in
            do {
                try copy(
                    from: Whisper2AttachmentReader(blob, key: SecretBytes(copying: key)), to: sink)
            } catch is Whisper2AttachmentError {
                throw SuiteError.refused
            }
        }
    }
}
