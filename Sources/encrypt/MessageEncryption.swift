import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoTool

/// Encrypts messages to envelopes, or for a chat to bare texts.
struct MessageEncryption {
    enum Target {
        case chat(ChatTarget)
        /// Texts for the chat of this file, without envelopes.
        case bareChat(path: String)
        case mailboxes(Mailboxes)
    }

    let target: Target
    let messages: InputMessages
    let file: String?
    let output: String?

    /// Whether the output is for `send`.
    private var isForMailboxes: Bool { if case .mailboxes = target { true } else { false } }

    func run() throws {
        let input = try Input(path: file)
        switch target {
        case .bareChat(let path):
            let keys = SuiteKeys(identity: nil, chats: [try ChatFile.read(path)])
            try write(
                input,
                seal: { messages in
                    try messages.map { message in
                        try result {
                            try PhraseSuite.bareText(
                                Draft(body: message.body, extra: message.extra), with: keys)
                        }
                    }
                }, print: { try $1.writeText($0 + "\n") })
        case .chat(let chat): try write(input, to: Recipients(chat))
        case .mailboxes(let mailboxes):
            let source =
                mailboxes.to.isEmpty && mailboxes.group == nil ? try records(in: input) : nil
            try write(input, source, to: Recipients(mailboxes))
        }
    }

    /// Returns the bytes of input that consists of message records with recipients, because the command line names none.
    /// Throws a usage error if the input is something else, before a prompt for a passphrase.
    private func records(in input: Input) throws -> PeekingSource {
        let source = PeekingSource(input)
        guard !input.isTerminal else { throw UsageError.noRecipient }
        var first: UInt8?
        let limit = 64 << 10
        _ = try source.peek(upTo: limit) { bytes in
            first = bytes.first { $0 > 0x20 }
            return first != nil
        }
        guard let first else { throw Failure(.no, "the input is empty") }
        guard first == UInt8(ascii: "{") else { throw UsageError.noRecipient }
        return source
    }

    private func write(
        _ input: Input, _ source: (any ByteSource)? = nil, to recipients: Recipients
    ) throws {
        try write(input, source, seal: recipients.seal) { lines, output in
            for line in lines { try output.writeRecord(serialized: line) }
        }
        if let unreached = recipients.unreached { throw unreached }
    }

    private func write<Sealed>(
        _ input: Input, _ source: (any ByteSource)? = nil,
        seal: @escaping ([MessageText]) throws -> [Result<Sealed, Failure>],
        print: @escaping (Sealed, Output) throws -> Void
    ) throws {
        try MessageWriting(
            tool: EncryptTool.toolName, input: input, source: source,
            output: try Output(path: output, content: .text, inputs: [input]),
            passesRooms: isForMailboxes, seal: seal, print: print
        ).run(messages)
    }
}
