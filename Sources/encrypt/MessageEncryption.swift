import Sotto
import SottoContacts
import SottoTool

/// Encrypts messages to envelopes.
struct MessageEncryption {
    let tool: EncryptTool
    let input: Input

    func run() throws {
        let recipients = try Recipients(tool: tool)
        let attachment = tool.attachment.attachment
        let output = try Output(path: tool.output, content: .text, inputs: [input])
        if tool.bare {
            let writing = MessageWriting(
                tool: EncryptTool.toolName, input: input, output: output,
                seal: recipients.sealBare, print: { try $1.writeText($0 + "\n") })
            return try tool.jsonl ? writing.runByLine() : writing.runWhole()
        }
        let writing = MessageWriting(
            tool: EncryptTool.toolName, input: input, output: output, seal: recipients.seal,
            print: { try Self.write($0, recipients.relays, to: $1) })
        try tool.jsonl ? writing.runByLine() : writing.runWhole(attachment: attachment)
    }

    /// Prints one message's envelopes, with the relays for `send`.
    private static func write(
        _ envelopes: [Envelope], _ relays: [String?], to output: Output
    ) throws {
        for (envelope, relay) in zip(envelopes, relays) {
            var record = envelope.record
            if let relay { record["relay"] = .string(relay) }
            try output.writeRecord(record)
        }
    }
}
