/// The secret half of one of the user's prekeys.
public struct SecretPreKey: Sendable {
    /// The use of a prekey. The raw value is stored in the state.
    public enum Kind: Int64, Sendable, CaseIterable {
        /// X25519, signed by the identity. Many sessions use it for some days.
        case signed = 0
        /// ML-KEM-1024, signed by the identity. Many sessions use it for some days.
        case postQuantum = 1
        /// X25519. One session uses it.
        case oneTime = 2
    }

    private enum Key: Sendable {
        case x25519(RatchetKeyPair)
        case mlkem1024(KEMKey)
    }

    /// The use of the prekey.
    public let kind: Kind
    /// The number of the prekey.
    public let id: UInt32
    private let key: Key

    /// Generates a prekey.
    public init(_ kind: Kind, id: UInt32) {
        self.kind = kind
        self.id = id
        switch kind {
        case .signed, .oneTime: key = .x25519(RatchetKeyPair())
        case .postQuantum: key = .mlkem1024(KEMKey(.mlkem1024))
        }
    }

    /// Restores a prekey from the bytes of ``copySecret()``, or returns `nil` for another length.
    public init?(_ kind: Kind, id: UInt32, secret: [UInt8]) {
        self.kind = kind
        self.id = id
        switch kind {
        case .signed, .oneTime:
            guard secret.count == 32 else { return nil }
            key = .x25519(RatchetKeyPair(secret: RatchetSecret(secret)))
        case .postQuantum:
            guard let known = KEMKey(.mlkem1024, seed: secret) else { return nil }
            key = .mlkem1024(known)
        }
    }

    /// Returns the secret: 32 bytes for X25519, 64 for ML-KEM-1024. The caller wipes it.
    public func copySecret() -> [UInt8] {
        switch key {
        case .x25519(let pair): pair.secret.copyBytes()
        case .mlkem1024(let key): key.copySeed()
        }
    }

    /// The public half.
    public var publicHalf: PreKeyBundle.PreKey {
        switch key {
        case .x25519(let pair): PreKeyBundle.PreKey(id: id, key: pair.publicKey)
        case .mlkem1024(let key):
            PreKeyBundle.PreKey(id: id, key: key.publicKey)
        }
    }

    /// Returns the public half with the identity's signatures over the key and over its time of creation.
    public func signed(by identity: Identity, at time: Timestamp) -> PreKeyBundle.SignedPreKey {
        let publicKey = publicHalf.key
        let label = kind == .postQuantum ? PreKeyBundle.pqLabel : []
        let date = PreKeyBundle.SignedPreKey.Date(
            time: time,
            signature: identity.signingKey.sign(
                PreKeyBundle.SignedPreKey.Date.message(time, id, publicKey)))
        return PreKeyBundle.SignedPreKey(
            id: id, key: publicKey, signature: identity.signingKey.sign(label + publicKey),
            date: date)
    }

    /// The key pair of an X25519 prekey, or `nil` for ML-KEM-1024.
    var pair: RatchetKeyPair? { if case .x25519(let pair) = key { pair } else { nil } }

    /// The key of a post-quantum prekey, or `nil` for X25519.
    package var kemKey: KEMKey? {
        if case .mlkem1024(let key) = key { key } else { nil }
    }
}
