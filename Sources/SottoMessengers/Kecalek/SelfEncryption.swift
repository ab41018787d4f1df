public import Sotto
import SottoPadding

/// A reason why a copy for the sender cannot be made or opened.
public enum SelfEncryptionError: Error, Sendable, Equatable {
    /// The copy was changed or truncated, or belongs to another identity.
    case authentication
    /// The copy is authentic, but its content is not a padded frame.
    case padding
    /// The text is longer than ``SelfEncryption/limit``, in bytes.
    case tooLong(limit: Int)
}

/// The legacy form in which a sender keeps a copy of a sent message, encrypted to themselves under a fixed key:
///
///     key  = HKDF-SHA256(seed of the identity, no salt, info "ratchet/self/v1", 32)
///     copy = nonce(12) ‖ AES-256-GCM(key, nonce, padded frame) ‖ tag(16), without associated data
///
/// It is for reading old copies, and for writing them for programs that support no other form. The key lasts as long as
/// the identity, no copy is bound to its message, and random nonces under one key limit it to 2³² copies (NIST SP
/// 800-38D §8.3). Make new copies with ``Sealed/seal(body:extra:from:to:classic:time:id:)`` to the sender's own card:
/// each has a fresh post-quantum key, and its id, recipient and time are authenticated.
public enum SelfEncryption {
    /// The longest text in bytes: the content of the largest of ``Padding/buckets``.
    public static let limit = Padding.buckets.last! - Padding.overhead

    /// Returns a copy of `plaintext` for the owner of `identity`. Throws ``SelfEncryptionError/tooLong(limit:)``.
    public static func seal(
        _ plaintext: [UInt8], for identity: Identity
    ) throws(SelfEncryptionError) -> [UInt8] {
        guard plaintext.count <= limit else { throw .tooLong(limit: limit) }
        do {
            return AESGCM.seal(
                try Padding.frame(plaintext), key: key(of: identity.signingKey))
        } catch {
            throw .tooLong(limit: limit)
        }
    }

    /// Returns the plaintext of a copy. Throws ``SelfEncryptionError/authentication`` or
    /// ``SelfEncryptionError/padding``.
    public static func open(
        _ copy: [UInt8], with identity: Identity
    ) throws(SelfEncryptionError) -> [UInt8] {
        try open(copy, with: key(of: identity.signingKey))
    }

    static func open(
        _ copy: [UInt8], with key: borrowing SecretBytes
    ) throws(SelfEncryptionError) -> [UInt8] {
        guard let frame = AESGCM.open(copy, key: key) else { throw .authentication }
        do {
            return try Padding.unframe(frame)
        } catch {
            throw .padding
        }
    }

    /// The fixed key of the identity.
    static func key(of signingKey: SigningKey) -> SecretBytes {
        signingKey.withSeed { seed in
            hkdfSHA256(SecretBytes(copying: seed), info: "ratchet/self/v1")
        }
    }
}
