import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoTool

extension Attachment {
    /// Writes the blob in Whisper2's format. Returns a closure that makes each recipient's pointer.
    func writeWhisper2() throws -> (
        @Sendable (Whisper2Keys, Whisper2Contact) throws -> Whisper2AttachmentPointer
    ) {
        let file = try seekable()
        let key = randomBytes(32)
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
        let (objectKey, contentType) = (objectKey, contentType)
        return { own, contact in
            try Whisper2AttachmentPointer(
                objectKey: objectKey, contentType: contentType, ciphertextSize: count,
                fileNonce: nonce, fileKey: SecretBytes(copying: key), with: own, to: contact)
        }
    }
}
