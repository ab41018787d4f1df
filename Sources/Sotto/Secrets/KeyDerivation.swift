import CSodium
import Crypto
import CryptoExtras

/// Derives a secret of `count` bytes with HKDF-SHA256 (RFC 5869).
///
/// No salt is the same as a salt of zeros (RFC 5869 §2.2).
package func hkdfSHA256(
    _ secret: borrowing SecretBytes, salt: [UInt8] = [], info: String, count: Int = 32
) -> SecretBytes {
    secret.withBytes { bytes in
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: bytes), salt: salt, info: Array(info.utf8),
            outputByteCount: count)
        return SecretBytes(copying: key)
    }
}

/// Returns SHA-256 of `bytes`.
package func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

/// Returns SHA-256 of `bytes`.
func sha256(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var hash = SHA256()
    hash.update(bufferPointer: bytes)
    return Array(hash.finalize())
}

/// Returns SHA-256 of a secret, which is secret too.
package func sha256(_ secret: borrowing SecretBytes) -> SecretBytes {
    var hash = secret.withBytes { sha256(UnsafeRawBufferPointer($0)) }
    defer { wipe(&hash) }
    return SecretBytes(copying: hash)
}

/// Returns SHA-512 of `bytes`.
package func sha512(_ bytes: [UInt8]) -> [UInt8] { Array(SHA512.hash(data: bytes)) }

/// Returns PBKDF2-HMAC-SHA512 (RFC 8018 §5.2), 64 bytes.
func pbkdf2SHA512(password: [UInt8], salt: [UInt8], rounds: Int) -> SecretBytes {
    do {
        let key = try KDF.Insecure.PBKDF2.deriveKey(
            from: password, salt: salt, using: .sha512, outputByteCount: 64,
            unsafeUncheckedRounds: rounds)
        return SecretBytes(copying: key)
    } catch {
        preconditionFailure("PBKDF2 refuses 64 bytes of output")
    }
}

extension SecretBytes {
    fileprivate init(copying key: SymmetricKey) {
        self.init(count: key.bitCount / 8) { memory in
            key.withUnsafeBytes { memory.copyMemory(from: $0) }
        }
    }
}

/// Returns BLAKE2b-128 of `bytes` under a 32-byte key: 16 bytes that identify `bytes` without revealing them.
package func keyedHash(_ bytes: [UInt8], key: borrowing SecretBytes) -> [UInt8] {
    Sodium.start()
    var hash = [UInt8](repeating: 0, count: 16)
    _ = key.withPointer {
        crypto_generichash(&hash, hash.count, bytes, UInt64(bytes.count), $0, key.count)
    }
    return hash
}

/// Returns BLAKE2b-256 (RFC 7693) of `bytes`, without a key.
func blake2b256(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    Sodium.start()
    var hash = [UInt8](repeating: 0, count: 32)
    _ = crypto_generichash(
        &hash, hash.count, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
        UInt64(bytes.count), nil, 0)
    return hash
}
