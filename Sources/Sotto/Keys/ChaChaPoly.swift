import CSodium

/// ChaCha20-Poly1305 (RFC 8439): key 32 bytes, nonce 12, tag 16 behind the ciphertext.
enum ChaChaPoly {
    static let tagSize = 16

    /// Seals `message` into `out`, which has room for 16 bytes more.
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

    /// Opens `box` into `out`, which has room for 16 bytes less; false, with nothing written, unless the tag
    /// is right.
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

    /// Seals a short secret under a key that is used once, with a nonce of zeros.
    static func sealOnce(_ message: borrowing SecretBytes, key: borrowing SecretBytes) -> [UInt8] {
        var box = [UInt8](repeating: 0, count: message.count + tagSize)
        box.withUnsafeMutableBytes { out in
            message.withBytes {
                seal($0, into: out.baseAddress!, nonce: [12 of UInt8](repeating: 0), key: key)
            }
        }
        return box
    }

    /// Opens what ``sealOnce(_:key:)`` made; `nil` unless the tag is right.
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
