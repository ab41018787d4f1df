import CSodium
import Crypto
import SottoPadding

/// A reason to refuse a message or a chain of a group. The chain is unchanged.
package enum GroupChainError: Error, Sendable, Equatable {
    /// A member is missing, or has another type, form or length.
    case member(String)
    /// The id of the chain is not the hash of the group, the device and the signing key.
    case chainID
    /// The copy is not authentic: it is for another reader, or was changed.
    case copy
    /// The signature of the chain is wrong.
    case signature
    /// The signature is valid, but the message does not open with the key that it commits to.
    case authentication
    /// The key was used or deleted, or the message is older than the chain's distribution.
    case noKey
    /// The message would skip more than ``GroupChain/maximumSkip`` messages.
    case tooManySkipped
    /// The chain has its last message; its owner begins a new one.
    case ended
    /// The message is longer than a limit in bytes.
    case tooLong(limit: Int)
}

extension GroupChainError: UnversionedRecordError {}

/// A message to a group, encrypted once for all readers: u32be iteration ‖ commitment (32) ‖ signature (64) ‖ nonce (12) ‖
/// ciphertext ‖ tag (16), AES-256-GCM. sotto-formats(5), GROUPS.
package struct GroupMessage: Sendable, Equatable {
    /// The number of the message in its chain, from 0.
    package let iteration: UInt32
    let commitment: [UInt8]
    let signature: [UInt8]
    let combined: [UInt8]

    /// The bytes.
    package var bytes: [UInt8] { iteration.bigEndianBytes + commitment + signature + combined }

    init(iteration: UInt32, commitment: [UInt8], signature: [UInt8], combined: [UInt8]) {
        (self.iteration, self.commitment) = (iteration, commitment)
        (self.signature, self.combined) = (signature, combined)
    }

    /// Parses the bytes, or returns `nil`.
    package init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        guard let iteration = reader.integer(UInt32.self), let commitment = reader.bytes(32),
            let signature = reader.bytes(64)
        else { return nil }
        (self.iteration, self.commitment) = (iteration, Array(commitment))
        (self.signature, combined) = (Array(signature), Array(reader.remaining))
        guard combined.count >= AESGCM.overhead else { return nil }
    }

    /// The associated data of the encryption: chain id ‖ u32be iteration.
    static func associatedData(_ chain: [UInt8], _ iteration: UInt32) -> [UInt8] {
        chain + iteration.bigEndianBytes
    }

    /// The bytes that the signature covers:
    /// `"sotto/group/v1\0"` ‖ chain id ‖ u32be iteration ‖ commitment ‖ combined.
    static func signed(
        _ chain: [UInt8], _ iteration: UInt32, _ commitment: [UInt8], _ combined: [UInt8]
    ) -> [UInt8] {
        Array("sotto/group/v1\0".utf8) + associatedData(chain, iteration) + commitment + combined
    }
}

/// A message to a group as one reader gets it: `{"tag","box"}`.
package struct GroupCopy: Sendable, Equatable {
    /// Names the chain for the reader, 16 bytes. It is the same in all copies of a chain for one reader.
    package let tag: [UInt8]
    /// nonce (24) ‖ XChaCha20-Poly1305 of the message.
    package let box: [UInt8]

    /// The outside of the envelope, which the box authenticates.
    package struct Address: Sendable {
        package var id: String
        package var to: SessionID
        package var time: Timestamp

        package init(id: String, to: SessionID, time: Timestamp) {
            (self.id, self.to, self.time) = (id, to, time)
        }

        /// `id ‖ 0 ‖ to ‖ 0 ‖ time`.
        var bytes: [UInt8] { Array("\(id)\0\(to)\0\(time)".utf8) }
    }

    static let tagBytes = 16

    init(tag: [UInt8], box: [UInt8]) { (self.tag, self.box) = (tag, box) }

    /// The object.
    package var payload: JSONObject { ["tag": .string(hex(tag)), "box": .base64(box)] }

    /// Reads the object. Throws ``GroupChainError/member(_:)``.
    package init(payload: JSONObject) throws(GroupChainError) {
        let fields = Fields<GroupChainError>(payload)
        tag = try fields["tag"].hexBytes(count: Self.tagBytes)
        box = try fields["box"].bytes { $0 > Wrap.overhead }
    }
}

/// The outer encryption of copies, under keys that the chain's wrap secret gives each reader.
private enum Wrap {
    static let nonceBytes = Int(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)
    static let overhead = nonceBytes + Int(crypto_aead_xchacha20poly1305_ietf_ABYTES)

