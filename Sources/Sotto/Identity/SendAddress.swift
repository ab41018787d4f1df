/// An address that one correspondent alone knows: mail to it reaches us until we no longer want it.
///
/// To a relay it is a mailbox like any other, with a key of its own. Nothing in it is derived from what others know of
/// us, so that two who compare their addresses do not learn that both are ours.
public struct SendAddress: Sendable, Hashable {
    /// The length of the salt in bytes.
    public static let saltSize = 16

    /// What makes it another one than the next; 16 random bytes, of use to nobody without the identity.
    public let salt: [UInt8]

    /// A new address.
    public init() { salt = randomBytes(Self.saltSize) }

    /// The address of a salt; `nil` unless that has 16 bytes.
    public init?(salt: [UInt8]) {
        guard salt.count == Self.saltSize else { return nil }
        self.salt = salt
    }

    /// The key that owns its mailbox: HKDF-SHA256 (RFC 5869) of the identity's signing seed, with the salt and
    /// `sotto/address/v1`.
    public func key(of identity: Identity) -> SigningKey {
        SigningKey(
            seed: hkdfSHA256(identity.signingSeed(), salt: salt, info: "sotto/address/v1"))
    }

    /// The mailbox.
    public func id(of identity: Identity) -> SessionID {
        SessionID(publicKey: key(of: identity).publicKey)
    }
}

extension Envelope {
    /// The envelope for a card's send address, if it has one: the mailbox on the outside is that address, and a
    /// sender who stood there in the clear is sealed to the card's X25519 key, as `payload.sender`.
    ///
    /// What the suite authenticates is unchanged: ``arrived(for:)`` gives it back.
    public func addressed(to card: Card) -> Envelope {
        guard let address = card.address, to == card.id else { return self }
        var payload = payload
        if let from {
            payload["sender"] = .string(
                Base64.standard.encode(SealedSender.seal(from, to: card.age)))
        }
        return Envelope(id: id, suite: suite, to: address, time: time, payload: payload)
    }

    /// The envelope as its suite made it, of one that came to an address of ours.
    public func arrived(for identity: Identity) -> Envelope {
        guard let to, to != identity.id else { return self }
        var payload = payload
        var from = from
        if from == nil,
            let sealed = payload["sender"]?.string.flatMap({ Base64.standard.decode($0) }),
            let sender = SealedSender.open(sealed, with: identity.ageKey)
        {
            from = sender
            payload["sender"] = nil
        }
        var envelope = Envelope(
            id: id, suite: suite, to: identity.id, from: from, time: time, payload: payload)
        envelope.stand = stand
        return envelope
    }
}

/// A sender's id that the recipient alone can read: an ephemeral X25519 key ‖ ChaCha20-Poly1305 of the 32 bytes of the
/// sender's key, 80 bytes. It proves nothing; what the suite authenticates does.
enum SealedSender {
    /// The length in bytes.
    static let size = 32 + 32 + ChaChaPoly.tagSize

    /// Seals an id.
    static func seal(_ sender: SessionID, to recipient: AgeX25519Recipient) -> [UInt8] {
        while true {
            let ephemeral = SecretBytes(randomCount: 32)
            guard let shared = X25519.sharedSecret(ephemeral, recipient.publicKey) else { continue }
            let own = X25519.publicKey(of: ephemeral)
            let key = key(shared, own, recipient.publicKey)
            return own + ChaChaPoly.sealOnce(SecretBytes(copying: sender.publicKey), key: key)
        }
    }

    /// The id in what ``seal(_:to:)`` made; `nil` for anything else.
    static func open(_ sealed: [UInt8], with identity: AgeX25519Identity) -> SessionID? {
        guard sealed.count == size else { return nil }
        let ephemeral = Array(sealed[..<32])
        guard let shared = identity.sharedSecret(ephemeral),
            let sender = ChaChaPoly.openOnce(
                Array(sealed[32...]), key: key(shared, ephemeral, identity.recipient.publicKey))
        else { return nil }
        return SessionID(publicKey: sender.withBytes { Array($0) })
    }

    private static func key(
        _ shared: borrowing SecretBytes, _ ephemeral: [UInt8], _ recipient: [UInt8]
    ) -> SecretBytes {
        hkdfSHA256(shared, salt: ephemeral + recipient, info: "sotto/sender/v1")
    }
}
