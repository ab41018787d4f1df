import Sotto
import SottoTool

/// A file that is encrypted beside a message, under a key that goes into it.
struct Attachment {
    private let path: String
    private let name: String
    private let contentType: String
    private let blob: String
    /// The file's key, base64.
    private let key: [UInt8]

    init(path: String, blob: String, contentType: String) {
        self.path = path
        self.blob = blob
        self.contentType = contentType
        name = String(path.split(separator: "/").last ?? "file")
        key = randomBytes(32)
    }

    /// The name of the blob, by which the pointer calls it.
    private var objectKey: String { String(blob.split(separator: "/").last ?? "blob") }

    // MARK: Whisper2

    /// Writes the blob in Whisper2's form, and returns what makes each recipient's pointer.
    func writeWhisper2() throws -> (
        @Sendable (Whisper2Keys, Whisper2Contact) throws -> Whisper2AttachmentPointer
    ) {
        let output = try Output(path: blob, content: .binary)
        let writer = try Whisper2AttachmentWriter(
            SeekableFile(path: path), key: SecretBytes(copying: key))
        try copy(from: writer, to: output)
        try output.finish()
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
        let file = try Input(path: path).readAll(limit: FileEncryption.limit)
        let output = try Output(path: blob, content: .binary)
        try output.write(try FileEncryption.seal(file, key: SecretBytes(copying: key)))
        try output.finish()
        return JSONObject([
            ("type", .string("file")), ("name", .string(name)),
            ("contentType", .string(contentType)), ("size", .integer(Int64(file.count))),
            ("key", .string(Base64.standard.encode(key))),
            ("text", text.flatMap { $0.isEmpty ? nil : .string($0) }),
        ])
    }
}
