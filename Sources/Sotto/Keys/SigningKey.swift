import CSodium

/// An Ed25519 key pair (RFC 8032 §5.1), stored as its 32-byte seed.
public final class SigningKey: Sendable {
    private let secret: SecretBytes  // libsodium's 64 bytes: seed ‖ public
    /// The 32-byte public key.
    public let publicKey: [UInt8]

    /// Creates the key pair of a 32-byte seed. A key that lives as long as the process `isGuarded`; see
    /// ``SecretBytes/guarded()``.
    public init(seed: borrowing SecretBytes, isGuarded: Bool = false) {
        precondition(seed.count == 32)
        var publicKey = [UInt8](repeating: 0, count: 32)
        let pair = SecretBytes(count: 64) { memory in
            _ = seed.withPointer {
                crypto_sign_ed25519_seed_keypair(
                    &publicKey, memory.baseAddress!.assumingMemoryBound(to: UInt8.self), $0)
            }
        }
        wipeStack()
        if isGuarded { secret = pair.guarded() } else { secret = pair }
        self.publicKey = publicKey
    }

    /// Returns the 64-byte signature over `message`. It is deterministic (RFC 8032 §5.1.6).
    public func sign(_ message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            _ = secret.withPointer {
                crypto_sign_ed25519_detached(
                    buffer.baseAddress!, nil, message, UInt64(message.count), $0)
            }
            wipeStack()
            count = 64
        }
    }

    /// Lends the 32-byte seed to `body`.
    public func withSeed<T: ~Copyable, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> T
    ) throws(E) -> T {
        try secret.withBytes { bytes throws(E) in
            try body(UnsafeRawBufferPointer(rebasing: bytes[..<32]))
        }
    }
}

/// Whether `signature` (64 bytes) is the Ed25519 signature of `message` under `publicKey` (32 bytes).
/// libsodium refuses small-order keys and non-canonical encodings.
public func verifySignature(_ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8])
    -> Bool
{
    Sodium.start()
    return signature.count == 64 && publicKey.count == 32
        && crypto_sign_ed25519_verify_detached(
            signature, message, UInt64(message.count), publicKey) == 0
}

/// Returns the X25519 form of an Ed25519 public key, or `nil` for a key of small order or off the curve.
public func x25519PublicKey(fromEd25519 publicKey: [UInt8]) -> [UInt8]? {
    Sodium.start()
    guard publicKey.count == 32 else { return nil }
    var result = [UInt8](repeating: 0, count: 32)
    return crypto_sign_ed25519_pk_to_curve25519(&result, publicKey) == 0 ? result : nil
}

/// Returns the X25519 scalar of an Ed25519 seed (the clamped hash of RFC 8032 §5.1.5).
package func x25519Secret(fromEd25519Seed seed: borrowing SecretBytes) -> SecretBytes {
    precondition(seed.count == 32)
    return SecretBytes(count: 32) { memory in
        // libsodium hashes the first 32 of the 64 bytes of a secret key, which are the seed.
        _ = seed.withPointer {
            crypto_sign_ed25519_sk_to_curve25519(
                memory.baseAddress!.assumingMemoryBound(to: UInt8.self), $0)
        }
    }
}

/// Whether 32 bytes are the canonical encoding of a point of the main subgroup that does not have small order.
package func isEd25519Key(_ publicKey: [UInt8]) -> Bool {
    Sodium.start()
    return publicKey.count == 32 && crypto_core_ed25519_is_valid_point(publicKey) == 1
}
