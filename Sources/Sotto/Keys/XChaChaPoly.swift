import CSodium

/// XChaCha20-Poly1305 with the nonce before the box: nonce (24 bytes) ‖ ciphertext ‖ tag (16 bytes).
enum XChaChaPoly {
    static let nonceBytes = Int(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES)
    /// The bytes of a box beside the message.
    static let overhead = nonceBytes + Int(crypto_aead_xchacha20poly1305_ietf_ABYTES)

    /// Encrypts a message under a key of 32 bytes.
    static func seal(
        _ message: [UInt8], authenticating data: [UInt8], nonce: [UInt8] = randomBytes(nonceBytes),
        key: UnsafePointer<UInt8>
    ) -> [UInt8] {
        let count = message.count + overhead - nonceBytes
        let box = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            crypto_aead_xchacha20poly1305_ietf_encrypt(
                buffer.baseAddress!, nil, message, UInt64(message.count), data, UInt64(data.count),
                nil, nonce, key)
            filled = count
        }
        return nonce + box
    }

    /// Returns the message of a box, or `nil` if it is not authentic.
    static func open(
        _ box: [UInt8], authenticating data: [UInt8], key: UnsafePointer<UInt8>
    ) -> [UInt8]? {
        guard box.count >= overhead else { return nil }
        let (nonce, sealed) = (Array(box.prefix(nonceBytes)), Array(box.dropFirst(nonceBytes)))
        var isAuthentic = false
        let message = [UInt8](unsafeUninitializedCapacity: box.count - overhead) { buffer, filled in
            isAuthentic =
                crypto_aead_xchacha20poly1305_ietf_decrypt(
                    buffer.baseAddress, nil, nil, sealed, UInt64(sealed.count), data,
                    UInt64(data.count), nonce, key) == 0
            filled = isAuthentic ? box.count - overhead : 0
        }
        return isAuthentic ? message : nil
    }
}
