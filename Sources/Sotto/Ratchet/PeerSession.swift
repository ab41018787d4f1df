import SottoPadding

/// A session with one peer and its metadata. It is a value: the caller stores it after each step.
public struct PeerSession: Sendable {
    /// The peer.
    public let peer: KeyID
    /// The name of the session on both sides: ``PreKeyHeader/tag``.
    public let tag: [UInt8]
    private let hasOneTimePreKey: Bool
    /// The header to send with each message until the peer has answered.
    private(set) var preKeyHeader: PreKeyHeader?
    private(set) var session: Session

    /// The kind of key agreement that began a session.
    public struct Origin: Sendable, Equatable {
        /// Whether it used ML-KEM-1024 (PQXDH) and not X3DH alone. The session is then hybrid: each later step uses
        /// ML-KEM-768 too.
        public let isPostQuantum: Bool
        /// Whether it used a one-time prekey, so that its first message cannot be replayed.
        public let hasOneTimePreKey: Bool
    }

    /// The kind of key agreement that began the session.
    public var origin: Origin {
        Origin(isPostQuantum: session.kind == .hybrid, hasOneTimePreKey: hasOneTimePreKey)
    }

    /// The number of messages that the owner sent since the peer's last answer.
    package var sentCount: UInt32 { session.sentCount }

    /// The secret prekeys that a pre-key message names.
    public struct PreKeys: Sendable {
        let signed: SecretPreKey
        let postQuantum: SecretPreKey?
        let oneTime: SecretPreKey?

        /// Each prekey is of the kind that its label names.
        public init(signed: SecretPreKey, postQuantum: SecretPreKey?, oneTime: SecretPreKey?) {
            self.signed = signed
            self.postQuantum = postQuantum
            self.oneTime = oneTime
        }
    }

    /// Begins a session from a bundle, which has verified its signatures. The session can send at once.
    public init(by identity: Identity, with bundle: PreKeyBundle) throws(RatchetError) {
        let (agreement, preKeyHeader) = try KeyAgreement.initiate(identity, bundle)
        session = Session(
            initiatorWith: agreement, theirSignedPreKey: bundle.signedPreKey.key)
        peer = bundle.owner
        tag = preKeyHeader.tag
        hasOneTimePreKey = preKeyHeader.oneTimePreKeyID != nil
        self.preKeyHeader = preKeyHeader
    }

    /// Begins the responder's session from a pre-key message header. Attribute it to the peer only after a message of
    /// the session was decrypted.
    public init(by identity: Identity, accepting preKeyHeader: PreKeyHeader, with preKeys: PreKeys)
        throws(RatchetError)
    {
        guard let signed = preKeys.signed.pair else { throw .noKey }
        let agreement = try KeyAgreement.respond(
            identity, preKeyHeader, signed: signed, oneTime: preKeys.oneTime?.pair,
            kemKey: preKeys.postQuantum?.kemKey)
        session = Session(responderWith: agreement, signedPreKey: signed)
        peer = KeyID(publicKey: preKeyHeader.identityKey)
        tag = preKeyHeader.tag
        hasOneTimePreKey = preKeyHeader.oneTimePreKeyID != nil
    }

    /// Whether a message of the peer arrived in the session.
    public var isAnswered: Bool { preKeyHeader == nil }

    /// Whether this side, and not the peer, began the session.
    public var isInitiator: Bool { !session.associatedData.starts(with: peer.publicKey) }

    /// The position of the next message of each receiving chain that is not complete. Empty before the peer's first
    /// message.
    public var next: [ChainPosition] { session.next }

    // MARK: Messages

    /// Encrypts a message. Store the session before the envelope is sent; see ``Session/encrypt(_:)``.
    ///
    /// Throws ``RatchetError/tooLong(limit:)``, ``RatchetError/shortTTL(minimum:)``, ``RatchetError/cannotSendYet`` or
    /// ``RatchetError/counterOverflow``.
    public mutating func seal(
        body: JSONObject, extra: [(name: String, value: JSON)] = [], from identity: Identity,
        time: Timestamp, ttl: Int64? = nil, id: String = Envelope.newID()
    ) throws(RatchetError) -> Envelope {
        try prepare(body: body, extra: extra, from: identity, time: time, ttl: ttl, id: id)
            .envelope()
    }

    /// A message that has its place and key in a session, before its encryption.
    public struct Prepared: Sendable {
        /// The message's id.
        public let id: String
        /// The time of creation.
        public let time: Timestamp
        fileprivate let to: KeyID
        fileprivate let from: KeyID
        fileprivate let ttl: Int64?
        fileprivate let body: JSONObject
        fileprivate let extra: [(name: String, value: JSON)]
        fileprivate let place: Session.SendingPlace
        fileprivate let preKeyHeader: PreKeyHeader?

