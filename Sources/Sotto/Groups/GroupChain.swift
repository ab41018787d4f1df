import CSodium
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

/// A chain as its owner gives it to a reader, over their session. It contains keys.
package struct GroupChainDistribution: Sendable {
    package let group: GroupID
    /// The device that writes the chain.
    package let device: KeyID
    /// The number of the first message that the reader can open.
    package let iteration: UInt32
    let chainKey: RatchetSecret
    /// The chain's Ed25519 key, 32 bytes.
    package let signingKey: [UInt8]
    let wrapSecret: RatchetSecret
    /// The device's last chains before this one, at most ``mostPrevious``, for a reader who got them.
    package var previous: [PreviousChain] = []

    /// The most earlier chains that a distribution names.
    package static let mostPrevious = 8

    /// A chain that has ended.
    package struct PreviousChain: Sendable, Equatable {
        /// The id, 32 bytes.
        package let chain: [UInt8]
        /// The number of its messages, 0 to ``GroupChain/mostMessages``.
        package let count: UInt32

        package init(chain: [UInt8], count: UInt32) { (self.chain, self.count) = (chain, count) }
    }

    /// The id of the chain: SHA-256(`"sotto/chain/v1\0"` ‖ group ‖ device's public key ‖ signing key).
    package var chain: [UInt8] { Self.id(group, device, signingKey) }

    static func id(_ group: GroupID, _ device: KeyID, _ signingKey: [UInt8]) -> [UInt8] {
        sha256(Array("sotto/chain/v1\0".utf8) + group.bytes + device.publicKey + signingKey)
    }

    init(
        group: GroupID, device: KeyID, iteration: UInt32, chainKey: RatchetSecret,
        signingKey: [UInt8], wrapSecret: RatchetSecret
    ) {
        (self.group, self.device, self.iteration) = (group, device, iteration)
        (self.chainKey, self.signingKey, self.wrapSecret) = (chainKey, signingKey, wrapSecret)
    }

    /// Returns the object: `{"group","chain","iteration","chainKey","signingKey","wrap","previous"?}`.
    package func object() -> JSONObject {
        var key = chainKey.copyBytes()
        var wrap = wrapSecret.copyBytes()
        defer {
            wipe(&key)
            wipe(&wrap)
        }
        var object: JSONObject = [
            "group": .string(group.description), "chain": .string(hex(chain)),
            "iteration": .integer(Int64(iteration)), "chainKey": .base64(key),
            "signingKey": .base64(signingKey), "wrap": .base64(wrap),
        ]
        if !previous.isEmpty {
            object["previous"] = .array(
                previous.map {
                    .object([
                        "chain": .string(hex($0.chain)), "count": .integer(Int64($0.count)),
                    ])
                })
        }
        return object
    }

    /// Reads the object that came over the session with `device`. Throws ``GroupChainError/member(_:)``, or
    /// ``GroupChainError/chainID`` if the chain belongs to another group, device or signing key.
    package init(_ object: JSONObject, from device: KeyID) throws(GroupChainError) {
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
        for member in try fields["previous"].optional?.array() ?? [] {
            guard let object = member.object, previous.count < Self.mostPrevious else {
                throw .member("previous")
            }
            let fields = Fields<GroupChainError>(object)
            previous.append(
                PreviousChain(
                    chain: try fields["chain"].hexBytes(count: 32),
                    count: try fields["count"].integer(in: 0...GroupChain.mostMessages)))
        }
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
    package let device: KeyID
    let signingKey: SigningKey
    let wrapSecret: RatchetSecret
    private(set) var key: ChainKey
    /// The number of the next message.
    package private(set) var iteration: UInt32

    /// Creates a chain.
    package init(group: GroupID, device: KeyID) {
        self.init(
            group: group, device: device,
            signingKey: SigningKey(seed: SecretBytes(randomCount: 32)),
            wrapSecret: .random(), key: ChainKey(secret: .random()), iteration: 0)
    }

    init(
        group: GroupID, device: KeyID, signingKey: SigningKey, wrapSecret: RatchetSecret,
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

    /// Returns the copy of a message for each reader.
    package func copies(
        _ message: GroupMessage, for addresses: [GroupCopy.Address]
    ) -> [GroupCopy] {
        let (id, bytes) = (id, message.bytes)
        return addresses.map { address in
            let (tag, key) = Wrap.keys(wrapSecret, id, address.to)
            let nonce = publicRandomBytes(XChaChaPoly.nonceBytes)
            return GroupCopy(tag: tag, box: Wrap.seal(bytes, address, nonce: nonce, key))
        }
    }

    /// Returns the copy of a message for a reader.
    package func copy(_ message: GroupMessage, for address: GroupCopy.Address) -> GroupCopy {
        copies(message, for: [address])[0]
    }

    func copy(
        _ message: GroupMessage, for address: GroupCopy.Address, nonce: [UInt8]
    ) -> GroupCopy {
        let (tag, key) = Wrap.keys(wrapSecret, id, address.to)
        return GroupCopy(tag: tag, box: Wrap.seal(message.bytes, address, nonce: nonce, key))
    }
}

extension MessageKey {
    /// HMAC-SHA256(message key, `commit`), 32 bytes: AES-GCM alone can open to two texts under two keys.
    var commitment: [UInt8] {
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
