import Sotto
import SottoContacts
import SottoMessages
import SottoOpenSSL
import SottoTool

/// Decrypts an attachment with the key in a message record.
struct AttachmentDecryption {
    /// A file with the record, `-`, or the number of an opened message.
    let record: String
    let blob: String?
    let identity: IdentityChoice
    let lockTimeout: Double
    let output: String?
    let quiet: Bool

    func run() throws {
        let file = try AttachedFile.file(
            record, in: AddressBook(identity.load, lockTimeout: lockTimeout))
        let opening = AttachmentOpening(
            file, cipher: OpenSSLChunkCipher(), gcm: OpenSSLGCM.self)
        guard let path = try opening.open(blob, to: output), !quiet else { return }
        Terminal.say("decrypt: note: saved as \(path)")
    }
}
