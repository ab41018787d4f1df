import Sotto
import SottoTool

/// A file that is encrypted beside a message, under a key that goes into it.
final class Attachment {
    private let path: String
    private let name: String
    private let contentType: String
    private let blob: String
    /// The file's key.
    private let key: [UInt8]
    /// The blob, which appears when the message is about to leave.
    private var output: Output?

    init(path: String, blob: String, contentType: String) {
        self.path = path
        self.blob = blob
        self.contentType = contentType
        name = String(path.split(separator: "/").last ?? "file")
        key = randomBytes(32)
    }

    /// The name of the blob, by which the pointer calls it.
    private var objectKey: String { String(blob.split(separator: "/").last ?? "blob") }

    /// Lets the blob appear.
    func finish() throws { try output?.finish() }

    // MARK: Whisper2

    /// Writes the blob in Whisper2's form, and returns what makes each recipient's pointer.
    func writeWhisper2() throws -> (
        @Sendable (Whisper2Keys, Whisper2Contact) throws -> Whisper2AttachmentPointer
    ) {
        let file = try SeekableFile(path: path)
        let output = try Output(path: blob, content: .binary)
        let writer: Whisper2AttachmentWriter
        do {
            writer = try Whisper2AttachmentWriter(file, key: SecretBytes(copying: key))
        } catch Whisper2AttachmentError.tooLong(let limit) {
            throw Failure(.malformed, "\(path) is longer than the suite carries (\(limit) bytes)")
        } catch Whisper2AttachmentError.changed {
            throw Failure(.ioError, "\(path) was changed while it was read")
        }
        try copy(from: writer, to: output)
        self.output = output
        let (nonce, count) = (writer.nonce, Int64(writer.count))
        let (objectKey, contentType, key) = (objectKey, contentType, key)
        return { own, contact in
            try Whisper2AttachmentPointer(
                objectKey: objectKey, contentType: contentType, ciphertextSize: count,
                fileNonce: nonce, fileKey: SecretBytes(copying: key), with: own, to: contact)
        }
    }

    // MARK: Kecalek

    /// Writes the blob in Kecalek's form, and returns the body of the message, with `text` beside the file.
    func writeKecalek(text: String?) throws -> JSONObject {
        let source = try SeekableFile(path: path)
        guard source.count <= FileEncryption.limit else {
            throw Failure(
                .malformed, "\(path) is longer than \(FileEncryption.limit) bytes",
                hint: "make a separate file of it, with -r in place of --to")
        }
        var file = [UInt8](repeating: 0, count: source.count)
        let count = try file.withUnsafeMutableBytes { try source.fill($0, at: 0) }
        file.removeLast(file.count - count)
        let output = try Output(path: blob, content: .binary)
        try output.write(try FileEncryption.seal(file, key: SecretBytes(copying: key)))
        self.output = output
        return JSONObject([
            ("type", .string("file")), ("name", .string(name)),
            ("contentType", .string(contentType)), ("size", .integer(Int64(file.count))),
            ("key", .string(Base64.standard.encode(key))),
            ("text", text.flatMap { $0.isEmpty ? nil : .string($0) }),
        ])
    }
}
