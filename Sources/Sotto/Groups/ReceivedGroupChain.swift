import SottoPadding

/// A chain of another device, with which a reader opens its messages. It is a value: it is changed as a copy, which is kept
/// only if the message was authentic.
package struct ReceivedGroupChain: Sendable {
    package struct SkippedKey: Sendable {
        let iteration: UInt32
        let key: MessageKey
    }

    package let group: GroupID
    package let device: KeyID
    /// The id, 32 bytes.
    package let id: [UInt8]
    let signingKey: [UInt8]
    let wrapSecret: RatchetSecret
    private(set) var key: ChainKey
    /// The number of the next message.
    package private(set) var iteration: UInt32
    /// Oldest first.
    package private(set) var skipped: [SkippedKey]

    /// The ids of the messages that were skipped and are not open yet.
    package var skippedMessages: [String] {
        skipped.map { GroupContent.messageID(chain: id, iteration: $0.iteration) }
    }

    /// Begins a chain from its distribution.
    package init(_ distribution: GroupChainDistribution) {
        self.init(
            group: distribution.group, device: distribution.device,
            signingKey: distribution.signingKey, wrapSecret: distribution.wrapSecret,
            key: ChainKey(secret: distribution.chainKey), iteration: distribution.iteration,
            skipped: [])
    }

    init(
        group: GroupID, device: KeyID, signingKey: [UInt8], wrapSecret: RatchetSecret,
        key: ChainKey, iteration: UInt32, skipped: [SkippedKey]
    ) {
        (self.group, self.device, self.signingKey) = (group, device, signingKey)
        (self.wrapSecret, self.key, self.iteration) = (wrapSecret, key, iteration)
        self.skipped = skipped
        id = GroupChainDistribution.id(group, device, signingKey)
    }

    /// The tag of this chain's copies for a reader, 16 bytes.
    package func tag(for reader: KeyID) -> [UInt8] { Wrap.keys(wrapSecret, id, reader).tag }

    /// Whether the chain has not come to a place yet: its owner may read the message there.
    package func expects(_ place: GroupContent.Place) -> Bool {
        place.signingKey == signingKey && place.iteration >= iteration
    }

    /// Returns the message in a copy. Throws ``GroupChainError/copy``.
    package func message(
        in copy: GroupCopy, for address: GroupCopy.Address
    ) throws(GroupChainError) -> GroupMessage {
        let (tag, key) = Wrap.keys(wrapSecret, id, address.to)
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

    /// Skips the messages before number `end`: the last messages of a chain that has ended.
    package mutating func skip(to end: UInt32) {
        guard end <= GroupChain.mostMessages else { return }
        while iteration < end { skipped.append(SkippedKey(iteration: iteration, key: step())) }
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
