/// The statement of an owner that an id ends for ever: a record `{"v":1,"type":"revocation","id","issued","relay","sig"}`.
///
/// It is made in advance, because its owner may have lost the keys when it is needed. It has no end and no successor, it wins over every
/// other record of the id, and it voids every ``Succession`` of the id, whenever that was made or accepted. `issued` decides
/// nothing.
public struct Revocation: Sendable, Hashable {
    /// A reason to refuse a record.
    public enum Invalid: RecordError, Equatable {
        /// A member is missing or malformed.
        case member(String)
        /// The record is of a later version.
        case version(Int64)
        /// The signature is missing or not that of the id.
        case signature
        /// The record as a whole is not in the form of a revocation.
        case form(RecordFormError)
    }

    /// The type of the record.
    public static let type = "revocation"

    /// The id that ends.
    public let id: KeyID
    /// The time of the signature.
    public let issued: Timestamp
    /// The address of the relay that the owner used at that time, or `nil`.
    public let relay: String?
    /// The signed record.
    public let record: JSONObject

    /// Signs the end of an identity.
    public init(of identity: Identity, issued: Timestamp) {
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string(Self.type)),
            ("id", .string(identity.id.description)),
            ("issued", .string(issued.description)),
            ("relay", identity.relay.map { .string($0) }),
        ])
        SignedRecord.sign(&record, with: identity.signingKey)
        (id, self.issued, relay, self.record) = (identity.id, issued, identity.relay, record)
    }

    /// Reads a record, and verifies its form and its signature.
    public init(record: JSONObject) throws(Invalid) {
        do throws(RecordFormError) {
            try RecordForm.revocation.canonical(record)
        } catch {
            throw .form(error)
        }
        let fields = Fields<Invalid>(record)
        try fields.header(Self.type)
        id = try fields["id"].keyID()
        issued = try fields["issued"].time()
        relay = try fields["relay"].optional?.text()
        self.record = record
        guard SignedRecord.verify(record, by: id.publicKey) else { throw .signature }
    }
}
