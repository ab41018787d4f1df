import Sotto
import SottoTool

/// A file that is encrypted separately, with its key in the message.
final class Attachment {
    private let path: String
    private let name: String
    private let contentType: String
    private let blob: String
    /// The key of the file.
    private let key: [UInt8]
    /// The blob, whose file is created when the message is ready.
    private var output: Output?

    init(path: String, blob: String, contentType: String) {
        self.path = path
        self.blob = blob
        self.contentType = contentType
        name = String(path.split(separator: "/").last ?? "file")
        key = randomBytes(32)
    }

    /// The name of the blob in the pointer.
    private var objectKey: String { String(blob.split(separator: "/").last ?? "blob") }

    /// Creates the file of the blob.
    func finish() throws { try output?.finish() }

    // MARK: Whisper2

    /// Writes the blob in Whisper2's format. Returns a closure that makes each recipient's pointer.
    func writeWhisper2() throws -> (
        @Sendable (Whisper2Keys, Whisper2Contact) throws -> Whisper2AttachmentPointer
    ) {
        let file = try SeekableFile(path: path)
        let output = try Output(path: blob, content: .binary)
        let writer: Whisper2AttachmentWriter
        do {
            writer = try Whisper2AttachmentWriter(file, key: SecretBytes(copying: key))
        } catch Whisper2AttachmentError.tooLong(let limit) {
            throw Failure(.malformed, "\(path) is longer than the suite allows (\(limit) bytes)")
        } catch Whisper2AttachmentError.changed {
            throw Failure(.ioError, "\(path) was modified while it was read")
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

    /// Writes the blob in Kecalek's format. Returns the body of the message, with `text` and the file's pointer.
    func writeKecalek(text: String?) throws -> JSONObject {
        let source = try SeekableFile(path: path)
        guard source.count <= FileEncryption.limit else {
            throw Failure(
                .malformed, "\(path) is longer than \(FileEncryption.limit) bytes",
                hint: "use -r instead of --to to encrypt it as a separate file")
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
