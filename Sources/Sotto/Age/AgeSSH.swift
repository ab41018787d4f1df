import Synchronization

/// An Ed25519 key of SSH as an age recipient, `ssh-ed25519 AAAA…` (C2SP age, "The ssh-ed25519 recipient type").
public struct AgeSSHRecipient: Sendable, Hashable {
    /// The key in SSH's form.
    public let key: OpenSSHPublicKey
    /// The same point on Curve25519 (RFC 7748 §4.1), 32 bytes.
    let converted: [UInt8]

    /// The recipient of a key; `nil` where that is not a point of large order.
    public init?(_ key: OpenSSHPublicKey) {
        guard let converted = x25519PublicKey(fromEd25519: key.publicKey) else { return nil }
        self.key = key
        self.converted = converted
    }

    /// `ssh-ed25519 AAAA…`, without a comment.
    public var text: String { key.text }
}

/// An Ed25519 private key of SSH as an age identity.
///
/// Its forms for X25519 are computed when a file asks for them, which few do.
public struct AgeSSHIdentity: Sendable {
    /// The public key in SSH's form.
    public let publicKey: OpenSSHPublicKey
    private let key: @Sendable () throws -> SigningKey

    /// The identity of a key.
    public init(_ key: SigningKey) {
        publicKey = OpenSSHPublicKey(publicKey: key.publicKey)
        self.key = { key }
    }

    /// The identity of a key under a passphrase. `unlock` is called once a file names `publicKey`, and again only after it threw.
    public init(
        publicKey: OpenSSHPublicKey, unlock: @escaping @Sendable () throws -> SigningKey
    ) {
        self.publicKey = publicKey
        let unlocked = Unlocked()
        key = { try unlocked.get(unlock) }
    }

    /// The recipient that it opens files for. The public key is that of a private one that was seen.
    public var recipient: AgeSSHRecipient {
        guard let recipient = AgeSSHRecipient(publicKey) else {
            preconditionFailure("a public key that was made has large order")
        }
        return recipient
    }

    /// The X25519 shared secret with `share`, or `nil` where that is of low order. Throws what unlocking does.
    func sharedSecret(_ share: [UInt8]) throws -> SecretBytes? {
        let secret = try key().withSeed { seed in
            x25519Secret(fromEd25519Seed: SecretBytes(copying: seed))
        }
        return X25519.sharedSecret(secret, share)
    }

    /// A key, once it was unlocked.
    private final class Unlocked: Sendable {
        private let key = Mutex<SigningKey?>(nil)

        func get(_ unlock: () throws -> SigningKey) throws -> SigningKey {
            try key.withLock { key in
                let unlocked = try key ?? unlock()
                key = unlocked
                return unlocked
            }
        }
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
            type: type, arguments: [tag(of: recipient.key), Base64.raw.encode(share)],
            body: ChaChaPoly.sealOnce(fileKey, key: key))
    }

    /// The file key, or `nil` where the stanza is for somebody else. Throws ``AgeError``, or what unlocking the key does.
    static func unwrap(
        _ stanza: AgeStanza, with identity: AgeSSHIdentity
    ) throws -> SecretBytes? {
        guard stanza.arguments.count == 2, let tag = Base64.raw.decode(stanza.arguments[0]),
            tag.count == 4, let share = Base64.raw.decode(stanza.arguments[1]), share.count == 32,
            stanza.body.count == 32
        else { throw AgeError.header("ssh-ed25519 stanza") }
        guard stanza.arguments[0] == Self.tag(of: identity.publicKey) else { return nil }
        guard let shared = try identity.sharedSecret(share),
            let key = wrapKey(shared, share: share, recipient: identity.recipient)
        else { throw AgeError.header("ssh-ed25519 share") }
        return ChaChaPoly.openOnce(stanza.body, key: key)
    }

    /// The first 4 bytes of SHA-256 of the key's wire form.
    private static func tag(of key: OpenSSHPublicKey) -> String {
        Base64.raw.encode(Array(sha256(key.blob).prefix(4)))
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
