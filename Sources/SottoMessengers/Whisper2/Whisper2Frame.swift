import Sotto

/// The type of a Whisper2 frame, which its signature covers.
public enum Whisper2FrameType: String, Sendable, CaseIterable {
    case sendMessage = "send_message"
    case groupSendMessage = "group_send_message"
    case callInitiate = "call_initiate"
    case callAnswer = "call_answer"
    case callIceCandidate = "call_ice_candidate"
    case callEnd = "call_end"

    /// Whether the frame belongs to a call and is not a message.
    public var isCall: Bool {
        switch self {
        case .sendMessage, .groupSendMessage: false
        case .callInitiate, .callAnswer, .callIceCandidate, .callEnd: true
        }
    }
}

/// The common part of messages and call signals: a box and the signed fields.
///
/// The signature is Ed25519 over SHA-256 of the canonical string `v1⏎type⏎id⏎from⏎to⏎time⏎nonce⏎ciphertext⏎`, with
/// nonce and ciphertext in base64. The lines have no lengths, so no field may contain a control character.
public struct Whisper2Frame: Sendable, Hashable {
    /// The type of the frame.
    public let type: Whisper2FrameType
    /// The message's or the call's id, a lower-case UUID.
    public let id: String
    /// The claimed sender.
    public let from: WhisperID
    /// The recipient, or the group's id.
    public let to: String
    /// The time of creation, in milliseconds since 1970-01-01T00:00:00Z.
    public let time: Int64
    /// The box's nonce, 24 bytes.
    public let nonce: [UInt8]
    /// The box: tag (16 bytes) ‖ ciphertext.
    public let ciphertext: [UInt8]
    /// The signature, 64 bytes.
    public let signature: [UInt8]

    /// The valid times: integers from 0 that a double represents exactly.
    static let times: ClosedRange<Int64> = 0...(1 << 53 - 1)

    /// The string that is signed. It is different for each frame, because no field contains control characters; every
    /// initializer checks that.
    public var canonical: [UInt8] {
        Self.canonical(
            type: type, id: id, from: from, to: to, time: time, nonce: nonce, ciphertext: ciphertext
        )
    }

    static func canonical(
        type: Whisper2FrameType, id: String, from: WhisperID, to: String, time: Int64,
        nonce: [UInt8], ciphertext: [UInt8]
    ) -> [UInt8] {
        let lines = [
            "v1", type.rawValue, id, from.description, to, String(time),
            Base64.standard.encode(nonce), Base64.standard.encode(ciphertext),
        ]
        return lines.flatMap { Array($0.utf8) + [UInt8(ascii: "\n")] }
    }

    /// Reads the members that all frames have. The id is the member `idName`.
    init(
        record: JSONObject, type: Whisper2FrameType, idName: String, to: String
    ) throws(Whisper2RecordError) {
        let fields = Whisper2Fields(record)
        guard isWhisper2Text(to) else { throw .member("to") }
        self.type = type
        self.to = to
        id = try fields[idName].uuid()
        from = try fields["from"].whisperID()
        time = try fields["timestamp"].integer(in: Self.times)
        nonce = try fields["nonce"].bytes(count: 24)
        ciphertext = try fields["ciphertext"].bytes { $0 >= 16 }
        signature = try fields["sig"].bytes(count: 64)
    }

    /// Encrypts and signs under a fresh nonce.
    init(
        sealing plaintext: [UInt8], type: Whisper2FrameType, id: String, with keys: Whisper2Keys,
        from: WhisperID, to: String, key: [UInt8], time: Int64
    ) throws(Whisper2SealError) {
        guard Envelope.isID(id) else { throw .field("id") }
        guard isWhisper2Text(to) else { throw .field("to") }
        guard Self.times.contains(time) else { throw .field("timestamp") }
        guard let shared = keys.sharedKey(key) else { throw .recipientKey }
        self.type = type
        self.id = id
        self.from = from
        self.to = to
        self.time = time
        nonce = randomBytes(24)
        ciphertext = NaClBox.seal(plaintext, nonce: nonce, key: shared)
        signature = keys.signing.sign(
            sha256(
                Self.canonical(
                    type: type, id: id, from: from, to: to, time: time, nonce: nonce,
                    ciphertext: ciphertext)))
    }

    /// Whether the signature over all signed fields is by `publicKey` (32 bytes).
    public func isSigned(by publicKey: [UInt8]) -> Bool {
        verifySignature(signature, of: sha256(canonical), by: publicKey)
    }

    /// Verifies the signature, and then opens the box.
    ///
    /// Returns the plaintext, and whether the signature was verified. It is not if the sender's signing key is unknown,
    /// which `allowUnverified` must allow.
    func open(
        with keys: Whisper2Keys, from sender: Whisper2Contact, allowUnverified: Bool
    ) throws(Whisper2OpenError) -> (plaintext: [UInt8], isVerified: Bool) {
        guard from == sender.id else { throw .otherSender }
        if let signingKey = sender.signingKey {
            guard isSigned(by: signingKey) else { throw .authentication }
        } else if !allowUnverified {
            throw .unverified
        }
        guard let shared = keys.sharedKey(sender.encryptionKey),
            let plaintext = NaClBox.open(ciphertext, nonce: nonce, key: shared)
        else { throw .authentication }
        return (plaintext, sender.signingKey != nil)
    }

    /// The members that all frames have, except the id and the recipient.
    var members: [(String, JSON?)] {
        [
            ("timestamp", .integer(time)), ("nonce", .base64(nonce)),
            ("ciphertext", .base64(ciphertext)),
            ("sig", .base64(signature)),
        ]
    }

    /// Returns the difference between the frame's time and `now`, both in milliseconds. The apps' server refuses more
    /// than ten minutes. Stored messages are older, so readers check it only on request.
    public func skew(from now: Int64) -> Int64 {
        abs(time - min(max(now, 0), Self.times.upperBound))
    }
}
