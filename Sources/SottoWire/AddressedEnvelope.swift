public import Sotto

/// An envelope as a relay sees it: its mailbox, its id and its time to live. The relay ignores suite and payload, so that an older relay
/// carries envelopes of later suites.
public struct AddressedEnvelope: Sendable, Equatable {
    /// The id: a lower-case UUID.
    public let id: String
    /// The mailbox of the recipient.
    public let to: KeyID
    /// The time to live at the relay, in seconds, or `nil`; see ``Envelope/ttl``.
    public let ttl: Int64?
    /// The record on one line, without a line feed.
    public let bytes: [UInt8]

    /// Parses an envelope record. Throws ``Reason/badFields`` for another record or one that nests deeper than
    /// ``WireLimits/envelopeDepth``, and ``Reason/tooLarge`` over ``WireLimits/envelopeBytes``.
    public init(_ record: JSONObject) throws(Reason) {
        let fields = Fields<Reason>(record)
        try fields.header("envelope")
        id = try fields["id"].uuid()
        to = try fields["to"].keyID()
        ttl = try fields["ttl"].optional?.integer(in: 0...Envelope.maximumTTL)
        guard record["payload"]?.object != nil,
            JSON.object(record).nests(atMost: WireLimits.envelopeDepth)
        else { throw .badFields }
        bytes = record.serialized()
        guard bytes.count <= WireLimits.envelopeBytes else { throw .tooLarge }
    }
}

/// An envelope and its sequence number in its mailbox.
public struct Delivered: Sendable, Equatable {
    /// The number that the relay gave it; later envelopes have larger ones.
    public let sequence: Int64
    /// The record on one line, without a line feed.
    public let envelope: [UInt8]

    /// Creates an envelope with its sequence number.
    public init(sequence: Int64, envelope: [UInt8]) {
        self.sequence = sequence
        self.envelope = envelope
    }

    /// The JSON object, serialized.
    var serialized: [UInt8] {
        var out = Array("{\"seq\":\(sequence),\"envelope\":".utf8)
        out.reserveCapacity(out.count + envelope.count + 1)
        out += envelope
        out.append(UInt8(ascii: "}"))
        return out
    }

    init(_ fields: Fields<FieldError>) throws(FieldError) {
        sequence = try fields["seq"].integer()
        envelope = try fields["envelope"].object().serialized()
    }
}

extension [Delivered] {
    /// Whether the numbers grow, and all are greater than `number`.
    public func isInOrder(after number: Int64) -> Bool {
        zip([number] + map(\.sequence), map(\.sequence)).allSatisfy(<)
    }
}
