public import Sotto

/// The fields of a message outside its box and its signature. An attacker in transit can write them: they may be
/// displayed as hints, but must not influence decisions.
public struct Whisper2Hints: Sendable, Hashable {
    /// The type of the plaintext.
    public enum Kind: String, Sendable, CaseIterable {
        case text, image, voice, audio, video, file, location, system
    }

    /// The claimed type of the plaintext.
    public let kind: Kind
    /// The id of the message that this one claims to answer.
    public let replyTo: String?
    /// Reactions: lists of account ids.
    public let reactions: JSONObject?
    /// The location of an attachment, with its key in a box.
    public let attachment: Whisper2AttachmentPointer?

    /// Creates hints. `replyTo` is a lower-case UUID.
    public init(
        kind: Kind = .text, replyTo: String? = nil, reactions: JSONObject? = nil,
        attachment: Whisper2AttachmentPointer? = nil
    ) {
        self.kind = kind
        self.replyTo = replyTo
        self.reactions = reactions
        self.attachment = attachment
    }

    init(record: JSONObject) throws(Whisper2RecordError) {
        let fields = Whisper2Fields(record)
        kind = try fields["msgType"].text { Kind(rawValue: $0) }
        replyTo = try fields["replyTo"].nullable?.uuid()
        reactions = try fields["reactions"].nullable?.object()
        if let reactions, !Self.areReactions(reactions) { throw .member("reactions") }
        attachment = try fields.attachment()
    }

    /// Refuses values that a reader would refuse.
    func validate() throws(Whisper2SealError) {
        if let replyTo, !Envelope.isID(replyTo) { throw .field("replyTo") }
        if let reactions, !Self.areReactions(reactions) { throw .field("reactions") }
    }

    private static func areReactions(_ object: JSONObject) -> Bool {
        object.members.allSatisfy { name, value in
            isWhisper2Text(name)
                && value.array?.allSatisfy { $0.string.flatMap { WhisperID($0) } != nil } == true
        }
    }

    /// Returns a copy with another attachment.
    func with(_ attachment: Whisper2AttachmentPointer?) -> Whisper2Hints {
        Whisper2Hints(kind: kind, replyTo: replyTo, reactions: reactions, attachment: attachment)
    }

    /// The members that follow the signature.
    var members: [(String, JSON?)] {
        [
            ("replyTo", replyTo.map { .string($0) }), ("reactions", reactions.map { .object($0) }),
            ("attachment", attachment.map { .object($0.record) }),
        ]
    }
}
