import CSodium
package import Crypto

/// A secret of a session: 32 bytes in locked memory, wiped when the last copy is destroyed.
///
/// Unlike ``SecretBytes`` it can be copied. A session is a value: it is changed as a copy, which is kept only if the
/// message was authentic.
package struct RatchetSecret: Sendable {
    private final class Storage: Sendable {
        let bytes: SecretBytes

        init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
    }

    private let storage: Storage

    /// Takes 32 bytes.
    package init(_ bytes: consuming SecretBytes) {
        precondition(bytes.count == 32)
        storage = Storage(bytes)
    }

    /// Copies 32 bytes. The caller wipes the original.
    package init(_ bytes: some Collection<UInt8>) { self.init(SecretBytes(copying: bytes)) }

    /// Creates a secret whose 32 bytes `fill` writes.
    package init(fill: (UnsafeMutableRawBufferPointer) -> Void) {
        self.init(SecretBytes(count: 32, fill: fill))
    }

    /// Returns a random secret.
    package static func random() -> RatchetSecret {
        RatchetSecret(SecretBytes(randomCount: 32))
    }

    /// The key in swift-crypto's type, which wipes its copy.
    package var symmetricKey: SymmetricKey { storage.bytes.symmetricKey() }

    package func withPointer<T, E: Error>(
        _ body: (UnsafePointer<UInt8>) throws(E) -> T
    ) throws(E) -> T {
        try storage.bytes.withPointer(body)
    }

    package func withBytes<T: ~Copyable, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> T
    ) throws(E) -> T {
        try storage.bytes.withBytes(body)
    }

    /// Returns the bytes for the stored state. The caller wipes them.
    package func copyBytes() -> [UInt8] { withBytes { Array($0) } }

    /// Returns the SHA-256 of the bytes, which is public where it names a chain.
    package func sha256() -> [UInt8] {
        Sodium.start()
        return [UInt8](unsafeUninitializedCapacity: 32) { hash, count in
            _ = withPointer { crypto_hash_sha256(hash.baseAddress!, $0, 32) }
            count = 32
        }
    }

    /// Appends the bytes to an array of ``secretArray(count:_:)``.
    package func append(to bytes: inout [UInt8]) { withBytes { bytes += $0 } }
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
        typealias State = crypto_auth_hmacsha256_state
        Sodium.start()
        return withUnsafeTemporaryAllocation(of: State.self, capacity: 2) { states in
            defer { wipe(UnsafeMutableRawBufferPointer(states)) }
            let keyed = states.baseAddress!
            _ = secret.withPointer { crypto_auth_hmacsha256_init(keyed, $0, 32) }
            func derived(_ label: UInt8) -> RatchetSecret {
                UnsafeMutableRawPointer(keyed + 1).copyMemory(
                    from: keyed, byteCount: MemoryLayout<State>.size)
                return withUnsafePointer(to: label) { label in
                    crypto_auth_hmacsha256_update(keyed + 1, label, 1)
                    return RatchetSecret { code in
                        crypto_auth_hmacsha256_final(
                            keyed + 1, code.baseAddress!.assumingMemoryBound(to: UInt8.self))
                    }
                }
            }
            return (MessageKey(secret: derived(1)), ChainKey(secret: derived(2)))
        }
    }
}

/// An X25519 key pair: a ratchet key, a prekey, or the ephemeral key of an age file.
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
        wipeStack()
    }

    /// Generates a key pair.
    package init() { self.init(secret: .random()) }

    /// Returns the X25519 shared secret, or `nil` if it is all zeros.
    func sharedSecret(_ publicKey: [UInt8]) -> RatchetSecret? {
        guard
            let other = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey),
            let shared = try? key.sharedSecretFromKeyAgreement(with: other)
        else { return nil }
        let secret = shared.withUnsafeBytes { RatchetSecret($0) }
        wipeStack()
        // swift-crypto does not refuse an all-zero shared secret.
        guard secret.withPointer({ sodium_is_zero($0, 32) }) == 0 else { return nil }
        return secret
    }
}
