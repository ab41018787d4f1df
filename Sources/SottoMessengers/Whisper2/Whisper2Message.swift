public import Sotto

/// A Whisper2 message to one account, sent directly or to a member of a group.
public struct Whisper2Message: Sendable, Hashable {
    /// The box and the signed fields.
    public let frame: Whisper2Frame
    /// The account that the box is for. In a group the signature covers the group's id and not this account.
    public let to: WhisperID
    /// The fields outside the signature, which are not authenticated.
    public let untrusted: Whisper2Hints

    /// The longest text, in bytes.
    public static let textLimit = 8000

    /// The message's id. Store the ids of received messages, because a server can deliver a message again.
    public var id: String { frame.id }
    /// The group's id, or `nil` if the message does not belong to a group.
    public var group: String? { frame.type == .groupSendMessage ? frame.to : nil }

    init(frame: Whisper2Frame, to: WhisperID, untrusted: Whisper2Hints) {
        self.frame = frame
        self.to = to
        self.untrusted = untrusted
    }

    /// Encrypts `plaintext` to a contact and signs it. A text has at most ``textLimit`` bytes of UTF-8.
    ///
    /// `group` is the group's id if the message goes to each of its members. `time` is in milliseconds since
    /// 1970-01-01T00:00:00Z; `id` is a lower-case UUID.
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

    /// Reads a message. With a `groupId` it is a group message.
    public init(record: JSONObject) throws(Whisper2RecordError) {
        let fields = Whisper2Fields(record)
        try fields.requireVersions()
        to = try fields["to"].whisperID()
        let group = try fields["groupId"].nullable?.text(limit: 255)
        frame = try Whisper2Frame(
            record: record, type: group == nil ? .sendMessage : .groupSendMessage,
            idName: "messageId", to: group ?? to.description)
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

    /// The content of an opened message.
    public struct Opened: Sendable, Hashable {
        /// The content of the box.
        public let plaintext: [UInt8]
        /// Whether the sender's signature was verified. If not, only the owner of one of the two X25519 keys can have
        /// made the box, and the id, the time and the group are not authenticated.
        public let isVerified: Bool
    }

    /// Verifies the signature by the contact's key, and then opens the box.
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
