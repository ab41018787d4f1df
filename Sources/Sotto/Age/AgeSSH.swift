import CSodium

/// An Ed25519 key of SSH as an age recipient, `ssh-ed25519 AAAA…` (C2SP age, "The ssh-ed25519 recipient type").
public struct AgeSSHRecipient: Sendable, Hashable {
    /// The key in SSH's form.
    public let key: OpenSSHPublicKey
    /// The same point on Curve25519 (RFC 7748 §4.1), 32 bytes.
    let converted: [UInt8]

    /// The recipient of a key; `nil` where that is not a point of large order.
    public init?(_ key: OpenSSHPublicKey) {
        Sodium.start()
        var converted = [UInt8](repeating: 0, count: 32)
        guard crypto_sign_ed25519_pk_to_curve25519(&converted, key.publicKey) == 0 else {
            return nil
        }
        self.key = key
        self.converted = converted
    }

    /// `ssh-ed25519 AAAA…`, without a comment.
    public var text: String { key.text }
}

/// An Ed25519 private key of SSH as an age identity.
public final class AgeSSHIdentity: Sendable {
    private let secret: SecretBytes
    /// The recipient that it opens files for.
    public let recipient: AgeSSHRecipient

    /// The identity of a key.
    public init(_ key: SigningKey) {
        guard let recipient = AgeSSHRecipient(OpenSSHPublicKey(publicKey: key.publicKey)) else {
            preconditionFailure("a public key that was made has large order")
        }
        self.recipient = recipient
        // The scalar of RFC 8032 §5.1.5, which X25519 clamps in the same way.
        secret = SecretBytes(count: 32) { out in
            let out = out.baseAddress!.assumingMemoryBound(to: UInt8.self)
            key.withSeed { seed in
                // libsodium hashes the first 32 of the 64 bytes alone.
                _ = crypto_sign_ed25519_sk_to_curve25519(
                    out, seed.baseAddress!.assumingMemoryBound(to: UInt8.self))
            }
        }
    }

    /// The X25519 shared secret with `publicKey`, or `nil` where that is of low order.
    func sharedSecret(_ publicKey: [UInt8]) -> SecretBytes? {
        X25519.sharedSecret(secret, publicKey)
    }
}

/// ssh-ed25519 stanzas (C2SP age, "The ssh-ed25519 recipient type").
enum AgeSSH {
    static let type = "ssh-ed25519"
    private static let info = "age-encryption.org/v1/ssh-ed25519"

    static func wrap(_ fileKey: borrowing SecretBytes, to recipient: AgeSSHRecipient)
        -> AgeStanza?
    {
        let ephemeral = SecretBytes(randomCount: 32)
        let share = X25519.publicKey(of: ephemeral)
        guard let shared = X25519.sharedSecret(ephemeral, recipient.converted),
            let key = wrapKey(shared, share: share, recipient: recipient)
        else { return nil }
        return AgeStanza(
            type: type, arguments: [tag(of: recipient), Base64.raw.encode(share)],
            body: ChaChaPoly.sealOnce(fileKey, key: key))
    }

    /// The file key, or `nil` where the stanza is for somebody else.
    static func unwrap(
        _ stanza: AgeStanza, with identity: AgeSSHIdentity
    ) throws(AgeError) -> SecretBytes? {
        guard stanza.arguments.count == 2, let tag = Base64.raw.decode(stanza.arguments[0]),
            tag.count == 4, let share = Base64.raw.decode(stanza.arguments[1]), share.count == 32,
            stanza.body.count == 32
        else { throw .header("ssh-ed25519 stanza") }
        guard stanza.arguments[0] == Self.tag(of: identity.recipient) else { return nil }
        guard let shared = identity.sharedSecret(share),
            let key = wrapKey(shared, share: share, recipient: identity.recipient)
        else { throw .header("ssh-ed25519 share") }
        return ChaChaPoly.openOnce(stanza.body, key: key)
    }

    /// The first 4 bytes of SHA-256 of the key's wire form.
    private static func tag(of recipient: AgeSSHRecipient) -> String {
        Base64.raw.encode(Array(sha256(recipient.key.blob).prefix(4)))
    }

    /// The tweak binds the shared secret to the key in SSH's form.
    private static func wrapKey(
        _ shared: borrowing SecretBytes, share: [UInt8], recipient: AgeSSHRecipient
    ) -> SecretBytes? {
        let tweak = hkdfSHA256(
            SecretBytes(copying: []), salt: recipient.key.blob, info: info)
        let tweaked = shared.withBytes { X25519.sharedSecret(tweak, Array($0)) }
        guard let tweaked else { return nil }
        return hkdfSHA256(tweaked, salt: share + recipient.converted, info: info)
    }
}
