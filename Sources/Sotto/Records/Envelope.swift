/// A reason to refuse a record as an envelope.
public enum EnvelopeError: RecordError, Equatable {
    /// A member is missing or malformed.
    case member(String)
    /// The record is of a later version.
    case version(Int64)
    /// The suite is unknown to this version.
    case suite(String)
    /// The record as a whole is not in the form of an envelope.
    case form(RecordFormError)
}

extension Field {
    /// Returns the id of a message or of another record: a lower-case UUID.
    public func uuid() throws(Failure) -> String { try text { Envelope.isID($0) ? $0 : nil } }
}

/// An encrypted message in transit, one line of JSON. All members other than `payload` are for delivery. They are
/// trusted only after a comparison with the authenticated values in the payload.
public struct Envelope: Sendable, Hashable {
    /// A lower-case UUID.
    public let id: String
    /// The suite that protects the payload.
    public let suite: Suite
    /// The mailbox of the recipient. Absent for an envelope without a mailbox, such as a chat message that no relay
    /// carries.
    public let to: KeyID?
    /// The claimed sender. Absent in `sealed`, so that the relay does not learn it; in `ratchet` it selects the
    /// session.
    public let from: KeyID?
    /// The time of creation.
    public let time: Timestamp
    /// The time to live at the relay, in seconds, 0 to ``maximumTTL``; `nil` if the relay stores the envelope until it
    /// is acknowledged or the relay's own limit is over. An envelope with 0 is never stored.
    public let ttl: Int64?
    /// The output of the suite.
    public let payload: JSONObject
    /// Reads the plaintext in place of Sotto's own form; `nil` for an envelope of Sotto. It is not written.
    package var decoder: PlaintextDecoder?

    /// The longest time to live: 365 days, in seconds.
    public static let maximumTTL: Int64 = 365 * 86_400
    /// The shortest time to live of a message in a session: one day, in seconds. A relay may delete a message with a
    /// shorter one before the recipient fetches it, and each deleted message is a gap in the session.
    public static let minimumSessionTTL: Int64 = 86_400

    /// Whether a time to live is within the limits of a suite.
    static func isTTL(_ seconds: Int64, of suite: Suite) -> Bool {
        let isOfSession = suite == .ratchet || suite == .group
        return ((isOfSession ? minimumSessionTTL : 0)...maximumTTL).contains(seconds)
    }

    /// Creates an envelope from its parts.
    public init(
        id: String, suite: Suite, to: KeyID?, from: KeyID? = nil, time: Timestamp,
        ttl: Int64? = nil, payload: JSONObject
    ) {
        self.id = id
        self.suite = suite
        self.to = to
        self.from = from
        self.time = time
        self.ttl = ttl
        self.payload = payload
    }

    /// The record.
    public var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("envelope")), ("id", .string(id)),
            ("suite", .string(suite.rawValue)),
            ("to", to.map { .string($0.description) }),
            ("from", from.map { .string($0.description) }), ("time", .string(time.description)),
            ("ttl", ttl.map { .integer($0) }), ("payload", .object(payload)),
        ])
    }

    /// SHA-256 over the authenticated and the meaningful members: the envelope without unknown members, which an
    /// attacker may have added in transit.
    public var digest: [UInt8] {
        Self.digest(
            [
                id, suite.rawValue, to?.description ?? "", from?.description ?? "",
                time.description,
            ] + (ttl.map { ["\($0)"] } ?? []), suite.traits.payloadMembers, of: payload)
    }

    /// Returns SHA-256 over texts and the named members of a payload, each after its length.
    package static func digest(
        _ texts: [String], _ names: [String], of payload: JSONObject
    ) -> [UInt8] {
        var input: [UInt8] = []
        for text in texts {
            input += UInt32(text.utf8.count).bigEndianBytes
            input += text.utf8
        }
        for name in names {
            if let text = payload[name]?.string {
                input += UInt32(text.utf8.count).bigEndianBytes
                input += text.utf8
            } else {
                let member = payload[name]?.canonical() ?? []
                input += UInt32(member.count).bigEndianBytes
                input += member
            }
        }
        return sha256(input)
    }

    /// Reads an envelope record. Throws ``EnvelopeError``.
    public init(record: JSONObject) throws(EnvelopeError) {
        do throws(RecordFormError) {
            try RecordForm.envelope.check(record)
        } catch {
            throw .form(error)
        }
        let fields = Fields<EnvelopeError>(record)
        try fields.header("envelope")
        let id = try fields["id"].uuid()
        let name = try fields["suite"].text()
        guard let suite = Suite(rawValue: name) else { throw .suite(name) }
        // A chat's message may have no mailbox.
        let to = suite.traits.isOfChat ? fields["to"].optional : fields["to"]
        let ttl: Int64? = try fields["ttl"].optional?.integer()
        guard ttl.map({ Self.isTTL($0, of: suite) }) ?? true else { throw .member("ttl") }
        self.init(
            id: id, suite: suite, to: try to?.keyID(),
            from: try fields["from"].optional?.keyID(), time: try fields["time"].time(),
            ttl: ttl, payload: try fields["payload"].object())
    }

    /// Returns a new id: a random UUID (RFC 9562 §5.4) in lower case.
    public static func newID() -> String { uuid(publicRandomBytes(16)) }

    /// Returns an id for a record without one. It is derived from the ciphertext, so it is the same each time.
    package static func id(of bytes: [UInt8]) -> String { uuid(Array(sha256(bytes)[..<16])) }

    private static func uuid(_ bytes: [UInt8]) -> String { UUIDText.text(idBytes(of: bytes)[...]) }

    /// Returns 16 bytes with the version and the variant of the ids that ``newID()`` makes.
    package static func idBytes(of bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes
    }

    /// Returns the 16 bytes of an id that ``isID(_:)`` accepts.
    package static func idBytes(_ id: String) -> [UInt8] {
        guard let bytes = UUIDText.bytes(id) else { preconditionFailure("the id is no UUID") }
        return bytes
    }

    /// Whether `text` has the form of an id: 36 characters, lower-case hexadecimal with hyphens at the positions of a
    /// UUID.
    public static func isID(_ text: String) -> Bool {
        UUIDText.bytes(text) != nil
    }
}
