/// An envelope of a session with its parsed payload.
public struct SessionArrival: Sendable {
    /// The envelope.
    public let envelope: Envelope
    /// The sender that the envelope names.
    public let peer: KeyID
    fileprivate let message: RatchetMessage
    /// The tag of the session that the pre-key header names, or `nil` without a header.
    fileprivate let preKeyTag: [UInt8]?

    /// Parses the payload. Returns `nil` if the envelope has another suite or is malformed.
    public init?(_ envelope: Envelope) {
        guard envelope.suite == .ratchet, let peer = envelope.from else { return nil }
        do throws(RatchetError) {
            message = try RatchetMessage(payload: envelope.payload)
            let header = try PeerSession.preKeyHeader(in: envelope)
            guard header.map({ $0.identityKey == peer.publicKey }) ?? true else { return nil }
            preKeyTag = header?.tag
        } catch {
            return nil
        }
        self.envelope = envelope
        self.peer = peer
    }
}

/// The receiving chain that a session will have after the next messages. It changes no session.
public struct AheadChain: Sendable {
    private let tag: [UInt8]
    private let associatedData: [UInt8]
    private var chain: Session.ReceivingChain

    /// Copies the current receiving chain of a session, or returns `nil` without one.
    public init?(_ session: PeerSession) {
        guard let chain = session.session.receiving else { return nil }
        tag = session.tag
        associatedData = session.session.associatedData
        self.chain = chain
    }

    /// Whether the chain is the current receiving chain of a session, at its place or after it.
    public func continues(_ session: PeerSession) -> Bool {
        guard let current = session.session.receiving, session.tag == tag else { return false }
        return current.publicKey == chain.publicKey && current.number <= chain.number
    }

    /// Takes the place of a message from the chain. Skips at most ``Session/maximumSkip`` places before it. Returns `nil`
    /// for the message of another chain, or of an earlier place.
    public mutating func place(of arrival: SessionArrival) -> AheadPlace? {
        let header = arrival.message.header
        guard arrival.preKeyTag.map({ $0 == tag }) ?? true,
            header.publicKey == chain.publicKey, header.number >= chain.number,
            header.number - chain.number <= Session.maximumSkip,
            header.number < Session.maximumCounter
        else { return nil }
        var place = chain
        while true {
            let (key, next) = chain.key.step()
            chain.key = next
            chain.number += 1
            guard place.number < header.number else {
                return AheadPlace(
                    arrival: arrival, tag: tag, associatedData: associatedData, before: place,
                    key: key, after: chain)
            }
            place = chain
        }
    }
}

/// A message of a session with the key that its place in the chain has.
public struct AheadPlace: Sendable {
    /// The message.
    public let arrival: SessionArrival
    fileprivate let tag: [UInt8]
    fileprivate let associatedData: [UInt8]
    fileprivate let before: Session.ReceivingChain
    fileprivate let key: MessageKey
    fileprivate let after: Session.ReceivingChain

    /// Decrypts the message, on any thread. Returns `nil` if it is not authentic.
    public func open() -> OpenedAhead? {
        do throws(RatchetError) {
            let frame = try arrival.message.open(with: key, associatedData)
            let message = try Message(frame: frame, of: arrival.envelope, from: arrival.peer)
            let step = OpenedAhead.Step(
                peer: arrival.peer, tag: tag, before: before, after: after)
            return OpenedAhead(message: message, step: step)
        } catch {
            return nil
        }
    }
}

/// An authentic message that was decrypted before its turn.
public struct OpenedAhead: Sendable {
    /// A step of a session, which ``PeerSession/take(_:)`` makes.
    public struct Step: Sendable {
        /// The sender.
        public let peer: KeyID
        /// The tag of the session.
        public let tag: [UInt8]
        fileprivate let before: Session.ReceivingChain
        fileprivate let after: Session.ReceivingChain
    }

    /// The message. Its trust is ``Message/Trust/unverified``.
    public let message: Message
    /// The step of its session, or `nil` for a message of a suite without sessions.
    public let step: Step?

    /// Creates the value for a message, by default of a suite without sessions.
    public init(message: Message, step: Step? = nil) {
        (self.message, self.step) = (message, step)
    }
}

extension Session {
    /// Advances the receiving chain over a message that was decrypted before. Returns `false` if the chain is at another
    /// place.
    mutating func take(_ step: OpenedAhead.Step) -> Bool {
        guard let chain = receiving, chain.number == step.before.number,
            chain.publicKey == step.before.publicKey, chain.key == step.before.key
        else { return false }
        receiving = step.after
        displaced = []
        return true
    }
}

extension ChainKey: Equatable {
    /// Compares the keys in constant time.
    package static func == (a: ChainKey, b: ChainKey) -> Bool {
        a.secret.symmetricKey == b.secret.symmetricKey
    }
}
