import Sotto
import SottoContacts
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
        case .mailboxes(let mailboxes): try write(input, to: Recipients(mailboxes))
        }
    }

    private func write(_ input: Input, to recipients: Recipients) throws {
        try write(input, seal: recipients.seal) { envelopes, output in
            for (envelope, relay) in zip(envelopes, recipients.relays) {
                var record = envelope.record
                if let relay { record["relay"] = .string(relay) }
                try output.writeRecord(record)
            }
        }
    }

    private func write<Sealed>(
        _ input: Input, seal: @escaping ([MessageText]) throws -> [Result<Sealed, Failure>],
        print: @escaping (Sealed, Output) throws -> Void
    ) throws {
        try MessageWriting(
            tool: EncryptTool.toolName, input: input,
            output: try Output(path: output, content: .text, inputs: [input]), seal: seal,
            print: print
        ).run(messages)
    }
}