    /// Returns the tag and the key of a reader: HKDF-SHA256(wrap secret, salt = public key of the reader, info
    /// `sotto/group/copy/v1`, 48).
    static func keys(
        _ secret: RatchetSecret, _ reader: SessionID
    ) -> (tag: [UInt8], key: RatchetSecret) {
        let both = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret.symmetricKey, salt: reader.publicKey,
            info: Array("sotto/group/copy/v1".utf8), outputByteCount: GroupCopy.tagBytes + 32)
        return both.withUnsafeBytes { bytes in
            (
                Array(bytes.prefix(GroupCopy.tagBytes)),
                RatchetSecret(
                    SymmetricKey(
                        data: UnsafeRawBufferPointer(rebasing: bytes[GroupCopy.tagBytes...])))
            )
        }
    }

    static func seal(
        _ message: [UInt8], _ address: GroupCopy.Address, nonce: [UInt8],
        _ key: RatchetSecret
    ) -> [UInt8] {
        let data = address.bytes
        let count = message.count + overhead - nonceBytes
        let box = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            _ = key.withPointer {
                crypto_aead_xchacha20poly1305_ietf_encrypt(
                    buffer.baseAddress!, nil, message, UInt64(message.count), data,
                    UInt64(data.count), nil, nonce, $0)
            }
            filled = count
        }
        return nonce + box
    }

    static func open(
        _ box: [UInt8], _ address: GroupCopy.Address, _ key: RatchetSecret
    ) -> [UInt8]? {
        guard box.count >= overhead else { return nil }
        let data = address.bytes
        let (nonce, sealed) = (Array(box.prefix(nonceBytes)), Array(box.dropFirst(nonceBytes)))
        var isAuthentic = false
        let message = [UInt8](unsafeUninitializedCapacity: box.count - overhead) { buffer, filled in
            isAuthentic =
                key.withPointer {
                    crypto_aead_xchacha20poly1305_ietf_decrypt(
                        buffer.baseAddress, nil, nil, sealed, UInt64(sealed.count), data,
                        UInt64(data.count), nonce, $0)
                } == 0
            filled = isAuthentic ? box.count - overhead : 0
        }
        return isAuthentic ? message : nil
    }
}

/// A chain as its owner gives it to a reader, over their session. It contains keys.
package struct GroupChainDistribution: Sendable {
    package let group: GroupID
    /// The device that writes the chain.
    package let device: SessionID
    /// The number of the first message that the reader can open.
    package let iteration: UInt32
    let chainKey: RatchetSecret
    /// The chain's Ed25519 key, 32 bytes.
    package let signingKey: [UInt8]
    let wrapSecret: RatchetSecret

    /// The id of the chain: SHA-256(`"sotto/chain/v1\0"` ‖ group ‖ device's public key ‖ signing key).
    package var chain: [UInt8] { Self.id(group, device, signingKey) }

    static func id(_ group: GroupID, _ device: SessionID, _ signingKey: [UInt8]) -> [UInt8] {
        sha256(Array("sotto/chain/v1\0".utf8) + group.bytes + device.publicKey + signingKey)
    }

    init(
        group: GroupID, device: SessionID, iteration: UInt32, chainKey: RatchetSecret,
        signingKey: [UInt8], wrapSecret: RatchetSecret
    ) {
        (self.group, self.device, self.iteration) = (group, device, iteration)
        (self.chainKey, self.signingKey, self.wrapSecret) = (chainKey, signingKey, wrapSecret)
    }

    /// Returns the object: `{"group","chain","iteration","chainKey","signingKey","wrap"}`.
    package func object() -> JSONObject {
        var key = chainKey.copyBytes()
        var wrap = wrapSecret.copyBytes()
        defer {
            wipe(&key)
            wipe(&wrap)
        }
        return [
            "group": .string(group.description), "chain": .string(hex(chain)),
            "iteration": .integer(Int64(iteration)), "chainKey": .base64(key),
            "signingKey": .base64(signingKey), "wrap": .base64(wrap),
        ]
    }

    /// Reads the object that came over the session with `device`. Throws ``GroupChainError/member(_:)``, or
    /// ``GroupChainError/chainID`` if the chain belongs to another group, device or signing key.
    package init(_ object: JSONObject, from device: SessionID) throws(GroupChainError) {
        let fields = Fields<GroupChainError>(object)
        self.device = device
        group = try fields["group"].text { GroupID($0) }
        iteration = try fields["iteration"].integer(in: 0...(GroupChain.mostMessages - 1))
        signingKey = try fields["signingKey"].bytes(count: 32)
        guard isEd25519Key(signingKey) else { throw .member("signingKey") }
        var key = try fields["chainKey"].bytes(count: 32)
        defer { wipe(&key) }
        chainKey = RatchetSecret(key)
        var wrap = try fields["wrap"].bytes(count: 32)
        defer { wipe(&wrap) }
        wrapSecret = RatchetSecret(wrap)
        guard try fields["chain"].hexBytes(count: 32) == Self.id(group, device, signingKey) else {
            throw .chainID
        }
    }
}

