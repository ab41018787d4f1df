/// X25519 stanzas (C2SP age, "The X25519 recipient type").
enum AgeX25519 {
    static let type = "X25519"

    static func wrap(_ fileKey: borrowing SecretBytes, to recipient: AgeX25519Recipient)
        -> AgeStanza?
    {
        let ephemeral = RatchetKeyPair()
        let share = ephemeral.publicKey
        guard let shared = ephemeral.sharedSecret(recipient.publicKey) else { return nil }
        let key = shared.withBytes { wrapKey($0, share: share, recipient: recipient) }
        return AgeStanza(
            type: type, arguments: [Base64.raw.encode(share)],
            body: ChaChaPoly.sealOnce(fileKey, key: key))
    }

    /// Returns the file key, or `nil` if the stanza is for another recipient.
    static func unwrap(
        _ stanza: AgeStanza, with identity: AgeX25519Identity
    ) throws(AgeError) -> SecretBytes? {
        guard stanza.arguments.count == 1, let share = Base64.raw.decode(stanza.arguments[0]),
            share.count == 32, stanza.body.count == 32
        else { throw .header("X25519 stanza") }
        guard let shared = identity.sharedSecret(share) else { throw .header("X25519 share") }
        let key = shared.withBytes { wrapKey($0, share: share, recipient: identity.recipient) }
        return ChaChaPoly.openOnce(stanza.body, key: key)
    }

    private static func wrapKey(
        _ shared: UnsafeRawBufferPointer, share: [UInt8], recipient: AgeX25519Recipient
    ) -> SecretBytes {
        hkdfSHA256(
            shared, salt: share + recipient.publicKey, info: "age-encryption.org/v1/X25519")
    }
}
