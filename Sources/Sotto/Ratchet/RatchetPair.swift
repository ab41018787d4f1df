/// The keys of one sending chain: an X25519 pair and, in a hybrid session, an ML-KEM-768 key that is created with it.
struct RatchetPair: Sendable {
    let x25519: RatchetKeyPair
    /// `nil` in a classical session, and for the responder's signed prekey.
    let kem: KEMKey?

    init(x25519: RatchetKeyPair, kem: KEMKey?) {
        self.x25519 = x25519
        self.kem = kem
    }

    /// Generates the keys for a session.
    init(_ kind: RatchetKind) {
        x25519 = RatchetKeyPair()
        kem = kind == .hybrid ? KEMKey(.mlkem768) : nil
    }

    /// The public half.
    var publicKey: RatchetPublicKey {
        RatchetPublicKey(x25519: x25519.publicKey, kem: kem?.publicKey)
    }
}

/// The public half of a ``RatchetPair``.
struct RatchetPublicKey: Sendable, Equatable {
    /// 32 bytes, as they were sent: X25519 has one result for several encodings of a key.
    let x25519: [UInt8]
    /// 1184 bytes, or `nil` in a classical session and for the responder's signed prekey.
    let kem: [UInt8]?
}

/// A new pair of the sender, and a shared secret for the ML-KEM-768 key of the receiver: the random parts of a sending
/// chain.
struct ChainBeginning: Sendable {
    let pair: RatchetPair
    /// `nil` if the receiver's pair has no ML-KEM-768 key.
    let encapsulation: KEMKey.Encapsulation?

    init(pair: RatchetPair, encapsulation: KEMKey.Encapsulation?) {
        self.pair = pair
        self.encapsulation = encapsulation
    }

    /// Creates the parts for a chain that answers a key. Throws ``RatchetError/payload`` for an invalid ML-KEM-768 key.
    init(_ kind: RatchetKind, answering theirs: RatchetPublicKey) throws(RatchetError) {
        if let key = theirs.kem {
            guard let result = KEMKey.encapsulate(.mlkem768, to: key) else { throw .payload }
            encapsulation = result
        } else {
            encapsulation = nil
        }
        pair = RatchetPair(kind)
    }
}