/// An own chain of a group: a device encrypts its messages to the group with it. It is a value: the caller stores it
/// after each message.
package struct GroupChain: Sendable {
    /// The most messages of a chain. Then its owner begins a new one.
    package static let mostMessages: UInt32 = 1_000
    /// The most messages that a reader skips at once.
    package static let maximumSkip: UInt32 = 1_000
    /// The longest plaintext, in bytes.
    package static let limit = MessageContent.limit

    package let group: GroupID
    package let device: SessionID
    let signingKey: SigningKey
    let wrapSecret: RatchetSecret
    private(set) var key: ChainKey
    /// The number of the next message.
    package private(set) var iteration: UInt32

    /// Creates a chain.
    package init(group: GroupID, device: SessionID) {
        self.init(
            group: group, device: device,
            signingKey: SigningKey(seed: SecretBytes(randomCount: 32)),
            wrapSecret: RatchetSecret(randomBytes(32)),
            key: ChainKey(secret: RatchetSecret(randomBytes(32))), iteration: 0)
    }

    init(
        group: GroupID, device: SessionID, signingKey: SigningKey, wrapSecret: RatchetSecret,
        key: ChainKey, iteration: UInt32
    ) {
        (self.group, self.device, self.signingKey) = (group, device, signingKey)
        (self.wrapSecret, self.key, self.iteration) = (wrapSecret, key, iteration)
    }

    /// The id, 32 bytes.
    package var id: [UInt8] {
        GroupChainDistribution.id(group, device, signingKey.publicKey)
    }

    /// Whether the chain has its last message.
    package var isEnded: Bool { iteration >= Self.mostMessages }

    /// The distribution for a reader of the next message and of those after it.
    package var distribution: GroupChainDistribution {
        GroupChainDistribution(
            group: group, device: device, iteration: iteration, chainKey: key.secret,
            signingKey: signingKey.publicKey, wrapSecret: wrapSecret)
    }

    /// Pads and encrypts a plaintext under the next message key. Store the chain before the result is sent, because a
    /// key must not be used twice.
    ///
    /// Throws ``GroupChainError/tooLong(limit:)`` or ``GroupChainError/ended``.
    package mutating func seal(_ plaintext: [UInt8]) throws(GroupChainError) -> GroupMessage {
        guard plaintext.count <= Self.limit, let frame = try? Padding.frame(plaintext) else {
            throw .tooLong(limit: Self.limit)
        }
        return try seal(frame: frame, nonce: publicRandomBytes(AESGCM.nonceSize))
    }

    mutating func seal(
        frame: [UInt8], nonce: [UInt8]
    ) throws(GroupChainError) -> GroupMessage {
        guard !isEnded else { throw .ended }
        let (messageKey, next) = key.step()
        let combined = AESGCM.seal(
            frame, authenticating: GroupMessage.associatedData(id, iteration), nonce: nonce,
            key: messageKey.secret.symmetricKey)
        let commitment = messageKey.commitment
        let message = GroupMessage(
            iteration: iteration, commitment: commitment,
            signature: signingKey.sign(
                GroupMessage.signed(id, iteration, commitment, combined)),
            combined: combined)
        key = next
        iteration += 1
        return message
    }

    /// Returns the copy of a message for a reader.
    package func copy(_ message: GroupMessage, for address: GroupCopy.Address) -> GroupCopy {
        copy(message, for: address, nonce: publicRandomBytes(Wrap.nonceBytes))
    }

    func copy(
        _ message: GroupMessage, for address: GroupCopy.Address, nonce: [UInt8]
    ) -> GroupCopy {
        let (tag, key) = Wrap.keys(wrapSecret, address.to)
        return GroupCopy(tag: tag, box: Wrap.seal(message.bytes, address, nonce: nonce, key))
    }
}

