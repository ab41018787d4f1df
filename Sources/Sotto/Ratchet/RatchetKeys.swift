import CSodium
import Crypto

/// A secret of a session: 32 bytes that are wiped when the last copy ends.
///
/// Unlike ``SecretBytes`` it can be copied and lives in ordinary memory: a session is a value, worked on as a
/// copy and kept only if the message was authentic, and it steps hundreds of thousands of times a second.
struct RatchetSecret: Sendable {
    private let key: SymmetricKey

    init(_ bytes: some Collection<UInt8>) {
        precondition(bytes.count == 32)
        key = SymmetricKey(data: Array(bytes))
    }

    init(_ key: SymmetricKey) { self.key = key }

    /// The key for swift-crypto.
    var symmetricKey: SymmetricKey { key }

    func withPointer<T>(_ body: (UnsafePointer<UInt8>) throws -> T) rethrows -> T {
        try key.withUnsafeBytes {
            try body($0.baseAddress!.assumingMemoryBound(to: UInt8.self))
        }
    }

    /// The bytes, for the state; the caller wipes them.
    func copyBytes() -> [UInt8] { key.withUnsafeBytes { Array($0) } }
}

/// A message key: it encrypts one message.
struct MessageKey: Sendable {
    let secret: RatchetSecret
}

/// A chain key, from which message keys come in a row (Double Ratchet §5.2, KDF_CK).
struct ChainKey: Sendable {
    let secret: RatchetSecret

    /// The key of the next message: HMAC-SHA256(CK, 0x01).
    var messageKey: MessageKey { MessageKey(secret: derived(1)) }

    /// The next chain key: HMAC-SHA256(CK, 0x02).
    var next: ChainKey { ChainKey(secret: derived(2)) }

    private func derived(_ label: UInt8) -> RatchetSecret {
        let code = HMAC<SHA256>.authenticationCode(for: [label], using: secret.symmetricKey)
        return RatchetSecret(SymmetricKey(data: code))
    }
}

/// A root key, from which each Diffie-Hellman step makes the next and a chain key
/// (Double Ratchet §5.2, KDF_RK).
struct RootKey: Sendable {
    let secret: RatchetSecret

    /// HKDF-SHA256(salt RK, DH output, info `ratchet/root/v1`, 64): the next root key and a chain key.
    ///
    /// Throws ``RatchetError/lowOrderKey`` for a public key that gives zero.
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

/// An X25519 pair of the ratchet, or a prekey.
///
/// The arithmetic is BoringSSL's, which takes three fifths of libsodium's time.
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

    /// A fresh pair.
    package init() { self.init(secret: RatchetSecret(SymmetricKey(size: .bits256))) }

    /// The X25519 shared secret; `nil` where it is zero.
    func sharedSecret(_ publicKey: [UInt8]) -> RatchetSecret? {
        guard
            let other = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey),
            let shared = try? key.sharedSecretFromKeyAgreement(with: other)
        else { return nil }
        // swift-crypto does not refuse it.
        let isZero = shared.withUnsafeBytes {
            sodium_is_zero($0.baseAddress!.assumingMemoryBound(to: UInt8.self), $0.count) == 1
        }
        guard !isZero else { return nil }
        return RatchetSecret(shared.withUnsafeBytes { SymmetricKey(data: $0) })
    }
}
