import Synchronization

/// An SSH Ed25519 key as an age recipient, `ssh-ed25519 AAAA…` (C2SP age, "The ssh-ed25519 recipient type").
public struct AgeSSHRecipient: Sendable, Hashable {
    /// The SSH public key.
    public let key: OpenSSHPublicKey
    /// The same point on Curve25519 (RFC 7748 §4.1), 32 bytes.
    let converted: [UInt8]

    /// Creates the recipient of a key, or returns `nil` if the key is not a point of large order.
    public init?(_ key: OpenSSHPublicKey) {
        guard let converted = x25519PublicKey(fromEd25519: key.publicKey) else { return nil }
        self.key = key
        self.converted = converted
    }

    /// `ssh-ed25519 AAAA…`, without a comment.
    public var text: String { key.text }
}

/// An SSH Ed25519 private key as an age identity.
///
/// The X25519 form is computed when a stanza needs it, which is rare.
public struct AgeSSHIdentity: Sendable {
    /// The SSH public key.
    public let publicKey: OpenSSHPublicKey
    private let key: @Sendable () throws -> SigningKey

    /// Creates the identity of a key.
    public init(_ key: SigningKey) {
        publicKey = OpenSSHPublicKey(publicKey: key.publicKey)
        self.key = { key }
    }

    /// Creates the identity of a key with a passphrase. `unlock` is called when a file first names `publicKey`, and
    /// again only if it threw.
    public init(
        publicKey: OpenSSHPublicKey, unlock: @escaping @Sendable () throws -> SigningKey
    ) {
        self.publicKey = publicKey
        let unlocked = Unlocked()
        key = { try unlocked.get(unlock) }
    }

    /// The recipient whose files it opens. Its conversion cannot fail, because a private key made the public key.
    public var recipient: AgeSSHRecipient {
        guard let recipient = AgeSSHRecipient(publicKey) else {
            preconditionFailure("a public key that was made has large order")
        }
        return recipient
    }

    /// Returns the X25519 shared secret with `share`, or `nil` if `share` has low order. Throws the errors of `unlock`.
    func sharedSecret(_ share: [UInt8]) throws -> SecretBytes? {
        let secret = try key().withSeed { seed in
            x25519Secret(fromEd25519Seed: SecretBytes(copying: seed))
        }
        return X25519.sharedSecret(secret, share)
    }

    /// A key that is unlocked once and then kept.
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

    /// Returns the file key, or `nil` if the stanza is for another recipient. Throws ``AgeError``, or the errors of
    /// `unlock`.
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

    /// Returns the first 4 bytes of SHA-256 of the key's wire form, in base64.
    private static func tag(of key: OpenSSHPublicKey) -> String {
        Base64.raw.encode(Array(sha256(key.blob).prefix(4)))
    }

    /// Derives the key that wraps the file key. The tweak binds the shared secret to the SSH key.
    private static func wrapKey(
        _ shared: borrowing SecretBytes, share: [UInt8], recipient: AgeSSHRecipient
    ) -> SecretBytes? {
        let tweak = hkdfSHA256(
            SecretBytes(copying: []), salt: recipient.key.blob, info: info)
        var point = shared.withBytes { Array($0) }
        defer { wipe(&point) }
        guard let tweaked = X25519.sharedSecret(tweak, point) else { return nil }
        return hkdfSHA256(tweaked, salt: share + recipient.converted, info: info)
    }
}
