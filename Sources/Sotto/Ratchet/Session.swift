import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A Double Ratchet session with one peer. It is a value: each operation changes a copy, which replaces the session
/// only if the message was authentic.
package struct Session: Sendable {
    /// The number of messages that one header may skip in a chain.
    package static let maximumSkip = 256
    /// The number of keys of skipped messages that a session keeps, over all chains. The oldest keys above it move to
    /// ``displaced``.
    package static let maximumStored = 256
    /// The number of unfinished receiving chains that a session keeps. It deletes the oldest chains above it.
    package static let maximumUnfinished = 64
    /// The highest number of a message, 2³¹ − 1.
    package static let maximumCounter = UInt32(Int32.max)

    /// A chain for sending: its key, and the number of the next message.
    struct SendingChain: Sendable {
        var key: ChainKey
        var number: UInt32 = 0
    }

    /// A chain for receiving: the peer's ratchet key, the chain's key, and the number of the next message.
    struct ReceivingChain: Sendable {
        let publicKey: [UInt8]
        var key: ChainKey
        var number: UInt32 = 0
    }

    /// The key of a skipped message.
    struct SkippedKey: Sendable {
        let publicKey: [UInt8]
        let number: UInt32
        let key: MessageKey
    }

    /// An earlier receiving chain that lacks more than ``maximumSkip`` of its last messages.
    struct UnfinishedChain: Sendable {
        var chain: ReceivingChain
        /// The length of the chain.
        let length: UInt32
    }

    /// IK_initiator ‖ IK_responder, the Ed25519 keys: 64 bytes.
    package let associatedData: [UInt8]
    var root: RootKey
    var pair: RatchetKeyPair
    var sending: SendingChain?
    var receiving: ReceivingChain?
    /// The length of our previous sending chain.
    var previousLength: UInt32 = 0
    /// Oldest first.
    var skipped: [SkippedKey] = []
    /// Oldest first.
    var unfinished: [UnfinishedChain] = []
    /// The keys that did not fit when the session decrypted the last message.
    var displaced: [SkippedKey] = []

    init(
        associatedData: [UInt8], root: RootKey, pair: RatchetKeyPair, sending: SendingChain?,
        receiving: ReceivingChain?, previousLength: UInt32, skipped: [SkippedKey],
        unfinished: [UnfinishedChain] = []
    ) {
        self.associatedData = associatedData
        self.root = root
        self.pair = pair
        self.sending = sending
        self.receiving = receiving
        self.previousLength = previousLength
        self.skipped = skipped
        self.unfinished = unfinished
    }

    /// Creates the initiator's session (Double Ratchet §3.3, RatchetInitAlice). It can send at once.
    package init(
        initiatorWith agreement: KeyAgreement, theirSignedPreKey: [UInt8],
        pair: RatchetKeyPair = RatchetKeyPair()
    ) throws(RatchetError) {
        let step = try RootKey(secret: agreement.secret).step(pair, theirSignedPreKey)
        self.init(
            associatedData: agreement.associatedData, root: step.root, pair: pair,
            sending: SendingChain(key: step.chain), receiving: nil, previousLength: 0, skipped: [])
    }

    /// Creates the responder's session (RatchetInitBob). It can send after it has received the first message.
    package init(responderWith agreement: KeyAgreement, signedPreKey: RatchetKeyPair) {
        self.init(
            associatedData: agreement.associatedData, root: RootKey(secret: agreement.secret),
            pair: signedPreKey, sending: nil, receiving: nil, previousLength: 0, skipped: [])
    }

    /// The position of the next message of each receiving chain: the current one and the unfinished ones.
    var next: [ChainPosition] {
        let chains = unfinished.map(\.chain) + (receiving.map { [$0] } ?? [])
        return chains.map { ChainPosition(key: $0.publicKey, number: $0.number) }
    }

    // MARK: Sending

    /// Encrypts `plaintext` under the next message key (Double Ratchet §3.4). Store the session before the result is
    /// sent, because a key must not be used twice.
    package mutating func encrypt(_ plaintext: [UInt8]) throws(RatchetError) -> RatchetMessage {
        try encrypt(plaintext, nonce: publicRandomBytes(AESGCM.nonceSize))
    }

    mutating func encrypt(
        _ plaintext: [UInt8], nonce: [UInt8]
    ) throws(RatchetError) -> RatchetMessage {
        try nextPlace().encrypt(plaintext, nonce: nonce)
    }

    /// The place of one message in the sending chain, with its key.
    struct SendingPlace: Sendable {
        let header: RatchetHeader
        let key: MessageKey
        let associatedData: [UInt8]

        /// Encrypts the message. Call it once, because a key must not be used twice.
        consuming func encrypt(_ plaintext: [UInt8], nonce: [UInt8]) -> RatchetMessage {
            let combined = AESGCM.seal(
                plaintext, authenticating: header.authenticatedData(associatedData), nonce: nonce,
                key: key.secret.symmetricKey)
            return RatchetMessage(header: header, combined: combined)
        }
    }

    /// Takes the place of the next message from the sending chain.
    mutating func nextPlace() throws(RatchetError) -> SendingPlace {
        guard var chain = sending else { throw .cannotSendYet }
        guard chain.number <= Self.maximumCounter else { throw .counterOverflow }
        let header = RatchetHeader(
            publicKey: pair.publicKey, number: chain.number, previousLength: previousLength)
        let (key, next) = chain.key.step()
        chain.key = next
        chain.number += 1
        sending = chain
        return SendingPlace(header: header, key: key, associatedData: associatedData)
    }

    // MARK: Receiving

    /// Decrypts a message. When it throws, the session is unchanged.
    package mutating func decrypt(_ message: RatchetMessage) throws(RatchetError) -> [UInt8] {
        try decrypt(message) { RatchetKeyPair() }
    }

    mutating func decrypt(
        _ message: RatchetMessage, newPair: () -> RatchetKeyPair
    ) throws(RatchetError) -> [UInt8] {
        var copy = self
        copy.displaced = []
        let plaintext = try copy.step(message, newPair)
        self = copy
        return plaintext
    }

    /// Decrypts a message in the order of Double Ratchet §3.5: a skipped key, the DH ratchet step, skipping, the
    /// message itself.
    private mutating func step(
        _ message: RatchetMessage, _ newPair: () -> RatchetKeyPair
    ) throws(RatchetError) -> [UInt8] {
        let header = message.header
        if let place = skipped.firstIndex(where: {
            $0.number == header.number && $0.publicKey == header.publicKey
        }) {
            let plaintext = try message.open(with: skipped[place].key, associatedData)
            skipped.remove(at: place)
            return plaintext
        }
        if let place = unfinished.firstIndex(where: { $0.chain.publicKey == header.publicKey }) {
            return try step(message, inUnfinished: place)
        }
        if receiving?.publicKey != header.publicKey {
            if let chain = receiving, header.previousLength > chain.number {
                try finish(chain, length: header.previousLength)
            }
            // Checked before the DH ratchet step, which costs two X25519 operations.
            guard header.number <= Self.maximumSkip else { throw .tooManySkipped }
            try dhRatchetStep(header.publicKey, newPair)
        }
        guard var chain = receiving else { throw .noKey }
        let plaintext = try step(message, in: &chain)
        receiving = chain
        return plaintext
    }

    /// Decrypts a message of a chain, and keeps the keys of the messages before it.
    private mutating func step(
        _ message: RatchetMessage, in chain: inout ReceivingChain
    ) throws(RatchetError) -> [UInt8] {
        try skip(to: message.header.number, in: &chain)
        guard chain.number == message.header.number else { throw .noKey }
        guard chain.number <= Self.maximumCounter else { throw .counterOverflow }
        let (key, next) = chain.key.step()
        let plaintext = try message.open(with: key, associatedData)
        chain.key = next
        chain.number += 1
        return plaintext
    }

    private mutating func step(
        _ message: RatchetMessage, inUnfinished place: Int
    ) throws(RatchetError) -> [UInt8] {
        var rest = unfinished[place]
        guard message.header.number < rest.length else { throw .noKey }
        let plaintext = try step(message, in: &rest.chain)
        if rest.length - rest.chain.number > Self.maximumSkip {
            unfinished[place] = rest
        } else {
            unfinished.remove(at: place)
            try skip(to: rest.length, in: &rest.chain)
        }
        return plaintext
    }

    /// Keeps the keys for the last messages of a chain that the peer has replaced.
    private mutating func finish(
        _ chain: ReceivingChain, length: UInt32
    ) throws(RatchetError) {
        var chain = chain
        if length - chain.number <= Self.maximumSkip {
            try skip(to: length, in: &chain)
            return
        }
        // Keep the chain key and not many message keys. It does not reveal the keys of earlier messages.
        unfinished.append(UnfinishedChain(chain: chain, length: length))
        if unfinished.count > Self.maximumUnfinished { unfinished.removeFirst() }
    }

    /// Keeps the keys of the messages before `number` in a receiving chain.
    private mutating func skip(
        to number: UInt32, in chain: inout ReceivingChain
    ) throws(RatchetError) {
        guard chain.number < number else { return }
        guard number - chain.number <= Self.maximumSkip else { throw .tooManySkipped }
        while chain.number < number {
            let (key, next) = chain.key.step()
            skipped.append(
                SkippedKey(publicKey: chain.publicKey, number: chain.number, key: key))
            chain.key = next
            chain.number += 1
        }
        let excess = skipped.count - Self.maximumStored
        if excess > 0 {
            displaced += skipped[..<excess]
            skipped.removeFirst(excess)
        }
    }

    /// Performs a DH ratchet step: begins a receiving chain for the peer's new key, and a sending chain with a new key
    /// pair.
    private mutating func dhRatchetStep(
        _ publicKey: [UInt8], _ newPair: () -> RatchetKeyPair
    ) throws(RatchetError) {
        let received = try root.step(pair, publicKey)
        receiving = ReceivingChain(publicKey: publicKey, key: received.chain)
        previousLength = sending?.number ?? 0
        pair = newPair()
        let sent = try received.root.step(pair, publicKey)
        root = sent.root
        sending = SendingChain(key: sent.chain)
    }
}
