/// A message of a meeting. The relay stores the first four in this order, each once; sotto-formats(5), MEETINGS.
public enum MeetingMessage: Sendable, Equatable {
    /// The initiator's session id, 16 bytes, and share, 32 bytes.
    case offer(session: [UInt8], share: [UInt8])
    /// The responder's share, 32 bytes, and proof of the key, 32 bytes.
    case answer(share: [UInt8], proof: [UInt8])
    /// The responder's share, 32 bytes, the owner's card encrypted like that of a ``SealedCard``, and a proof over both shares and the
    /// card's digest, 32 bytes: the answer in a meeting that adds a device.
    case deviceAnswer(share: [UInt8], card: [UInt8], proof: [UInt8])
    /// The initiator's card.
    case firstCard(SealedCard)
    /// The responder's card.
    case secondCard(SealedCard)
    /// The meeting has failed, or a side has ended it.
    case end

    /// An encrypted card, and the proof over both shares and its digest, 32 bytes.
    public struct SealedCard: Sendable, Equatable {
        /// The encrypted card: a nonce, the ciphertext and a tag.
        public let box: [UInt8]
        /// The proof.
        public let proof: [UInt8]
    }

    /// The place of the message among those that the relay stores, from 1; 0 for the end.
    public var step: Int {
        switch self {
        case .offer: 1
        case .answer, .deviceAnswer: 2
        case .firstCard: 3
        case .secondCard: 4
        case .end: 0
        }
    }

    /// The most bytes of a message as it is stored: a card of ``RecordForm/card`` in Base64, and the other members.
    public static let limit = 36 << 10
    /// The bytes of a proof.
    static let proofBytes = 32

    /// Reads the members of a message.
    public init(_ record: JSONObject) throws(FieldError) {
        let fields = Fields<FieldError>(record)
        try fields.header(MeetingRecord.type)
        func share() throws(FieldError) -> [UInt8] {
            try fields["share"].bytes(count: CPace.shareBytes)
        }
        func proof() throws(FieldError) -> [UInt8] {
            try fields["proof"].bytes(count: Self.proofBytes)
        }
        func card() throws(FieldError) -> SealedCard {
            SealedCard(box: try fields["card"].bytes { $0 <= Self.limit }, proof: try proof())
        }
        switch record["part"]?.string {
        case "offer":
            self = .offer(
                session: try fields["session"].bytes(count: CPace.sessionBytes),
                share: try share())
        case "answer": self = .answer(share: try share(), proof: try proof())
        case "device-answer":
            let sealed = try card()
            self = .deviceAnswer(share: try share(), card: sealed.box, proof: sealed.proof)
        case "first-card": self = .firstCard(try card())
        case "second-card": self = .secondCard(try card())
        case "end": self = .end
        default: throw fields["part"].failure
        }
    }

    /// Reads a message as the relay stores it.
    public init(stored bytes: [UInt8]) throws(FieldError) {
        guard bytes.count <= Self.limit,
            let record = try? JSON.object(parsing: bytes, depth: 2)
        else { throw .member("message") }
        try self.init(record)
    }

    /// The message as the relay stores it: one JSON object.
    public var stored: [UInt8] { JSONObject(Self.header + members).serialized() }

    fileprivate static let header: [(String, JSON?)] = [
        ("v", .integer(1)), ("type", .string(MeetingRecord.type)),
    ]

    fileprivate var members: [(String, JSON?)] {
        switch self {
        case .offer(let session, let share):
            [
                ("part", .string("offer")), ("session", .base64(session)),
                ("share", .base64(share)),
            ]
        case .answer(let share, let proof):
            [("part", .string("answer")), ("share", .base64(share)), ("proof", .base64(proof))]
        case .deviceAnswer(let share, let card, let proof):
            [
                ("part", .string("device-answer")), ("share", .base64(share)),
                ("card", .base64(card)), ("proof", .base64(proof)),
            ]
        case .firstCard(let card): Self.members("first-card", card)
        case .secondCard(let card): Self.members("second-card", card)
        case .end: [("part", .string("end"))]
        }
    }

    private static func members(_ part: String, _ card: SealedCard) -> [(String, JSON?)] {
        [("part", .string(part)), ("card", .base64(card.box)), ("proof", .base64(card.proof))]
    }
}

/// A record of type `meeting`: the place of a meeting, and what `recv` found there or `send` puts there.
public struct MeetingRecord: Sendable, Equatable {
    /// The content of a record.
    public enum Content: Sendable, Equatable {
        /// The place is new and empty.
        case place
        /// A message.
        case message(MeetingMessage)
    }

    /// The number of the place.
    public let number: Int64
    /// The address of the relay.
    public let relay: String
    /// The content.
    public let content: Content

    /// The value of the member `type`.
    public static let type = "meeting"

    /// Creates a record.
    public init(number: Int64, relay: String, _ content: Content) {
        (self.number, self.relay, self.content) = (number, relay, content)
    }

    /// Parses a record.
    public init(_ record: JSONObject) throws(FieldError) {
        let fields = Fields<FieldError>(record)
        try fields.header(Self.type)
        number = try fields["number"].integer(in: MeetingCode.numbers)
        relay = try fields["relay"].text()
        content =
            record["part"]?.string == "place" ? .place : .message(try MeetingMessage(record))
    }

    /// The record.
    public var record: JSONObject {
        let members: [(String, JSON?)] =
            switch content {
            case .place: [("part", .string("place"))]
            case .message(let message): message.members
            }
        return JSONObject(
            MeetingMessage.header + [("number", .integer(number)), ("relay", .string(relay))]
                + members)
    }
}
