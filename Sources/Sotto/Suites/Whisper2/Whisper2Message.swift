/// A Whisper2 message to one account, alone or as a member of a group.
public struct Whisper2Message: Sendable, Hashable {
    /// The box and what its signature covers.
    public let frame: Whisper2Frame
    /// The account that the box is for. In a group the signature covers the group's id in its place.
    public let to: WhisperID
    /// What stands outside the signature. Not to be trusted.
    public let untrusted: Whisper2Hints

    /// The longest text, in bytes.
    public static let textLimit = 8000

    /// The message's id; keep the ids that were seen, for a server can deliver a message again.
    public var id: String { frame.id }
    /// The group's id, or `nil`.
    public var group: String? { frame.type == .groupSendMessage ? frame.to : nil }

    init(frame: Whisper2Frame, to: WhisperID, untrusted: Whisper2Hints) {
        self.frame = frame
        self.to = to
        self.untrusted = untrusted
    }

    /// Seals `plaintext` to a contact and signs it; a text has at most ``textLimit`` bytes of UTF-8.
    ///
    /// `group` is the group's id where the message goes to each of its members. `time` is in milliseconds since 1970
    /// began; `id` a lower-case UUID.
    public static func seal(
        _ plaintext: [UInt8], hints: Whisper2Hints = Whisper2Hints(), with keys: Whisper2Keys,
        from: WhisperID, to contact: Whisper2Contact, group: String? = nil,
        id: String = Envelope.newID(), time: Int64
    ) throws(Whisper2SealError) -> Whisper2Message {
        try hints.validate()
        if hints.kind == .text {
            guard plaintext.count <= textLimit else { throw .tooLong(limit: textLimit) }
            guard String(validating: plaintext, as: UTF8.self) != nil else { throw .notText }
        }
        let frame = try Whisper2Frame(
            sealing: plaintext, type: group == nil ? .sendMessage : .groupSendMessage, id: id,
            with: keys, from: from, to: group ?? contact.id.description,
            key: contact.encryptionKey, time: time)
        return Whisper2Message(frame: frame, to: contact.id, untrusted: hints)
    }

    /// Reads a message, of a group where it has a `groupId`.
    public init(record: JSONObject) throws(Whisper2RecordError) {
        let members = Whisper2Members(record: record)
        try members.requireVersions()
        to = try members.whisperID("to")
        if members.optional("groupId") != nil {
            let group = try members.text("groupId")
            frame = try Whisper2Frame(
                record: record, type: .groupSendMessage, idName: "messageId", to: group)
        } else {
            frame = try Whisper2Frame(
                record: record, type: .sendMessage, idName: "messageId", to: to.description)
        }
        untrusted = try Whisper2Hints(record: record)
    }

    /// The record.
    public var record: JSONObject {
        JSONObject(
            [
                ("protocolVersion", .integer(1)), ("cryptoVersion", .integer(1)),
                ("messageId", .string(id)), ("groupId", group.map { .string($0) }),
                ("from", .string(frame.from.description)), ("to", .string(to.description)),
                ("msgType", .string(untrusted.kind.rawValue)),
            ] + frame.members + untrusted.members)
    }

    /// What an opened message holds.
    public struct Opened: Sendable, Hashable {
        /// What was in the box.
        public let plaintext: [UInt8]
        /// Whether the sender's signature was verified. Where it was not, only the holder of one of the two X25519 keys
        /// can have made the box, and the id, the time and the group are nobody's word.
        public let isVerified: Bool
    }

    /// Verifies the signature by the contact's key, and only then opens the box.
    ///
    /// A contact without a signing key is refused unless `allowUnverified` is set.
    public func open(
        with keys: Whisper2Keys, as account: WhisperID, from sender: Whisper2Contact,
        allowUnverified: Bool = false
    ) throws(Whisper2OpenError) -> Opened {
        guard to == account else { throw .notForUs }
        let (plaintext, isVerified) = try frame.open(
            with: keys, from: sender, allowUnverified: allowUnverified)
        if untrusted.kind == .text {
            guard plaintext.count <= Self.textLimit,
                String(validating: plaintext, as: UTF8.self) != nil
            else { throw .text(limit: Self.textLimit) }
        }
        return Opened(plaintext: plaintext, isVerified: isVerified)
    }
}
