package import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The secret half of a prekey of ours.
public struct SecretPreKey: Sendable {
    /// What a prekey is for. The number is the one in the state.
    public enum Kind: Int64, Sendable, CaseIterable {
        /// X25519, signed by the identity, used by many sessions for some days.
        case signed = 0
        /// ML-KEM-1024, signed by the identity, used by many sessions for some days.
        case postQuantum = 1
        /// X25519, used by one session.
        case oneTime = 2
    }

    private enum Key: Sendable {
        case x25519(RatchetKeyPair)
        case mlkem1024(MLKEM1024.PrivateKey)
    }

    /// What it is for.
    public let kind: Kind
    /// Its number.
    public let id: UInt32
    private let key: Key

    /// A fresh one.
    public init(_ kind: Kind, id: UInt32) {
        self.kind = kind
        self.id = id
        switch kind {
        case .signed, .oneTime: key = .x25519(RatchetKeyPair())
        case .postQuantum:
            guard let fresh = try? MLKEM1024.PrivateKey() else {
                preconditionFailure("ML-KEM-1024 makes no key")
            }
            key = .mlkem1024(fresh)
        }
    }

    /// The prekey of a secret that ``copySecret()`` gave; `nil` for bytes of another length.
    public init?(_ kind: Kind, id: UInt32, secret: [UInt8]) {
        self.kind = kind
        self.id = id
        switch kind {
        case .signed, .oneTime:
            guard secret.count == 32 else { return nil }
            key = .x25519(RatchetKeyPair(secret: RatchetSecret(secret)))
        case .postQuantum:
            guard
                let known = try? MLKEM1024.PrivateKey(
                    seedRepresentation: Data(secret), publicKey: nil)
            else { return nil }
            key = .mlkem1024(known)
        }
    }

    /// The secret, 32 bytes for X25519 and 64 for ML-KEM-1024; the caller wipes it.
    public func copySecret() -> [UInt8] {
        switch key {
        case .x25519(let pair): pair.secret.copyBytes()
        case .mlkem1024(let key): Array(key.seedRepresentation)
        }
    }

    /// The public half.
    public var publicHalf: PreKeyBundle.PreKey {
        switch key {
        case .x25519(let pair): PreKeyBundle.PreKey(id: id, key: pair.publicKey)
        case .mlkem1024(let key):
            PreKeyBundle.PreKey(id: id, key: Array(key.publicKey.rawRepresentation))
        }
    }

    /// The public half with the identity's signatures, over the key and over when it was made.
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

    /// The pair of an X25519 prekey.
    var pair: RatchetKeyPair? { if case .x25519(let pair) = key { pair } else { nil } }

    /// The key of a post-quantum prekey.
    package var kemKey: MLKEM1024.PrivateKey? {
        if case .mlkem1024(let key) = key { key } else { nil }
    }
}
