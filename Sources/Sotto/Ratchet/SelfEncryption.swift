import Crypto

/// Why a copy for ourselves is not opened.
public enum SelfEncryptionError: Error, Sendable, Equatable {
    /// It was changed or cut, or is of another identity.
    case authentication
    /// It is authentic, and what it has is not a padded frame.
    case padding
    /// The text is longer than ``SelfEncryption/limit``.
    case tooLong(limit: Int)
}

/// Copies of our own messages in the legacy form, encrypted to ourselves under a key that never changes:
///
///     key  = HKDF-SHA256(seed of the identity, no salt, info "ratchet/self/v1", 32)
///     copy = nonce(12) ‖ AES-256-GCM(key, nonce, padded frame) ‖ tag(16), without associated data
///
/// It is here to read old copies, and to write them for programs that know nothing else. The key
/// lasts as long as the identity, nothing binds a copy to its message, and random nonces under one key
/// limit it to 2³² copies (NIST SP 800-38D §8.3). Make a new copy with
/// ``Sealed/seal(body:extra:from:to:classic:time:id:)`` to one's own card: a fresh post-quantum key for each, and id,
/// reader and time are authenticated.
public enum SelfEncryption {
    /// The longest text: what fits the largest of ``Padding/buckets``.
    public static let limit = Padding.buckets.last! - Padding.overhead

    /// The copy of `plaintext` for the owner of `identity`.
    public static func seal(
        _ plaintext: [UInt8], for identity: Identity
    ) throws(SelfEncryptionError) -> [UInt8] {
        guard plaintext.count <= limit else { throw .tooLong(limit: limit) }
        do {
            return seal(
                frame: try Padding.frame(plaintext), with: key(of: identity.signingKey),
                nonce: AES.GCM.Nonce())
        } catch {
            throw .tooLong(limit: limit)
        }
    }

    /// The plaintext of a copy.
    public static func open(
        _ copy: [UInt8], with identity: Identity
    ) throws(SelfEncryptionError) -> [UInt8] {
        try open(copy, with: key(of: identity.signingKey))
    }

    static func seal(frame: [UInt8], with key: SymmetricKey, nonce: AES.GCM.Nonce) -> [UInt8] {
        do {
            let box = try AES.GCM.seal(frame, using: key, nonce: nonce)
            return Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
        } catch {
            preconditionFailure("AES-256-GCM refuses a 32-byte key")
        }
    }

    static func open(
        _ copy: [UInt8], with key: SymmetricKey
    ) throws(SelfEncryptionError) -> [UInt8] {
        let frame: [UInt8]
        do {
            frame = Array(try AES.GCM.open(AES.GCM.SealedBox(combined: copy), using: key))
        } catch {
            throw .authentication
        }
        do {
            return try Padding.unframe(frame)
        } catch {
            throw .padding
        }
    }

    /// The key that never changes.
    static func key(of signingKey: SigningKey) -> SymmetricKey {
        let key = signingKey.withSeed { seed in
            hkdfSHA256(SecretBytes(copying: seed), info: "ratchet/self/v1")
        }
        return key.withBytes { SymmetricKey(data: $0) }
    }
}
