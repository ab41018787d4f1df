public import Sotto
public import SottoState
public import SottoTool

/// The whole address book in one encrypted file: a signed record of type `contact-backup`, then a record for each
/// contact, a line each, as an age file.
///
/// The signature says whose address book it is. It is over a record of a type of its own, so that no file that
/// somebody had us sign for another purpose can pass for one.
public enum ContactBackup {
    /// The most bytes of contacts that are read.
    public static let limit = 64 << 20

    /// The backup's content before it is encrypted.
    public static func content(_ contacts: [Contact], of identity: Identity) -> [UInt8] {
        let lines = contacts.flatMap { $0.record.serialized() + [UInt8(ascii: "\n")] }
        var header = JSONObject([
            ("v", .integer(1)), ("type", .string("contact-backup")),
            ("id", .string(identity.id.description)),
            ("time", .string(Timestamp.now().description)),
            ("contacts", .integer(Int64(contacts.count))),
            ("sha256", .string(Base64.standard.encode(sha256(lines)))),
        ])
        SignedRecord.sign(&header, with: identity.signingKey)
        return header.serialized() + [UInt8(ascii: "\n")] + lines
    }

    /// Whether `content` is the very address book that this identity wrote down.
    ///
    /// Throws a failure with status 11 when it says so and is not; `false` for one of another identity.
    public static func isGenuine(_ content: [UInt8], of identity: Identity) throws(Failure) -> Bool
    {
        let end = content.firstIndex(of: UInt8(ascii: "\n")) ?? content.endIndex
        guard let header = try? JSON.object(parsing: Array(content[..<end])),
            header["type"]?.string == "contact-backup",
            header["id"]?.string == identity.id.description
        else { return false }
        let lines = Array(content[min(end + 1, content.endIndex)...])
        guard SignedRecord.verify(header, by: identity.id.publicKey),
            let digest = header["sha256"]?.string.flatMap({ Base64.standard.decode($0) }),
            constantTimeEqual(digest, sha256(lines))
        else {
            throw Failure(
                .authentication, "the backup's signature is wrong",
                hint: "it was changed after it was made; nothing was taken from it")
        }
        return true
    }
}
