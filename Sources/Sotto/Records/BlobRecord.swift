/// A blob that `send` uploads: `{"v":1,"type":"blob","id","to","size","digest","relay"}`. `encrypt` writes it before the
/// envelope that needs the blob. sotto-formats(5), BLOBS.
public struct BlobRecord: Sendable, Hashable {
    /// The random id, 32 bytes, with which every client can fetch the blob.
    public let id: [UInt8]
    /// The mailbox of the recipient.
    public let to: KeyID
    /// The length of the blob in bytes, 1 to ``Blob/maximumSize``.
    public let size: Int64
    /// SHA-256 of the blob, 32 bytes.
    public let digest: [UInt8]
    /// The address of the relay, or `nil` if `send` gets it in another way.
    public let relay: String?

    /// Creates a record.
    public init(id: [UInt8], to: KeyID, size: Int64, digest: [UInt8], relay: String?) {
        precondition(id.count == 32 && digest.count == 32)
        self.id = id
        self.to = to
        self.size = size
        self.digest = digest
        self.relay = relay
    }

    /// The value of the member `type`.
    public static let type = "blob"

    /// Parses a record. Throws ``FieldError``.
    public init(_ record: JSONObject) throws(FieldError) {
        let fields = Fields<FieldError>(record)
        try fields.header(Self.type)
        id = try fields["id"].hexBytes(count: 32)
        to = try fields["to"].keyID()
        size = try fields["size"].integer(in: 1...Blob.maximumSize)
        digest = try fields["digest"].bytes(count: 32)
        relay = try fields["relay"].optional?.text()
    }

    /// The id as text: 64 hexadecimal digits.
    public var name: String { hex(id) }

    /// The record.
    public var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string(Self.type)), ("id", .string(name)),
            ("to", .string(to.description)), ("size", .integer(size)),
            ("digest", .base64(digest)), ("relay", relay.map { .string($0) }),
        ])
    }
}
