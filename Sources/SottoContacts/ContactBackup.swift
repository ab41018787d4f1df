public import Sotto
public import SottoState
import SottoTool

/// The whole address book in one encrypted file: a signed record of type `contact-backup`, then one record for each
/// contact, one line each, as an age file.
///
/// The signature proves the owner of the address book. It covers a record with the type `contact-backup`, so that a file that the
/// owner signed for another purpose is not accepted as a backup.
public enum ContactBackup {
    /// The maximum length of the contacts in bytes.
    public static let limit = 64 << 20

    /// Returns the backup's content before encryption.
    public static func content(_ contacts: [Contact], of identity: Identity) -> [UInt8] {
        let lines = contacts.flatMap { $0.record.serialized() + [UInt8(ascii: "\n")] }
        var header = JSONObject([
            ("v", .integer(1)), ("type", .string("contact-backup")),
            ("id", .string(identity.device.description)),
            ("time", .string(Timestamp.now().description)),
            ("contacts", .integer(Int64(contacts.count))),
            ("sha256", .base64(sha256(lines))),
        ])
        SignedRecord.sign(&header, with: identity.signingKey)
        return header.serialized() + [UInt8(ascii: "\n")] + lines
    }

    /// Returns whether `content` is a backup that this identity signed.
    ///
    /// Throws a failure with status 11 if it names this identity and the signature is wrong. Returns `false` for a
    /// backup of another identity.
    public static func isGenuine(_ content: [UInt8], of identity: Identity) throws(Failure) -> Bool
    {
        let end = content.firstIndex(of: UInt8(ascii: "\n")) ?? content.endIndex
        guard let header = try? JSON.object(parsing: Array(content[..<end])),
            header["type"]?.string == "contact-backup",
            header["id"]?.string == identity.device.description
        else { return false }
        let lines = Array(content[min(end + 1, content.endIndex)...])
        guard SignedRecord.verify(header, by: identity.device.publicKey),
            let digest = try? Fields<FieldError>(header)["sha256"].bytes(),
            constantTimeEqual(digest, sha256(lines))
        else {
            throw Failure(
                .authentication, "the backup's signature is wrong",
                hint: "the backup was modified and nothing was imported; use another backup")
        }
        return true
    }
}