extension MessageKey {
    /// HMAC-SHA256(message key, `commit`), 32 bytes: AES-GCM alone can open to two texts under two keys.
    fileprivate var commitment: [UInt8] {
        Sodium.start()
        let label = Array("commit".utf8)
        return [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            _ = secret.withPointer {
                crypto_auth_hmacsha256(buffer.baseAddress!, label, UInt64(label.count), $0)
            }
            count = 32
        }
    }
}

/// A chain of another device, with which a reader opens its messages. It is a value: it is changed as a copy, which is kept
/// only if the message was authentic.
package struct ReceivedGroupChain: Sendable {
    struct SkippedKey: Sendable {
        let iteration: UInt32
        let key: MessageKey
    }

    package let group: GroupID
    package let device: SessionID
    /// The id, 32 bytes.
    package let id: [UInt8]
    let signingKey: [UInt8]
    let wrapSecret: RatchetSecret
    private(set) var key: ChainKey
    /// The number of the next message.
    package private(set) var iteration: UInt32
    /// Oldest first.
    private(set) var skipped: [SkippedKey]

    /// The number of kept keys of skipped messages.
    package var skippedCount: Int { skipped.count }

    /// Begins a chain from its distribution.
    package init(_ distribution: GroupChainDistribution) {
        self.init(
            group: distribution.group, device: distribution.device,
            signingKey: distribution.signingKey, wrapSecret: distribution.wrapSecret,
            key: ChainKey(secret: distribution.chainKey), iteration: distribution.iteration,
            skipped: [])
    }

    init(
        group: GroupID, device: SessionID, signingKey: [UInt8], wrapSecret: RatchetSecret,
        key: ChainKey, iteration: UInt32, skipped: [SkippedKey]
    ) {
        (self.group, self.device, self.signingKey) = (group, device, signingKey)
        (self.wrapSecret, self.key, self.iteration) = (wrapSecret, key, iteration)
        self.skipped = skipped
        id = GroupChainDistribution.id(group, device, signingKey)
    }

    /// The tag of this chain's copies for a reader, 16 bytes.
    package func tag(for reader: SessionID) -> [UInt8] { Wrap.keys(wrapSecret, reader).tag }

    /// Returns the message in a copy. Throws ``GroupChainError/copy``.
    package func message(
        in copy: GroupCopy, for address: GroupCopy.Address
    ) throws(GroupChainError) -> GroupMessage {
        let (tag, key) = Wrap.keys(wrapSecret, address.to)
        guard constantTimeEqual(tag, copy.tag), let bytes = Wrap.open(copy.box, address, key),
            let message = GroupMessage(bytes)
        else { throw .copy }
        return message
    }

    /// Returns the plaintext of a message. When it throws, the chain is unchanged.
    ///
    /// The signature is verified first: without it no key is derived and no message is skipped.
    package mutating func open(_ message: GroupMessage) throws(GroupChainError) -> [UInt8] {
        let signed = GroupMessage.signed(
            id, message.iteration, message.commitment, message.combined)
        guard verifySignature(message.signature, of: signed, by: signingKey) else {
            throw .signature
        }
        var copy = self
        let key = try copy.messageKey(for: message.iteration)
        guard constantTimeEqual(key.commitment, message.commitment),
            let frame = AESGCM.open(
                message.combined,
                authenticating: GroupMessage.associatedData(id, message.iteration),
                key: key.secret.symmetricKey),
            let plaintext = try? Padding.unframe(frame)
        else { throw .authentication }
        self = copy
        return plaintext
    }

    /// Deletes the keys of the oldest skipped messages, so that at most `count` stay.
    package mutating func keepSkipped(_ count: Int) {
        skipped.removeFirst(max(0, skipped.count - count))
    }

    /// Removes the key of message `number` from the chain and returns it.
    private mutating func messageKey(for number: UInt32) throws(GroupChainError) -> MessageKey {
        if let place = skipped.firstIndex(where: { $0.iteration == number }) {
            return skipped.remove(at: place).key
        }
        guard number >= iteration else { throw .noKey }
        guard number < GroupChain.mostMessages else { throw .ended }
        guard number - iteration <= GroupChain.maximumSkip else { throw .tooManySkipped }
        while iteration < number { skipped.append(SkippedKey(iteration: iteration, key: step())) }
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
