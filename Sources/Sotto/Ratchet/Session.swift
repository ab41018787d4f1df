import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A Double Ratchet session with one peer. It is a value: each operation changes a copy, which replaces the session
/// only if the message was authentic.
///
/// A sending chain begins with its first message, and not when the peer's message arrives. So a session that has read
/// and not answered has no secret key of the ratchet, and a forged message creates none. The wire does not show this.
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

    /// A chain for sending.
    struct SendingChain: Sendable {
        let pair: RatchetPair
        /// The ciphertext for the peer's ML-KEM-768 key, or `nil` if the key that the chain answers has none.
        let ciphertext: [UInt8]?
        var key: ChainKey
        /// The number of the next message.
        var number: UInt32 = 0
    }

    /// Our side of the ratchet.
    enum Turn: Sendable {
        /// The responder's session before its first message: the initiator's first chain answers the signed prekey.
        case preKey(RatchetKeyPair)
        /// We sent last. The peer's next chain answers the pair of this chain.
        case sent(SendingChain)
        /// The peer's key, which our next chain will answer. The session has no pair, so the peer cannot begin a chain.
        case received(RatchetPublicKey)
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
    let kind: RatchetKind
    var root: RootKey
    var turn: Turn
    var receiving: ReceivingChain?
    /// The length of our previous sending chain.
    var previousLength: UInt32 = 0
    /// Oldest first.
    var skipped: [SkippedKey] = []
    /// Oldest first.
    var unfinished: [UnfinishedChain] = []
    /// The keys that did not fit when the session decrypted the last message.
    var displaced: [SkippedKey] = []

    /// The number of messages in the sending chain.
    package var sentCount: UInt32 {
        if case .sent(let chain) = turn { chain.number } else { 0 }
    }

    init(
        associatedData: [UInt8], kind: RatchetKind, root: RootKey, turn: Turn,
        receiving: ReceivingChain? = nil, previousLength: UInt32 = 0, skipped: [SkippedKey] = [],
        unfinished: [UnfinishedChain] = []
    ) {
        self.associatedData = associatedData
        self.kind = kind
        self.root = root
        self.turn = turn
        self.receiving = receiving
        self.previousLength = previousLength
        self.skipped = skipped
        self.unfinished = unfinished
    }

    private init(_ agreement: KeyAgreement, _ turn: Turn) {
        self.init(
            associatedData: agreement.associatedData, kind: agreement.kind,
            root: RootKey(secret: agreement.secret), turn: turn)
    }

    /// Creates the initiator's session (Double Ratchet §3.3, RatchetInitAlice). It can send at once.
    package init(initiatorWith agreement: KeyAgreement, theirSignedPreKey: [UInt8]) {
        self.init(agreement, .received(RatchetPublicKey(x25519: theirSignedPreKey, kem: nil)))
    }

    /// Creates the responder's session (RatchetInitBob). It can send after it has received the first message.
    package init(responderWith agreement: KeyAgreement, signedPreKey: RatchetKeyPair) {
        self.init(agreement, .preKey(signedPreKey))
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
        let kem: RatchetKEM?

        /// Encrypts the message. Call it once, because a key must not be used twice.
        consuming func encrypt(_ plaintext: [UInt8], nonce: [UInt8]) -> RatchetMessage {
            let combined = AESGCM.seal(
                plaintext, authenticating: header.authenticatedData(associatedData), nonce: nonce,
                key: key.secret.symmetricKey)
            return RatchetMessage(
                header: header, combined: combined, kem: kem.map { .object($0.object) })
        }
    }

    /// Takes the place of the next message from the sending chain, and begins the chain if it is its first message.
    mutating func nextPlace() throws(RatchetError) -> SendingPlace {
        switch turn {
        case .preKey: throw .cannotSendYet
        case .sent(let chain): return try place(in: chain)
        case .received(let theirs):
            return try place(in: chain(with: ChainBeginning(kind, answering: theirs), theirs))
        }
    }

    /// Begins a sending chain with the given random parts (Double Ratchet §3.5, the second half of DHRatchet).
    mutating func begin(_ beginning: ChainBeginning) throws(RatchetError) {
        guard case .received(let theirs) = turn else { throw .cannotSendYet }
        turn = .sent(try chain(with: beginning, theirs))
    }

    private mutating func chain(
        with beginning: ChainBeginning, _ theirs: RatchetPublicKey
    ) throws(RatchetError) -> SendingChain {
        let pair = beginning.pair
        guard let exchange = pair.x25519.sharedSecret(theirs.x25519) else { throw .lowOrderKey }
        let ciphertext = beginning.encapsulation?.ciphertext
        let step = root.step(
            exchange, beginning.encapsulation?.secret,
            StepTranscript(
                kind: kind, sender: pair.publicKey, receiver: theirs.x25519, ciphertext: ciphertext)
        )
        root = step.root
        return SendingChain(pair: pair, ciphertext: ciphertext, key: step.chain)
    }

    private mutating func place(in chain: SendingChain) throws(RatchetError) -> SendingPlace {
        guard chain.number <= Self.maximumCounter else { throw .counterOverflow }
        let header = RatchetHeader(
            publicKey: chain.pair.x25519.publicKey, number: chain.number,
            previousLength: previousLength)
        var kem: RatchetKEM?
        if RatchetKEM.isSent(with: chain.number), let key = chain.pair.kem {
            kem = RatchetKEM(key: key.publicKey, ciphertext: chain.ciphertext)
        }
        var chain = chain
        let (key, next) = chain.key.step()
        chain.key = next
        chain.number += 1
        turn = .sent(chain)
        return SendingPlace(header: header, key: key, associatedData: associatedData, kem: kem)
    }

    // MARK: Receiving

    /// Decrypts a message. When it throws, the session is unchanged.
    package mutating func decrypt(_ message: RatchetMessage) throws(RatchetError) -> [UInt8] {
        var copy = self
        copy.displaced = []
        let plaintext = try copy.step(message)
        self = copy
        return plaintext
    }

    /// Decrypts a message in the order of Double Ratchet §3.5: a skipped key, the DH ratchet step, skipping, the
    /// message itself.
    private mutating func step(_ message: RatchetMessage) throws(RatchetError) -> [UInt8] {
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
        if receiving?.publicKey != header.publicKey { try beginReceiving(message) }
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

    /// Begins a receiving chain (Double Ratchet §3.5, the first half of DHRatchet), and deletes our pair and our sending
    /// chain.
    ///
    /// Everything that can be checked without a secret key is checked before the X25519 exchange and the decapsulation.
    private mutating func beginReceiving(_ message: RatchetMessage) throws(RatchetError) {
        let header = message.header
        let (pair, length) = try answered()
        var kem: RatchetKEM?
        if kind == .hybrid {
            guard let member = message.kem else { throw .missingKEM }
            kem = try RatchetKEM(member, hasCiphertext: pair.kem != nil)
        }
        guard header.number <= Self.maximumSkip else { throw .tooManySkipped }
        if let chain = receiving, header.previousLength > chain.number {
            try finish(chain, length: header.previousLength)
        }
        guard let exchange = pair.x25519.sharedSecret(header.publicKey) else { throw .lowOrderKey }
        let shared = kem?.ciphertext.flatMap { pair.kem?.decapsulate($0) }
        let theirs = RatchetPublicKey(x25519: header.publicKey, kem: kem?.key)
        let step = root.step(
            exchange, shared,
            StepTranscript(
                kind: kind, sender: theirs, receiver: pair.x25519.publicKey,
                ciphertext: kem?.ciphertext))
        root = step.root
        receiving = ReceivingChain(publicKey: header.publicKey, key: step.chain)
        previousLength = length
        turn = .received(theirs)
    }

    /// Returns the pair that the peer's next chain answers, and the length of our chain. Throws
    /// ``RatchetError/authentication`` if the session has no pair: the peer cannot have answered it.
    private func answered() throws(RatchetError) -> (pair: RatchetPair, length: UInt32) {
        switch turn {
        case .preKey(let pair): (RatchetPair(x25519: pair, kem: nil), 0)
        case .sent(let chain): (chain.pair, chain.number)
        case .received: throw .authentication
        }
    }
}
