import CSodium

/// ChaCha20-Poly1305 (RFC 8439): a 32-byte key, a 12-byte nonce, and a 16-byte tag after the ciphertext.
enum ChaChaPoly {
    static let tagSize = 16

    /// Encrypts `message` into `out`, which may be the start of `message` and has space for 16 more bytes.
    static func seal(
        _ message: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer, nonce: [12 of UInt8],
        key: borrowing SecretBytes
    ) {
        withUnsafeBytes(of: nonce) { nonce in
            _ = key.withPointer {
                crypto_aead_chacha20poly1305_ietf_encrypt(
                    out.assumingMemoryBound(to: UInt8.self), nil,
                    message.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    UInt64(message.count), nil, 0, nil,
                    nonce.baseAddress!.assumingMemoryBound(to: UInt8.self), $0)
            }
        }
    }

    /// Decrypts `box` into `out`, which has space for 16 fewer bytes. Returns false and writes nothing if the tag is
    /// wrong.
    static func open(
        _ box: UnsafeRawBufferPointer, into out: UnsafeMutableRawPointer, nonce: [12 of UInt8],
        key: borrowing SecretBytes
    ) -> Bool {
        guard box.count >= tagSize else { return false }
        return withUnsafeBytes(of: nonce) { nonce in
            key.withPointer {
                crypto_aead_chacha20poly1305_ietf_decrypt(
                    out.assumingMemoryBound(to: UInt8.self), nil, nil,
                    box.baseAddress!.assumingMemoryBound(to: UInt8.self), UInt64(box.count), nil, 0,
                    nonce.baseAddress!.assumingMemoryBound(to: UInt8.self), $0)
            } == 0
        }
    }

    /// Encrypts a short secret under a key that is used once, with a nonce of zeros.
    static func sealOnce(_ message: borrowing SecretBytes, key: borrowing SecretBytes) -> [UInt8] {
        var box = [UInt8](repeating: 0, count: message.count + tagSize)
        box.withUnsafeMutableBytes { out in
            message.withBytes {
                seal($0, into: out.baseAddress!, nonce: [12 of UInt8](repeating: 0), key: key)
            }
        }
        return box
    }

    /// Decrypts the bytes of ``sealOnce(_:key:)``, or returns `nil` if the tag is wrong.
    static func openOnce(_ box: [UInt8], key: borrowing SecretBytes) -> SecretBytes? {
        guard box.count >= tagSize else { return nil }
        var valid = false
        let message = SecretBytes(count: box.count - tagSize) { out in
            valid = box.withUnsafeBytes {
                open($0, into: out.baseAddress!, nonce: [12 of UInt8](repeating: 0), key: key)
            }
        }
        guard valid else { return nil }
        return message
    }
}
