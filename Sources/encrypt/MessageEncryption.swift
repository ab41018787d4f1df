import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoTool

/// Encrypts messages to envelopes, or for a chat to bare texts.
struct MessageEncryption {
    enum Target {
        case chat(ChatTarget)
        /// Texts for a chat, without envelopes.
        case bareChat(ChatTarget)
        case mailboxes(Mailboxes)
    }

    let target: Target
    let messages: InputMessages
    let file: String?
    let output: String?
    /// Whether the envelopes do not go to `send` in this home.
    let isElsewhere: Bool
    /// Whether a message may be a secret key or recovery words.
    let allowsSecrets: Bool
    /// Whether envelopes are printed on a terminal too, as with `-o -`.
    let records: RecordOutput

    /// Whether the output is for `send`.
    private var isForMailboxes: Bool { if case .mailboxes = target { true } else { false } }

    func run() throws {
        let input = try Input(path: file)
        let output = try Output(path: output, content: .text, inputs: [input])
        let isHandedOn = isElsewhere || output.isRegularFile
        switch target {
        case .bareChat(let chat):
            let keys = SuiteKeys(identity: nil, chats: [try chat.chat()])
            try write(
                input, output: output,
                seal: { messages in
                    try messages.map { message in
                        try result {
                            try PhraseSuite.bareText(
                                Draft(body: message.body, extra: message.extra), with: keys)
                        }
                    }
                }, print: { try $1.writeText($0 + "\n") })
        case .chat(let chat): try write(input, to: Recipients(chat), output)
        case .mailboxes(let mailboxes) where mailboxes.to.isEmpty && mailboxes.group == nil:
            guard let source = try records(in: input) else {
                // The program before this one had nothing to send.
                return try output.finish()
            }
            if self.output == nil { try records.checkPipe() }
            try write(input, source, to: Recipients(mailboxes, isHandedOn: isHandedOn), output)
        case .mailboxes(let mailboxes):
            if self.output == nil { try records.check() }
            try write(input, to: Recipients(mailboxes, isHandedOn: isHandedOn), output)
        }
    }

    /// Returns the bytes of input that consists of message records with recipients, because the command line names none; `nil`
    /// for an empty input. Throws a usage error if the input is something else, before a prompt for a passphrase.
    private func records(in input: Input) throws -> PeekingSource? {
        let source = PeekingSource(input)
        guard !input.isTerminal else { throw UsageError.noRecipient }
        var first: UInt8?
        let limit = 64 << 10
        _ = try source.peek(upTo: limit) { bytes in
            first = bytes.first { $0 > 0x20 }
            return first != nil
        }
        guard let first else { return nil }
        guard first == UInt8(ascii: "{") else { throw UsageError.noRecipient }
        return source
    }

    /// The beginning of the line about a file that `send` uploads.
    private static let blobLine = Array(#"{"v":1,"type":"blob","#.utf8)

    private func write(
        _ input: Input, _ source: (any ByteSource)? = nil, to recipients: Recipients,
        _ output: Output
    ) throws {
        var (isRecorded, hasFile) = (false, false)
        let start = Timestamp.now()
        do {
            try write(
                input, source, output: output, pool: recipients.pool, seal: recipients.seal
            ) { lines, output in
                isRecorded = recipients.recordsMessages
                for line in lines {
                    hasFile = hasFile || line.starts(with: Self.blobLine)
                    try output.writeRecord(serialized: line)
                }
            }
        } catch let failure as Failure where isRecorded {
            // The failure of the output is reported also if the state cannot be written.
            try? recipients.noteUnwritten(since: start)
            throw failure.afterWork(
                "a message that was not sent is in the history: sotto history unsent")
        }
        if isElsewhere, hasFile {
            Terminal.note(
                "the file stays in this home, and only sotto send in it can upload the file: without --elsewhere the message is sent here"
            )
        }
        if let unreached = recipients.unreached { throw unreached }
    }

    private func write<Sealed>(
        _ input: Input, _ source: (any ByteSource)? = nil, output: Output,
        pool: ThreadPool = ThreadPool(beforeWaiting: FreedMemory.wipeCache),
        seal: @escaping ([MessageText]) throws -> [Result<Sealed, Failure>],
        print: @escaping (Sealed, Output) throws -> Void
    ) throws {
        try MessageWriting(
            tool: EncryptTool.toolName, input: input, source: source,
            output: output, passesRooms: isForMailboxes, allowsSecrets: allowsSecrets,
            pool: pool, seal: seal, print: print
        ).run(messages)
    }
}
