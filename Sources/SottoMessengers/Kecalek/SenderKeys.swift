package import Sotto
import SottoPadding

/// A reason to refuse a group message or a sender key distribution. The chain is unchanged.
package enum SenderKeyError: Error, Sendable, Equatable {
    /// The message or the distribution is malformed.
    case payload
    /// The message belongs to another chain.
    case chain
    /// The chain's id is not the hash of its first key.
    case chainID
    /// The signature is missing or wrong: another member sent the message, or it was changed.
    case signature
    /// The signature is valid, but the ciphertext is not authentic or its padding is wrong.
    case authentication
    /// The message key was used or deleted, or the message is older than the distribution.
    case noKey
    /// The message would skip more than ``Session/maximumSkip`` messages.
    case tooManySkipped
    /// A counter has reached its maximum, 2³¹ − 1.
    case counterOverflow
    /// The message is longer than the limit of an envelope, in bytes.
    case tooLong(limit: Int)
}

extension SenderKeyError: UnversionedRecordError {
    /// Returns ``payload``.
    package static func member(_ name: String) -> SenderKeyError { .payload }
}

/// A message to a group, encrypted once for all members.
package struct SenderKeyMessage: Sendable, Equatable {
    /// The id of its chain, 32 bytes.
    package let chainID: [UInt8]
    /// The message's number in the chain, from 0.
    package let iteration: UInt32
    /// nonce (12) ‖ ciphertext ‖ tag (16), AES-256-GCM.
    let combined: [UInt8]
    /// The chain's Ed25519 signature, 64 bytes.
    let signature: [UInt8]

    /// The object: `{"chainId","iteration","ciphertext","signature"}`.
    package var payload: JSONObject {
        [
            "chainId": .string(hex(chainID)), "iteration": .integer(Int64(iteration)),
            "ciphertext": .base64(combined),
            "signature": .base64(signature),
        ]
    }

    init(chainID: [UInt8], iteration: UInt32, combined: [UInt8], signature: [UInt8]) {
        self.chainID = chainID
        self.iteration = iteration
        self.combined = combined
        self.signature = signature
    }

    /// Reads the object; the signature is required. Throws ``SenderKeyError/payload`` or ``SenderKeyError/signature``.
    package init(payload: JSONObject) throws(SenderKeyError) {
        let fields = Fields<SenderKeyError>(payload)
        chainID = try fields["chainId"].hexBytes(count: 32)
        iteration = try fields["iteration"].integer(in: 0...Session.maximumCounter)
        combined = try fields["ciphertext"].bytes { $0 >= AESGCM.overhead }
        guard let signature = try? fields["signature"].bytes(count: 64) else { throw .signature }
        self.signature = signature
    }

    /// The associated data of the encryption: `chain id ‖ u32be(iteration)`, 36 bytes.
    static func authenticatedData(_ chainID: [UInt8], _ iteration: UInt32) -> [UInt8] {
        chainID + iteration.bigEndianBytes
    }

    /// The bytes that the signature covers: `"ratchet/sender/v1\0" ‖ chain id ‖ u32be(iteration) ‖ combined`.
    static func signed(_ chainID: [UInt8], _ iteration: UInt32, _ combined: [UInt8]) -> [UInt8] {
        Array("ratchet/sender/v1\0".utf8) + authenticatedData(chainID, iteration) + combined
    }
}

