/// The statement of an owner that a new identity replaces an old one: a record
/// `{"v":1,"type":"succession","id","card","relay","issued","accept","sig"}`.
///
/// `id` is the old id, and `card` the signed card of the new one. Both keys sign: `accept` is the signature of the new key
/// over `"sotto/succession/v1\0"` and the canonical record without `accept` and `sig`, and `sig` is that of the old key over the
/// record with `accept`, as in other signed records.
///
/// It proves that the holders of both keys agree. **A thief of the old key can sign one too**, so a reader shows it to the user
/// and takes nothing by itself.
public struct Succession: Sendable, Hashable {
    /// A reason to refuse a record.
    public enum Invalid: RecordError, Equatable {
        /// A member is missing or malformed, or the card is that of the old id, or it has an address for one
        /// contact, accounts in other messengers, or no date.
        case member(String)
        /// The record is of a later version.
        case version(Int64)
        /// One of the two signatures is missing or does not belong to its key and this content.
        case signature
        /// The record as a whole is not in the form of a succession.
        case form(RecordFormError)
    }

    /// The type of the record.
    public static let type = "succession"
    /// Days after ``issued`` for which the owner still reads the mailbox of the old id.
    public static let graceDays: Int64 = 30

    /// The old id.
    public let former: KeyID
    /// The signed card of the new identity.
    public let card: Card
    /// The time of the signatures.
    public let issued: Timestamp
    /// The address of the relay where the owner of the old id fetched mail, or `nil`: its directory gets the record.
    public let relay: String?
    /// The signed record.
    public let record: JSONObject

    /// The new id.
    public var next: KeyID { card.id }

    /// The time at which the owner no longer reads the mailbox of the old id.
    public var graceEnd: Timestamp {
        Timestamp(seconds: issued.seconds + Self.graceDays * 86_400)
    }

    /// Signs that `new` replaces `old`, which are two identities.
    public init(of old: Identity, by new: Identity, issued: Timestamp) {
        precondition(old.id != new.id, "an identity does not replace itself")
        let card = new.card(issued: issued)
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string(Self.type)),
            ("id", .string(old.id.description)),
            ("card", card.record.map { .object($0) }),
            ("relay", old.relay.map { .string($0) }),
            ("issued", .string(issued.description)),
        ])
        Self.sign(&record, old: old.signingKey, new: new.signingKey)
        (former, self.card, self.issued, relay, self.record) = (
            old.id, card, issued, old.relay, record
        )
    }

    /// Reads a record, and verifies its form, the card and both signatures.
    public init(record: JSONObject) throws(Invalid) {
        do throws(RecordFormError) {
            try RecordForm.succession.canonical(record)
        } catch {
            throw .form(error)
        }
        let fields = Fields<Invalid>(record)
        try fields.header(Self.type)
        former = try fields["id"].keyID()
        issued = try fields["issued"].time()
        relay = try fields["relay"].optional?.text()
        guard let card = try? Card(record: try fields["card"].object()), card.id != former,
            card.issued != nil, card.address == nil, card.hybrid != nil,
            card.accounts.members.isEmpty
        else { throw .member("card") }
        self.card = card
        self.record = record
        let accept = try fields["accept"].bytes(count: 64)
        guard SignedRecord.verify(record, by: former.publicKey),
            verifySignature(accept, of: Self.message(record), by: card.id.publicKey)
        else { throw .signature }
    }

    /// Adds both signatures, and replaces existing ones.
    package static func sign(_ record: inout JSONObject, old: SigningKey, new: SigningKey) {
        record["accept"] = .base64(new.sign(message(record)))
        SignedRecord.sign(&record, with: old)
    }

    private static func message(_ record: JSONObject) -> [UInt8] {
        var unsigned = record
        unsigned["accept"] = nil
        unsigned["sig"] = nil
        return Array("sotto/succession/v1\0".utf8) + JSON.object(unsigned).canonical()
    }

    /// Whether two statements name the same old and new id. Two of one old id that do not are a fork, whatever their times.
    public func agrees(with other: Succession) -> Bool {
        former == other.former && next == other.next
    }
}
