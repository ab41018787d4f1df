/// A root key. Each step derives the next root key and a chain key from it (Double Ratchet §5.2, KDF_RK).
struct RootKey: Sendable {
    let secret: RatchetSecret

    /// Returns the next root key and a chain key: HKDF-SHA256(salt RK, DH output ‖ SS, info, 64).
    func step(
        _ exchange: RatchetSecret, _ shared: RatchetSecret?, _ transcript: StepTranscript
    ) -> (root: RootKey, chain: ChainKey) {
        let both = SecretBytes(count: 64) { out in
            secret.withBytes { root in
                hkdfSHA256(salt: root, info: transcript.info, into: out) { add in
                    exchange.withBytes { add($0) }
                    shared?.withBytes { add($0) }
                }
            }
        }
        return both.withBytes { bytes in
            (
                RootKey(secret: RatchetSecret(bytes[..<32])),
                ChainKey(secret: RatchetSecret(bytes[32...]))
            )
        }
    }
}

/// The public values of one step, with which a sending chain begins.
struct StepTranscript: Sendable {
    let kind: RatchetKind
    /// The sender's new key.
    let sender: RatchetPublicKey
    /// The receiver's X25519 key that the chain answers, 32 bytes.
    let receiver: [UInt8]
    /// The ciphertext for the receiver's ML-KEM-768 key, or `nil` if it has none.
    let ciphertext: [UInt8]?

    /// The info of HKDF: `ratchet/root/v1` in a classical session, and `ratchet/root/kem/v1` ‖ SHA-256(the sender's
    /// X25519 key ‖ the receiver's ‖ the sender's ML-KEM-768 key ‖ the ciphertext) in a hybrid one.
    ///
    /// All fields have fixed lengths, and the ciphertext is absent only in the initiator's first chain.
    var info: [UInt8] {
        switch kind {
        case .classical: Array("ratchet/root/v1".utf8)
        case .hybrid:
            Array("ratchet/root/kem/v1".utf8)
                + sha256(sender.x25519 + receiver + (sender.kem ?? []) + (ciphertext ?? []))
        }
    }
}