/// A sender key distribution: a member sends it to each other member over their session. It lets them read the chain
/// from its current position on.
///
/// It contains a key. A later member gets the chain at its position then, and cannot read earlier messages. When a
/// member leaves, every other member begins a new chain.
package struct SenderKeyDistribution: Sendable {
    /// The group's id.
    package let groupID: String
    /// The chain's id: SHA-256 of its first key, 32 bytes.
    package let chainID: [UInt8]
    /// The number of the first message that the distribution can decrypt.
    package let iteration: UInt32
    let chainKey: RatchetSecret
    /// The chain's Ed25519 key, 32 bytes.
    package let signingKey: [UInt8]

    /// Returns the object: `{"type":"sender_key","groupId","chainId","iteration","chainKey","signingKey"}`. It contains
    /// a key.
    package func object() -> JSONObject {
        var key = chainKey.copyBytes()
        defer { wipe(&key) }
        return [
            "type": .string("sender_key"), "groupId": .string(groupID),
            "chainId": .string(hex(chainID)), "iteration": .integer(Int64(iteration)),
            "chainKey": .base64(key),
            "signingKey": .base64(signingKey),
        ]
    }

    init(
        groupID: String, chainID: [UInt8], iteration: UInt32, chainKey: RatchetSecret,
        signingKey: [UInt8]
    ) {
        self.groupID = groupID
        self.chainID = chainID
        self.iteration = iteration
        self.chainKey = chainKey
        self.signingKey = signingKey
    }

    /// Reads the object. Throws ``SenderKeyError/payload``, or ``SenderKeyError/chainID`` if the iteration is 0 and the
    /// key does not match the chain's id.
    package init(_ object: JSONObject) throws(SenderKeyError) {
        let fields = Fields<SenderKeyError>(object)
        groupID = try fields["groupId"].text { $0.isEmpty ? nil : $0 }
        chainID = try fields["chainId"].hexBytes(count: 32)
        iteration = try fields["iteration"].integer(in: 0...Session.maximumCounter)
        signingKey = try fields["signingKey"].bytes()
        guard object["type"]?.string == "sender_key", isEd25519Key(signingKey) else {
            throw .payload
        }
        var key = try fields["chainKey"].bytes(count: 32)
        defer { wipe(&key) }
        guard iteration > 0 || constantTimeEqual(sha256(key), chainID) else { throw .chainID }
        chainKey = RatchetSecret(key)
    }
}

/// The sending side of a sender key chain. It is a value: the caller stores it after each message.
package struct SenderKeyChain: Sendable {
    /// The longest plaintext, in bytes.
    package static let limit = Sealed.recordLimit

    /// The group's id.
    package let groupID: String
    /// The chain's id: SHA-256 of its first key, 32 bytes.
    package let chainID: [UInt8]
    let signingKey: SigningKey
    private(set) var key: ChainKey
    /// The number of the next message.
    package private(set) var iteration: UInt32

    /// Creates a chain for a group, whose id is not empty.
    package init(groupID: String) {
        self.init(
            groupID: groupID, senderKey: .random(),
            signingKey: SigningKey(seed: SecretBytes(randomCount: 32)))
    }

    init(groupID: String, senderKey: RatchetSecret, signingKey: SigningKey) {
        self.init(
            groupID: groupID, chainID: senderKey.sha256(), signingKey: signingKey,
            key: ChainKey(secret: senderKey), iteration: 0)
    }

    init(
        groupID: String, chainID: [UInt8], signingKey: SigningKey, key: ChainKey, iteration: UInt32
    ) {
        precondition(!groupID.isEmpty)
        self.groupID = groupID
        self.chainID = chainID
        self.signingKey = signingKey
        self.key = key
        self.iteration = iteration
    }

    /// The distribution to send to a member before the next message, over the session with that member.
    package var distribution: SenderKeyDistribution {
        SenderKeyDistribution(
            groupID: groupID, chainID: chainID, iteration: iteration, chainKey: key.secret,
            signingKey: signingKey.publicKey)
    }

    /// Pads and encrypts a plaintext under the next message key. Store the chain before the result is sent, because a
    /// key must not be used twice.
    ///
    /// Throws ``SenderKeyError/tooLong(limit:)`` or ``SenderKeyError/counterOverflow``.
    package mutating func seal(_ plaintext: [UInt8]) throws(SenderKeyError) -> SenderKeyMessage {
        guard plaintext.count <= Self.limit, let frame = try? Padding.frame(plaintext) else {
            throw .tooLong(limit: Self.limit)
        }
        return try seal(frame: frame, nonce: publicRandomBytes(AESGCM.nonceSize))
    }

    mutating func seal(
        frame: [UInt8], nonce: [UInt8]
    ) throws(SenderKeyError) -> SenderKeyMessage {
        guard iteration <= Session.maximumCounter else { throw .counterOverflow }
        let (messageKey, next) = key.step()
        let combined = AESGCM.seal(
            frame, authenticating: SenderKeyMessage.authenticatedData(chainID, iteration),
            nonce: nonce, key: messageKey.secret.symmetricKey)
        let message = SenderKeyMessage(
            chainID: chainID, iteration: iteration, combined: combined,
            signature: signingKey.sign(SenderKeyMessage.signed(chainID, iteration, combined)))
        key = next
        iteration += 1
        return message
    }
}