        /// Encrypts the message, on any thread. The result of a second call must not be sent.
        public consuming func envelope() -> Envelope {
            guard let frame = try? Padding.frame(content) else {
                preconditionFailure("a message in a session is longer than its limit")
            }
            let message = place.encrypt(frame, nonce: publicRandomBytes(AESGCM.nonceSize))
            var payload = message.payload
            if let preKeyHeader { payload["preKey"] = .object(preKeyHeader.object) }
            return Envelope(
                id: id, suite: .ratchet, to: to, from: from, time: time, ttl: ttl,
                payload: payload)
        }

        fileprivate var content: [UInt8] {
            MessageContent.encode(
                body: body, extra: extra, id: id, to: to, time: time, ttl: ttl)
        }
    }

    /// Takes the place and the key of a message from the session. Store the session before the envelope is sent.
    ///
    /// Throws as ``seal(body:extra:from:time:ttl:id:)`` does. The session is then unchanged.
    public mutating func prepare(
        body: JSONObject, extra: [(name: String, value: JSON)] = [], from identity: Identity,
        time: Timestamp, ttl: Int64? = nil, id: String = Envelope.newID()
    ) throws(RatchetError) -> Prepared {
        guard ttl.map({ Envelope.isTTL($0, of: .ratchet) }) ?? true else {
            throw .shortTTL(minimum: Envelope.minimumSessionTTL)
        }
        // Another thread encodes most messages.
        if !MessageContent.isShort(body: body, extra: extra) {
            let content = MessageContent.encode(
                body: body, extra: extra, id: id, to: peer, time: time, ttl: ttl)
            guard content.count <= MessageContent.limit else {
                throw .tooLong(limit: MessageContent.limit)
            }
        }
        return Prepared(
            id: id, time: time, to: peer, from: identity.device, ttl: ttl, body: body,
            extra: extra, place: try session.nextPlace(), preKeyHeader: preKeyHeader)
    }

    /// Decrypts a message. When it throws, the session is unchanged.
    ///
    /// The message's trust is ``Message/Trust/unverified``; the caller knows whether the sender's key is a contact's.
    public mutating func open(_ envelope: Envelope) throws(RatchetError) -> Message {
        var copy = session
        let frame = try copy.decrypt(try RatchetMessage(payload: envelope.payload))
        let message = try Message(frame: frame, of: envelope, from: peer)
        session = copy
        preKeyHeader = nil
        return message
    }

    /// Makes the step of a message that was decrypted before. Returns `false`, and changes nothing, unless the message is
    /// the next one of the session's receiving chain. ``open(_:)`` then decides.
    public mutating func take(_ step: OpenedAhead.Step) -> Bool {
        guard step.tag == tag, step.peer == peer, session.take(step) else { return false }
        preKeyHeader = nil
        return true
    }

    /// The keys of skipped messages that did not fit into the session when it decrypted the last message. Store them to
    /// decrypt these messages later.
    public var displaced: [SkippedMessage] {
        session.displaced.map {
            SkippedMessage(
                peer: peer, position: ChainPosition(key: $0.publicKey, number: $0.number),
                associatedData: session.associatedData, key: $0.key)
        }
    }

    /// Returns the pre-key message header in an envelope's payload, or `nil` if it is absent. Throws
    /// ``RatchetError/payload``.
    public static func preKeyHeader(in envelope: Envelope) throws(RatchetError) -> PreKeyHeader? {
        switch envelope.payload["preKey"] {
        case nil, .null: return nil
        case .object(let object): return try PreKeyHeader(object)
        default: throw .payload
        }
    }

    // MARK: The stored form

    private static let version: UInt8 = 1

    /// Returns the session's bytes, which contain keys. The caller wipes them.
    public func encoded() -> [UInt8] {
        var flags: UInt8 = 0
        if hasOneTimePreKey { flags |= 1 }
        if preKeyHeader != nil { flags |= 2 }
        var head = [Self.version, flags] + peer.publicKey + tag
        if let preKeyHeader {
            let object = preKeyHeader.object.serialized()
            head += UInt16(object.count).bigEndianBytes + object
        }
        var session = session.encoded()
        defer { wipe(&session) }
        return secretArray(count: head.count + session.count) { out in
            out += head
            out += session
        }
    }

    /// Reads the bytes of ``encoded()``, or returns `nil` if they are malformed.
    public init?(encoded bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        guard reader.byte() == Self.version, let flags = reader.byte(), flags < 4,
            let key = reader.bytes(32), let tag = reader.bytes(16)
        else { return nil }
        if flags & 2 != 0 {
            guard let count = reader.integer(UInt16.self), let object = reader.bytes(Int(count)),
                let record = try? JSON.object(parsing: Array(object)),
                let preKeyHeader = try? PreKeyHeader(record)
            else { return nil }
            self.preKeyHeader = preKeyHeader
        }
        guard let session = Session(encoded: reader.remaining) else { return nil }
        self.session = session
        peer = KeyID(publicKey: Array(key))
        self.tag = Array(tag)
        hasOneTimePreKey = flags & 1 != 0
    }
}
