import Sotto
import SottoTool

/// An attachment to its file, with the key that a message record holds.
struct AttachmentDecryption {
    private let tool: DecryptTool
    private let suite: Suite
    private let key: [UInt8]

    private static let recordLimit = 1 << 20

    init(tool: DecryptTool, record path: String) throws {
        self.tool = tool
        guard !tool.text, !tool.preview else {
            throw Failure(.usage, "--text and --preview are for messages, and this is a file")
        }
        let record = try JSON.object(
            parsing: try Input(path: path).readAll(limit: Self.recordLimit))
        guard record["type"]?.string == "message" else {
            throw Failure(
                .malformed, "not a message record", hint: "give one line that decrypt printed")
        }
        let file: JSONObject?
        if let body = record["body"]?.object, body["type"]?.string == "file" {
            suite = .ratchet
            file = body
        } else {
            suite = .whisper2
            file = record["details"]?.object?["untrusted"]?.object?["attachment"]?.object
        }
        guard let key = file?["key"]?.string.flatMap({ Base64.standard.decode($0) }),
            key.count == 32
        else { throw Failure(.noKey, "the message has no attachment whose key we have") }
        self.key = key
    }

    func run() throws {
        guard let path = tool.file, path != "-" else {
            throw Failure(
                .usage, "an attachment is read twice, and standard input cannot be",
                hint: "name its file in place of standard input")
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
