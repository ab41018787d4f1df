import CSodium
import Crypto
import CryptoExtras

/// Derives a secret of `count` bytes with HKDF-SHA256 (RFC 5869).
///
/// No salt is the same as a salt of zeros (RFC 5869 §2.2).
package func hkdfSHA256(
    _ secret: borrowing SecretBytes, salt: [UInt8] = [], info: String, count: Int = 32
) -> SecretBytes {
    secret.withBytes { hkdfSHA256($0, salt: salt, info: info, count: count) }
}

/// Derives a secret of `count` bytes with HKDF-SHA256 (RFC 5869).
func hkdfSHA256(
    _ secret: UnsafeRawBufferPointer, salt: [UInt8], info: String, count: Int = 32
) -> SecretBytes {
    SecretBytes(count: count) { out in
        salt.withUnsafeBytes { salt in
            hkdfSHA256(salt: salt, info: Array(info.utf8), into: out) { add in add(secret) }
        }
    }
}

/// Fills `out` with HKDF-SHA256 (RFC 5869) of the parts that `material` adds in their order.
///
/// libsodium wipes what it computes with; swift-crypto leaves the padded keys of HMAC in freed memory.
func hkdfSHA256(
    salt: UnsafeRawBufferPointer, info: [UInt8], into out: UnsafeMutableRawBufferPointer,
    material: ((UnsafeRawBufferPointer) -> Void) -> Void
) {
    precondition(out.count <= 255 * 32)
    withUnsafeTemporaryAllocation(byteCount: 64, alignment: 16) { memory in
        defer { wipe(memory) }
        let key = UnsafeMutableRawBufferPointer(rebasing: memory[..<32])
        let block = UnsafeMutableRawBufferPointer(rebasing: memory[32...])
        hmacSHA256(key: salt, into: key, material)
        for start in stride(from: 0, to: out.count, by: 32) {
            let number = [UInt8(start / 32 + 1)]
            hmacSHA256(key: UnsafeRawBufferPointer(key), into: block) { add in
                if start > 0 { add(UnsafeRawBufferPointer(block)) }
                info.withUnsafeBytes { add($0) }
                number.withUnsafeBytes { add($0) }
            }
            let count = min(32, out.count - start)
            UnsafeMutableRawBufferPointer(rebasing: out[start...]).copyMemory(
                from: UnsafeRawBufferPointer(rebasing: block[..<count]))
        }
    }
}

/// Fills `code`, 32 bytes, with HMAC-SHA256 (RFC 2104) of the parts that `message` adds in their order.
func hmacSHA256(
    key: UnsafeRawBufferPointer, into code: UnsafeMutableRawBufferPointer,
    _ message: ((UnsafeRawBufferPointer) -> Void) -> Void
) {
    precondition(code.count == 32)
    Sodium.start()
    withUnsafeTemporaryAllocation(of: crypto_auth_hmacsha256_state.self, capacity: 1) { state in
        defer { wipe(UnsafeMutableRawBufferPointer(state)) }
        let state = state.baseAddress!
        // An empty key needs an address too.
        let bytes = key.baseAddress ?? UnsafeRawPointer(state)
        crypto_auth_hmacsha256_init(
            state, bytes.assumingMemoryBound(to: UInt8.self), key.count)
        message { part in
            crypto_auth_hmacsha256_update(
                state, part.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(part.count))
        }
        crypto_auth_hmacsha256_final(
            state, code.baseAddress!.assumingMemoryBound(to: UInt8.self))
    }
}

/// Returns HMAC-SHA256 (RFC 2104) of a text that is not secret, under a key of at most 64 bytes.
///
/// swift-crypto hashes a long text many times as fast as libsodium. Its HMAC leaves the padded key in freed memory, so
/// only its hash is used.
func hmacSHA256(ofLong text: [UInt8], key: UnsafeRawBufferPointer) -> [UInt8] {
    precondition(key.count <= 64)
    return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 16) { block in
        defer { wipe(block) }
        func hash(padding: UInt8, _ message: [UInt8]) -> [UInt8] {
            for place in 0..<64 {
                block[place] = (place < key.count ? key[place] : 0) ^ padding
            }
            var hash = SHA256()
            hash.update(bufferPointer: UnsafeRawBufferPointer(block))
            hash.update(data: message)
            return Array(hash.finalize())
        }
        return hash(padding: 0x5C, hash(padding: 0x36, text))
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
    Sodium.start()
    return secret.withPointer { bytes in
        SecretBytes(count: 32) { hash in
            _ = crypto_hash_sha256(
                hash.baseAddress!.assumingMemoryBound(to: UInt8.self), bytes, UInt64(secret.count))
        }
    }
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
