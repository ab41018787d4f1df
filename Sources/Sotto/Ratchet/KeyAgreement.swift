/// The result of X3DH or PQXDH, which is the same on both sides and from which a session begins.
package struct KeyAgreement: Sendable {
    /// SK, 32 bytes.
    let secret: RatchetSecret
    /// IK_initiator ‖ IK_responder, 64 bytes.
    let associatedData: [UInt8]
    /// The kind of the session, which SK depends on.
    let kind: RatchetKind
}

extension KeyAgreement {
    /// SK = HKDF-SHA256(0xFF × 32 ‖ DH1 ‖ DH2 ‖ DH3 [‖ DH4] [‖ SS], salt 0 × 32, info, 32)
    /// (X3DH §2.2, PQXDH §2.2).
    init(
        exchanges: [RatchetSecret], sharedSecret: RatchetSecret? = nil, initiator: [UInt8],
        responder: [UInt8]
    ) {
        let kind: RatchetKind = sharedSecret == nil ? .classical : .hybrid
        secret = RatchetSecret { out in
            hkdfSHA256(
                salt: UnsafeRawBufferPointer(start: nil, count: 0),
                info: Array(kind.agreementInfo.utf8), into: out
            ) { add in
                [UInt8](repeating: 0xFF, count: 32).withUnsafeBytes { add($0) }
                for exchange in exchanges { exchange.withBytes { add($0) } }
                sharedSecret?.withBytes { add($0) }
            }
        }
        associatedData = initiator + responder
        self.kind = kind
    }

    /// Performs the initiator's side (X3DH §3.3, PQXDH §3.3). Returns the agreement and the header for the pre-key
    /// messages.
    ///
    /// The caller has verified the bundle's signatures. Throws ``RatchetError/lowOrderKey``.
    package static func initiate(
        _ identity: Identity, _ bundle: PreKeyBundle, ephemeral: RatchetKeyPair = RatchetKeyPair()
    ) throws(RatchetError) -> (agreement: KeyAgreement, header: PreKeyHeader) {
        try initiate(
            own: identity.agreementPair(), publicKey: identity.signingKey.publicKey, bundle,
            ephemeral: ephemeral)
    }

    package static func initiate(
        own: RatchetKeyPair, publicKey: [UInt8], _ bundle: PreKeyBundle, ephemeral: RatchetKeyPair,
        encapsulate: ([UInt8]) -> KEMKey.Encapsulation? = {
            KEMKey.encapsulate(.mlkem1024, to: $0)
        }
    ) throws(RatchetError) -> (agreement: KeyAgreement, header: PreKeyHeader) {
        guard let theirs = x25519PublicKey(fromEd25519: bundle.identityKey) else {
            throw .lowOrderKey
        }
        var exchanges = [
            own.sharedSecret(bundle.signedPreKey.key), ephemeral.sharedSecret(theirs),
            ephemeral.sharedSecret(bundle.signedPreKey.key),
        ]
        if let oneTime = bundle.oneTimePreKey {
            exchanges.append(ephemeral.sharedSecret(oneTime.key))
        }
        let valid = exchanges.compactMap { $0 }
        guard valid.count == exchanges.count else { throw .lowOrderKey }
        var sharedSecret: RatchetSecret?
        var kem: PreKeyHeader.KEM?
        if let preKey = bundle.pqSignedPreKey {
            guard let result = encapsulate(preKey.key) else { throw .lowOrderKey }
            sharedSecret = result.secret
            kem = PreKeyHeader.KEM(ciphertext: result.ciphertext, preKeyID: preKey.id)
        }
        let agreement = KeyAgreement(
            exchanges: valid, sharedSecret: sharedSecret, initiator: publicKey,
            responder: bundle.identityKey)
        return (
            agreement,
            PreKeyHeader(
                identityKey: publicKey, ephemeralKey: ephemeral.publicKey,
                signedPreKeyID: bundle.signedPreKey.id, oneTimePreKeyID: bundle.oneTimePreKey?.id,
                kem: kem)
        )
    }

    /// Performs the responder's side (X3DH §3.4, PQXDH §3.4). `oneTime` and `kemKey` are the prekeys that the header
    /// names.
    package static func respond(
        _ identity: Identity, _ header: PreKeyHeader, signed: RatchetKeyPair,
        oneTime: RatchetKeyPair?, kemKey: KEMKey?
    ) throws(RatchetError) -> KeyAgreement {
        try respond(
            own: identity.agreementPair(), publicKey: identity.signingKey.publicKey, header,
            signed: signed, oneTime: oneTime, kemKey: kemKey)
    }

    package static func respond(
        own: RatchetKeyPair, publicKey: [UInt8], _ header: PreKeyHeader, signed: RatchetKeyPair,
        oneTime: RatchetKeyPair?, kemKey: KEMKey?
    ) throws(RatchetError) -> KeyAgreement {
        guard let theirs = x25519PublicKey(fromEd25519: header.identityKey) else {
            throw .lowOrderKey
        }
        var exchanges = [
            signed.sharedSecret(theirs), own.sharedSecret(header.ephemeralKey),
            signed.sharedSecret(header.ephemeralKey),
        ]
        if let oneTime { exchanges.append(oneTime.sharedSecret(header.ephemeralKey)) }
        let valid = exchanges.compactMap { $0 }
        guard valid.count == exchanges.count else { throw .lowOrderKey }
        var sharedSecret: RatchetSecret?
        if let kem = header.kem {
            guard let kemKey else { throw .noKey }
            sharedSecret = kemKey.decapsulate(kem.ciphertext)
            guard sharedSecret != nil else { throw .authentication }
        }
        return KeyAgreement(
            exchanges: valid, sharedSecret: sharedSecret, initiator: header.identityKey,
            responder: publicKey)
    }
}

extension Identity {
    /// Returns the X25519 form of the signing key for X3DH (the scalar of RFC 8032 §5.1.5). Keep it for several
    /// sessions.
    package func agreementPair() -> RatchetKeyPair {
        let secret = signingKey.withSeed { seed in
            x25519Secret(fromEd25519Seed: SecretBytes(copying: seed))
        }
        return RatchetKeyPair(secret: secret.withBytes { RatchetSecret($0) })
    }
}
