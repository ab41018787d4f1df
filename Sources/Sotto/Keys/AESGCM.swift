import CSodium
package import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// AES-256-GCM (NIST SP 800-38D) with a 32-byte key: nonce (12 bytes) ‖ ciphertext ‖ tag (16).
package enum AESGCM {
    package static let nonceSize = 12
    package static let tagSize = 16
    /// The number of bytes that encryption adds to a message.
    package static let overhead = nonceSize + tagSize

    /// Encrypts `message`, by default with a random nonce. `key` has 32 bytes.
    package static func seal(
        _ message: [UInt8], authenticating data: [UInt8] = [], nonce: [UInt8]? = nil,
        key: borrowing SecretBytes
    ) -> [UInt8] {
        seal(message, authenticating: data, nonce: nonce, key: key.symmetricKey())
    }

    /// Encrypts a secret, without associated data. `key` has 32 bytes.
    package static func seal(
        secret: borrowing SecretBytes, nonce: [UInt8], key: borrowing SecretBytes
    ) -> [UInt8] {
        var message = secret.withBytes { Array($0) }
        defer { wipe(&message) }
        return seal(message, nonce: nonce, key: key)
    }

    package static func seal(
        _ message: [UInt8], authenticating data: [UInt8] = [], nonce: [UInt8]? = nil,
        key: SymmetricKey
    ) -> [UInt8] {
        precondition(key.bitCount == 256 && nonce.map { $0.count == nonceSize } ?? true)
        if wipesKey(message.count) {
            let nonce = nonce ?? publicRandomBytes(nonceSize)
            var combined = nonce + [UInt8](repeating: 0, count: message.count + tagSize)
            combined.withUnsafeMutableBufferPointer { combined in
                key.withUnsafeBytes { key in
                    _ = crypto_aead_aes256gcm_encrypt(
                        combined.baseAddress! + nonceSize, nil, message, UInt64(message.count),
                        data, UInt64(data.count), nil, nonce,
                        key.baseAddress!.assumingMemoryBound(to: UInt8.self))
                }
            }
            return combined
        }
        do {
            let box = try AES.GCM.seal(
                message, using: key,
                nonce: try nonce.map { try AES.GCM.Nonce(data: $0) } ?? AES.GCM.Nonce(),
                authenticating: data)
            if let combined = box.combined { return Array(combined) }
        } catch {}
        preconditionFailure("AES-256-GCM refuses a 32-byte key or a 12-byte nonce")
    }

    /// Whether libsodium encrypts a message of `count` bytes: it wipes the key schedule, which swift-crypto leaves in freed
    /// memory. It needs the processor's instructions for AES, and is slower for long messages.
    static func wipesKey(_ count: Int) -> Bool {
        Sodium.start()
        return count <= 1 << 20 && crypto_aead_aes256gcm_is_available() == 1
    }

    /// Decrypts the bytes of `seal`, or returns `nil` if the tag is wrong. `key` has 32 bytes.
    package static func open(
        _ combined: [UInt8], authenticating data: [UInt8] = [], key: borrowing SecretBytes
    ) -> [UInt8]? {
        open(combined, authenticating: data, key: key.symmetricKey())
    }

    package static func open(
        _ combined: [UInt8], authenticating data: [UInt8] = [], key: SymmetricKey
    ) -> [UInt8]? {
        decrypt(combined, data, key)
    }

    /// Decrypts a secret message as `open` does.
    package static func openSecret(
        _ combined: [UInt8], authenticating data: [UInt8] = [], key: borrowing SecretBytes
    ) -> SecretBytes? {
        guard var message = decrypt(combined, data, key.symmetricKey()) else { return nil }
        defer { wipe(&message) }
        return SecretBytes(copying: message)
    }

    private static func decrypt(
        _ combined: [UInt8], _ data: [UInt8], _ key: SymmetricKey
    ) -> [UInt8]? {
        precondition(key.bitCount == 256)
        guard combined.count >= overhead else { return nil }
        if wipesKey(combined.count) {
            var message = [UInt8](repeating: 0, count: combined.count - overhead)
            let result = combined.withUnsafeBufferPointer { combined in
                key.withUnsafeBytes { key in
                    crypto_aead_aes256gcm_decrypt(
                        &message, nil, nil, combined.baseAddress! + nonceSize,
                        UInt64(combined.count - nonceSize), data, UInt64(data.count),
                        combined.baseAddress!,
                        key.baseAddress!.assumingMemoryBound(to: UInt8.self))
                }
            }
            return result == 0 ? message : nil
        }
        guard let box = try? AES.GCM.SealedBox(combined: combined),
            var message = try? AES.GCM.open(box, using: key, authenticating: data)
        else { return nil }
        defer { message.resetBytes(in: message.startIndex..<message.endIndex) }
        return Array(message)
    }
}

extension SecretBytes {
    /// Returns the key in swift-crypto's type, which wipes its copy.
    borrowing func symmetricKey() -> SymmetricKey { withBytes { SymmetricKey(data: $0) } }

    /// Lends the bytes as `Data` without a copy, for swift-crypto. `body` must not keep them.
    borrowing func withData<T>(_ body: (Data) throws -> T) throws -> T {
        try withBytes { bytes throws in
            try body(
                Data(
                    bytesNoCopy: UnsafeMutableRawPointer(mutating: bytes.baseAddress!),
                    count: bytes.count, deallocator: .none))
        }
    }
}
