import CSodium
package import Crypto

/// A secret of a session: 32 bytes that are wiped when the last copy is destroyed.
///
/// Unlike ``SecretBytes`` it can be copied and uses ordinary memory. A session is a value: it is changed as a copy,
/// which is kept only if the message was authentic, and it advances hundreds of thousands of times a second.
package struct RatchetSecret: Sendable {
    private let key: SymmetricKey

    package init(_ bytes: some Collection<UInt8>) {
        precondition(bytes.count == 32)
        key = SymmetricKey(data: Array(bytes))
    }

    package init(_ key: SymmetricKey) { self.key = key }

    /// The key in swift-crypto's type.
    package var symmetricKey: SymmetricKey { key }

    package func withPointer<T>(_ body: (UnsafePointer<UInt8>) throws -> T) rethrows -> T {
        try key.withUnsafeBytes {
            try body($0.baseAddress!.assumingMemoryBound(to: UInt8.self))
        }
    }

    /// Returns the bytes for the stored state. The caller wipes them.
    package func copyBytes() -> [UInt8] { key.withUnsafeBytes { Array($0) } }
}

/// A message key. It encrypts one message.
package struct MessageKey: Sendable {
    package let secret: RatchetSecret

    /// Creates a message key.
    package init(secret: RatchetSecret) { self.secret = secret }
}

/// A chain key, from which the message keys of a chain are derived (Double Ratchet §5.2, KDF_CK).
package struct ChainKey: Sendable {
    package let secret: RatchetSecret

    /// Creates a chain key.
    package init(secret: RatchetSecret) { self.secret = secret }

    /// Returns the key of the next message, HMAC-SHA256(CK, 0x01), and the next chain key, HMAC-SHA256(CK, 0x02).
    ///
    /// libsodium takes half of swift-crypto's time for such short messages.
    package func step() -> (message: MessageKey, next: ChainKey) {
        Sodium.start()
        var keyed = crypto_auth_hmacsha256_state()
        defer { sodium_memzero(&keyed, MemoryLayout.size(ofValue: keyed)) }
        _ = secret.withPointer { crypto_auth_hmacsha256_init(&keyed, $0, 32) }
        return (
            MessageKey(secret: Self.derived(keyed, 1)), ChainKey(secret: Self.derived(keyed, 2))
        )
    }

    private static func derived(
        _ keyed: crypto_auth_hmacsha256_state, _ label: UInt8
    ) -> RatchetSecret {
        var (state, label) = (keyed, label)
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { code in
            crypto_auth_hmacsha256_update(&state, &label, 1)
            crypto_auth_hmacsha256_final(&state, code.baseAddress!)
            defer {
                sodium_memzero(&state, MemoryLayout.size(ofValue: state))
                sodium_memzero(code.baseAddress!, code.count)
            }
            return RatchetSecret(SymmetricKey(data: UnsafeRawBufferPointer(code)))
        }
    }
}

/// A root key. Each DH ratchet step derives the next root key and a chain key from it (Double Ratchet §5.2, KDF_RK).
struct RootKey: Sendable {
    let secret: RatchetSecret

    /// Returns the next root key and a chain key: HKDF-SHA256(salt RK, DH output, info `ratchet/root/v1`, 64).
    ///
    /// Throws ``RatchetError/lowOrderKey`` for a public key that gives an all-zero shared secret.
    func step(_ pair: RatchetKeyPair, _ publicKey: [UInt8]) throws(RatchetError) -> (
        root: RootKey, chain: ChainKey
    ) {
        guard let shared = pair.sharedSecret(publicKey) else { throw .lowOrderKey }
        let salt = secret.copyBytes()
        let output = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: shared.symmetricKey, salt: salt, info: Array("ratchet/root/v1".utf8),
            outputByteCount: 64)
        return output.withUnsafeBytes { bytes in
            (
                RootKey(secret: RatchetSecret(bytes[..<32])),
                ChainKey(secret: RatchetSecret(bytes[32...]))
            )
        }
    }
}

/// An X25519 key pair: a ratchet key or a prekey.
///
/// It uses BoringSSL's X25519, which takes three fifths of libsodium's time.
package struct RatchetKeyPair: Sendable {
    let secret: RatchetSecret
    /// The public key, 32 bytes.
    package let publicKey: [UInt8]
    private let key: Curve25519.KeyAgreement.PrivateKey

    init(secret: RatchetSecret) {
        do {
            key = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: secret.symmetricKey)
        } catch {
            preconditionFailure("X25519 refuses a secret of 32 bytes")
        }
        self.secret = secret
        publicKey = Array(key.publicKey.rawRepresentation)
    }

    /// Generates a key pair.
    package init() { self.init(secret: RatchetSecret(SymmetricKey(size: .bits256))) }

    /// Returns the X25519 shared secret, or `nil` if it is all zeros.
    func sharedSecret(_ publicKey: [UInt8]) -> RatchetSecret? {
        guard
            let other = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey),
            let shared = try? key.sharedSecretFromKeyAgreement(with: other)
        else { return nil }
        // swift-crypto does not refuse an all-zero shared secret.
        let isZero = shared.withUnsafeBytes {
            sodium_is_zero($0.baseAddress!.assumingMemoryBound(to: UInt8.self), $0.count) == 1
        }
        guard !isZero else { return nil }
        return RatchetSecret(shared.withUnsafeBytes { SymmetricKey(data: $0) })
    }
}
