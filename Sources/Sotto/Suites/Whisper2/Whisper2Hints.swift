/// What a message says outside its box and its signature. Anybody on the way can have written it: it is shown as a
/// hint at most, and nothing is decided by it.
public struct Whisper2Hints: Sendable, Hashable {
    /// What the plaintext is.
    public enum Kind: String, Sendable, CaseIterable {
        case text, image, voice, audio, video, file, location, system
    }

    /// What the plaintext is said to be.
    public let kind: Kind
    /// The id of the message that this one is said to answer.
    public let replyTo: String?
    /// Reactions: for each the ids of accounts.
    public let reactions: JSONObject?
    /// Where an attachment is, with its key in a box.
    public let attachment: Whisper2AttachmentPointer?

    /// Hints of these parts; `replyTo` is a lower-case UUID.
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
        let members = Whisper2Members(record: record)
        guard let kind = record["msgType"]?.string.flatMap({ Kind(rawValue: $0) }) else {
            throw .member("msgType")
        }
        let replyTo = members.optional("replyTo") == nil ? nil : try members.uuid("replyTo")
        var reactions: JSONObject?
        if let value = members.optional("reactions") {
            guard let object = value.object, Self.areReactions(object) else {
                throw .member("reactions")
            }
            reactions = object
        }
        var attachment: Whisper2AttachmentPointer?
        if let value = members.optional("attachment") {
            guard let object = value.object else { throw .member("attachment") }
            attachment = try Whisper2AttachmentPointer(record: object)
        }
        self.init(kind: kind, replyTo: replyTo, reactions: reactions, attachment: attachment)
    }

    /// Refuses what the reader would refuse.
    func validate() throws(Whisper2SealError) {
        if let replyTo, !Envelope.isID(replyTo) { throw .field("replyTo") }
        if let reactions, !Self.areReactions(reactions) { throw .field("reactions") }
    }

    private static func areReactions(_ object: JSONObject) -> Bool {
        object.members.allSatisfy { name, value in
            Whisper2Members.isField(name)
                && value.array?.allSatisfy { $0.string.flatMap { WhisperID($0) } != nil } == true
        }
    }

    /// The same with another attachment.
    func with(_ attachment: Whisper2AttachmentPointer?) -> Whisper2Hints {
        Whisper2Hints(kind: kind, replyTo: replyTo, reactions: reactions, attachment: attachment)
    }

    /// The members behind the signature.
    var members: [(String, JSON?)] {
        [
            ("replyTo", replyTo.map { .string($0) }), ("reactions", reactions.map { .object($0) }),
            ("attachment", attachment.map { .object($0.record) }),
        ]
    }
}
