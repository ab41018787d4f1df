import Sotto
import SottoContacts
import SottoTool

extension DecryptTool {
    /// Decrypts an attachment with the key in a message record. `source` is a file with the record, `-`, or the number
    /// of an opened message.
    func openAttachment(of source: String) throws {
        guard !form.text, !preview else {
            throw Failure(
                .usage, "--text and --preview are only for messages, but the input is a file")
        }
        let (attached, key) = try AttachedFile.find(
            source, identity, lockTimeout: lock.timeout)
        guard !attached.isWhisper2 else {
            throw Failure(
                .usage, "the attachment has Whisper2's format",
                hint: "give the same arguments to bridge open whisper2")
        }
        try AttachedFile.decrypt(file, to: output) { blob, sink in
            guard blob.count <= FileEncryption.limit + FileEncryption.overhead else {
                throw SuiteError.refused
            }
            var bytes = [UInt8](repeating: 0, count: blob.count)
            let count = try bytes.withUnsafeMutableBytes { try blob.fill($0, at: 0) }
            do {
                try sink.write(
                    FileEncryption.open(
                        Array(bytes[..<count]), key: SecretBytes(copying: key)))
            } catch is FileEncryptionError {
                throw SuiteError.refused
            }
        }
    }
}
