public import Sotto

/// A signal of a Whisper2 call: an offer, an answer, a candidate or the end. The box contains WebRTC's data. Sotto does
/// not implement the call itself.
public struct Whisper2Call: Sendable, Hashable {
    /// The box and the signed fields. Its id is the call's id.
    public let frame: Whisper2Frame
    /// The account of the recipient.
    public let to: WhisperID
    /// The fields outside the signature, which are not authenticated.
    public let untrusted: Hints

    /// The fields of a signal outside its signature.
    public struct Hints: Sendable, Hashable {
        /// Whether an offer includes video.
        public let isVideo: Bool?
        /// The claimed reason for the end of a call: ended, declined, busy, timeout or failed.
        public let reason: String?

        /// Creates hints.
        public init(isVideo: Bool? = nil, reason: String? = nil) {
            self.isVideo = isVideo
            self.reason = reason
        }
    }

    /// The reasons for the end of a call.
    public static let reasons = ["ended", "declined", "busy", "timeout", "failed"]

    /// Encrypts and signs a signal. `type` is a call type, `id` the call's lower-case UUID.
    public static func seal(
        _ plaintext: [UInt8], type: Whisper2FrameType, hints: Hints = Hints(),
        with keys: Whisper2Keys, from: WhisperID, to contact: Whisper2Contact,
        id: String = Envelope.newID(), time: Int64
    ) throws(Whisper2SealError) -> Whisper2Call {
        guard type.isCall else { throw .field("type") }
        if let reason = hints.reason, !reasons.contains(reason) { throw .field("reason") }
        let frame = try Whisper2Frame(
            sealing: plaintext, type: type, id: id, with: keys, from: from,
            to: contact.id.description, key: contact.encryptionKey, time: time)
        return Whisper2Call(frame: frame, to: contact.id, untrusted: hints)
    }

    private init(frame: Whisper2Frame, to: WhisperID, untrusted: Hints) {
        self.frame = frame
        self.to = to
        self.untrusted = untrusted
    }

    /// Reads `{"type":…,"payload":{…}}`.
    public init(record: JSONObject) throws(Whisper2RecordError) {
        guard let type = record["type"]?.string.flatMap({ Whisper2FrameType(rawValue: $0) }),
            type.isCall
        else { throw .member("type") }
        let payload = try Whisper2Fields(record)["payload"].members()
        try payload.requireVersions()
        to = try payload["to"].whisperID()
        frame = try Whisper2Frame(
            record: payload.record, type: type, idName: "callId", to: to.description)
        untrusted = Hints(
            isVideo: try payload["isVideo"].nullable?.bool(),
            reason: try payload["reason"].nullable?.text {
                Self.reasons.contains($0) ? $0 : nil
            })
    }

    /// The record.
    public var record: JSONObject {
        let payload = JSONObject(
            [
                ("protocolVersion", .integer(1)), ("cryptoVersion", .integer(1)),
                ("callId", .string(frame.id)), ("from", .string(frame.from.description)),
                ("to", .string(to.description)), ("isVideo", untrusted.isVideo.map { .bool($0) }),
            ] + frame.members + [("reason", untrusted.reason.map { .string($0) })])
        return ["type": .string(frame.type.rawValue), "payload": .object(payload)]
    }

    /// Verifies the signature by the contact's key, and then opens the box; see
    /// ``Whisper2Message/open(with:as:from:allowUnverified:)``.
    public func open(
        with keys: Whisper2Keys, as account: WhisperID, from sender: Whisper2Contact,
        allowUnverified: Bool = false
    ) throws(Whisper2OpenError) -> Whisper2Message.Opened {
        guard to == account else { throw .notForUs }
        let (plaintext, isVerified) = try frame.open(
            with: keys, from: sender, allowUnverified: allowUnverified)
        return Whisper2Message.Opened(plaintext: plaintext, isVerified: isVerified)
    }
}