/// The receiving side of a sender key chain. It is a value: it is changed as a copy, which is kept only if the message
/// was authentic.
package struct ReceivedSenderKeyChain: Sendable {
    /// The number of keys of skipped messages that a chain keeps. It deletes the oldest keys above it.
    static let maximumStored = 256

    struct SkippedKey: Sendable {
        let iteration: UInt32
        let key: MessageKey
    }

    /// The group's id.
    package let groupID: String
    /// The chain's id, 32 bytes.
    package let chainID: [UInt8]
    /// The chain's Ed25519 key, 32 bytes, which signs every message.
    package let signingKey: [UInt8]
    private(set) var key: ChainKey
    /// The number of the next message.
    package private(set) var iteration: UInt32
    /// Oldest first, at most ``maximumStored``.
    private(set) var skipped: [SkippedKey]

    /// Begins a chain from a distribution. The chain belongs to the member over whose session the distribution came.
    package init(_ distribution: SenderKeyDistribution) {
        self.init(
            groupID: distribution.groupID, chainID: distribution.chainID,
            signingKey: distribution.signingKey, key: ChainKey(secret: distribution.chainKey),
            iteration: distribution.iteration, skipped: [])
    }

    init(
        groupID: String, chainID: [UInt8], signingKey: [UInt8], key: ChainKey, iteration: UInt32,
        skipped: [SkippedKey]
    ) {
        self.groupID = groupID
        self.chainID = chainID
        self.signingKey = signingKey
        self.key = key
        self.iteration = iteration
        self.skipped = skipped
    }

    /// Returns the plaintext of a message. When it throws, the chain is unchanged.
    ///
    /// The signature is verified first: without it no key is derived and no message is skipped.
    package mutating func open(_ message: SenderKeyMessage) throws(SenderKeyError) -> [UInt8] {
        guard message.chainID == chainID else { throw .chain }
        guard
            verifySignature(
                message.signature,
                of: SenderKeyMessage.signed(chainID, message.iteration, message.combined),
                by: signingKey)
        else { throw .signature }
        var copy = self
        let key = try copy.messageKey(for: message.iteration)
        let data = SenderKeyMessage.authenticatedData(chainID, message.iteration)
        guard
            let frame = AESGCM.open(
                message.combined, authenticating: data, key: key.secret.symmetricKey),
            let plaintext = try? Padding.unframe(frame)
        else { throw .authentication }
        self = copy
        return plaintext
    }

    /// Removes the key of message `number` from the chain and returns it.
    private mutating func messageKey(for number: UInt32) throws(SenderKeyError) -> MessageKey {
        if let place = skipped.firstIndex(where: { $0.iteration == number }) {
            return skipped.remove(at: place).key
        }
        guard number >= iteration else { throw .noKey }
        guard number <= Session.maximumCounter else { throw .counterOverflow }
        guard number - iteration <= Session.maximumSkip else { throw .tooManySkipped }
        while iteration < number {
            skipped.append(SkippedKey(iteration: iteration, key: step()))
        }
        if skipped.count > Self.maximumStored {
            skipped.removeFirst(skipped.count - Self.maximumStored)
        }
        return step()
    }

    /// Returns the key of the next message and advances the chain.
    private mutating func step() -> MessageKey {
        let (messageKey, next) = key.step()
        key = next
        iteration += 1
        return messageKey
    }
}
