import Sotto
import SottoContacts
import SottoTool

/// Decrypts an attachment with the key in a message record.
struct AttachmentDecryption {
    /// A file with the record, `-`, or the number of an opened message.
    let record: String
    let blob: String?
    let identity: IdentityListOptions
    let lockTimeout: Double
    let output: String?

    func run() throws {
        let (attached, key) = try AttachedFile.find(
            record, identity, lockTimeout: lockTimeout)
        guard !attached.isWhisper2 else {
            throw Failure(
                .usage, "the attachment has Whisper2's format",
                hint: "give the same arguments to bridge open whisper2")
        }
        try AttachedFile.decrypt(blob, to: output) { blob, sink in
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
