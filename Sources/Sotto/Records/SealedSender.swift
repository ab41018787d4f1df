extension Envelope {
    /// Returns the envelope for a card's send address, or the envelope itself if the card has no address. The outer `to` is
    /// the address. A sender in `from` is encrypted to the card's X25519 key, as `payload.sender`.
    ///
    /// The authenticated fields are unchanged: ``arrived(for:)`` restores them.
    public func addressed(to card: Card) -> Envelope {
        guard let address = card.address, to == card.id else { return self }
        var payload = payload
        if let from {
            payload["sender"] = .base64(SealedSender.seal(from, to: card.age))
        }
        return Envelope(id: id, suite: suite, to: address, time: time, ttl: ttl, payload: payload)
    }

    /// Returns the envelope as its suite made it, if it came to one of the owner's send addresses.
    public func arrived(for identity: Identity) -> Envelope {
        guard let to, to != identity.device else { return self }
        var payload = payload
        var from = from
        if from == nil,
            let sealed = try? Fields<FieldError>(payload)["sender"].bytes(),
            let sender = SealedSender.open(sealed, with: identity.ageKey)
        {
            from = sender
            payload["sender"] = nil
        }
        var envelope = Envelope(
            id: id, suite: suite, to: identity.device, from: from, time: time, ttl: ttl,
            payload: payload)
        envelope.decoder = decoder
        return envelope
    }
}

/// A sender's id that only the recipient can read: an ephemeral X25519 key ‖ ChaCha20-Poly1305 of the sender's 32-byte
/// key, 80 bytes. It does not prove the sender; the suite does.
enum SealedSender {
    /// The length in bytes.
    static let size = 32 + 32 + ChaChaPoly.tagSize

    /// Encrypts an id to a recipient.
    static func seal(_ sender: KeyID, to recipient: AgeX25519Recipient) -> [UInt8] {
        while true {
            let ephemeral = SecretBytes(randomCount: 32)
            guard let shared = X25519.sharedSecret(ephemeral, recipient.publicKey) else { continue }
            let own = X25519.publicKey(of: ephemeral)
            let key = key(shared, own, recipient.publicKey)
            return own + ChaChaPoly.sealOnce(SecretBytes(copying: sender.publicKey), key: key)
        }
    }

    /// Decrypts the id from ``seal(_:to:)``, or returns `nil` if that fails.
    static func open(_ sealed: [UInt8], with identity: AgeX25519Identity) -> KeyID? {
        guard sealed.count == size else { return nil }
        let ephemeral = Array(sealed[..<32])
        guard let shared = identity.sharedSecret(ephemeral),
            let sender = ChaChaPoly.openOnce(
                Array(sealed[32...]), key: key(shared, ephemeral, identity.recipient.publicKey))
        else { return nil }
        return KeyID(publicKey: sender.withBytes { Array($0) })
    }

    private static func key(
        _ shared: borrowing SecretBytes, _ ephemeral: [UInt8], _ recipient: [UInt8]
    ) -> SecretBytes {
        hkdfSHA256(shared, salt: ephemeral + recipient, info: "sotto/sender/v1")
    }
}
