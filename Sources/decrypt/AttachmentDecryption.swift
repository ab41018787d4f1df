import Sotto
import SottoContacts
import SottoState
import SottoTool

/// Decrypts an attachment with the key in a message record.
struct AttachmentDecryption {
    private let tool: DecryptTool
    private let suite: Suite
    private let key: [UInt8]

    private static let recordLimit = 1 << 20

    /// Creates a decryption. `source` is a file with a message record, `-`, or the number of an opened message.
    init(tool: DecryptTool, record source: String) throws {
        self.tool = tool
        guard !tool.text, !tool.preview else {
            throw Failure(
                .usage, "--text and --preview are only for messages, but the input is a file")
        }
        let record = try JSON.object(parsing: try Self.record(source, tool))
        guard record["type"]?.string == "message" else {
            throw Failure(
                .malformed, "not a message record", hint: "give a line that decrypt printed")
        }
        guard let file = AttachedFile(record: record), let key = file.key else {
            throw Failure(.noKey, "the message has no attachment with a valid key")
        }
        (suite, self.key) = (file.suite, key)
    }

    private static func record(_ source: String, _ tool: DecryptTool) throws -> [UInt8] {
        guard case .number(let number) = IdentityStore.Since(argument: source) else {
            return try Input(path: source).readAll(limit: recordLimit)
        }
        let book = AddressBook(tool.identity.load, lockTimeout: tool.lock.timeout)
        _ = try book.identity()
        guard let message = try book.store()?.openedMessage(number) else {
            throw Failure(
                .noInput, "the state has no message with number \(number)",
                hint: "list the messages with their numbers: decrypt --again")
        }
        return message.record
    }

    func run() throws {
        guard let path = tool.file, path != "-" else {
            throw Failure(
                .usage, "an attachment cannot be on standard input, because it is read twice",
                hint: "give the name of the attachment's file")
        }
        let blob = try SeekableFile(path: path)
        let output = try Output(
            path: tool.output, content: .unknown, inputs: [try Input(path: path)])
        let shown: any ByteSink =
            tool.output == nil && output.isTerminal ? TerminalText(output) : output
        do {
            if suite == .whisper2 {
                let reader = try Whisper2AttachmentReader(blob, key: SecretBytes(copying: key))
                try copy(from: reader, to: shown)
            } else {
                try openWhole(blob, to: shown)
            }
        } catch is Whisper2AttachmentError {
            throw SuiteError.refused
        } catch is FileEncryptionError {
            throw SuiteError.refused
        }
        try shown.finish()
    }

    private func openWhole(_ blob: SeekableFile, to sink: any ByteSink) throws {
        guard blob.count <= FileEncryption.limit + 28 else { throw SuiteError.refused }
        var bytes = [UInt8](repeating: 0, count: blob.count)
        let count = try bytes.withUnsafeMutableBytes { try blob.fill($0, at: 0) }
        try sink.write(
            FileEncryption.open(Array(bytes[..<count]), key: SecretBytes(copying: key)))
    }
}
