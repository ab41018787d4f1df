import CSodium

/// NaCl's authenticated boxes: XSalsa20-Poly1305 under a shared key, or under a key from X25519.
///
/// The layout is that of `crypto_box_easy`: tag (16 bytes) ‖ ciphertext. Nonces have 24 bytes.
package enum NaClBox {
    /// Encrypts `message` under a 32-byte key.
    package static func seal(_ message: [UInt8], nonce: [UInt8], key: borrowing SecretBytes)
        -> [UInt8]
    {
        precondition(nonce.count == 24 && key.count == 32)
        var box = [UInt8](repeating: 0, count: message.count + 16)
        _ = key.withPointer {
            crypto_secretbox_easy(&box, message, UInt64(message.count), nonce, $0)
        }
        return box
    }

    /// Decrypts a box, or returns `nil` if its tag is wrong.
    package static func open(_ box: [UInt8], nonce: [UInt8], key: borrowing SecretBytes) -> [UInt8]?
    {
        precondition(nonce.count == 24 && key.count == 32)
        guard box.count >= 16 else { return nil }
        var message = [UInt8](repeating: 0, count: box.count - 16)
        let result = key.withPointer {
            crypto_secretbox_open_easy(&message, box, UInt64(box.count), nonce, $0)
        }
        return result == 0 ? message : nil
    }

    /// Decrypts a box into `message`, which has 16 bytes less. Returns `false` if its tag is wrong. The nonce has 24
    /// bytes.
    package static func open(
        _ box: UnsafeRawBufferPointer, nonce: UnsafeRawBufferPointer, key: borrowing SecretBytes,
        into message: UnsafeMutableRawBufferPointer
    ) -> Bool {
        precondition(nonce.count == 24 && key.count == 32 && box.count == message.count + 16)
        return key.withPointer {
            crypto_secretbox_open_easy(
                message.baseAddress?.assumingMemoryBound(to: UInt8.self),
                box.baseAddress!.assumingMemoryBound(to: UInt8.self), UInt64(box.count),
                nonce.baseAddress!.assumingMemoryBound(to: UInt8.self), $0) == 0
        }
    }

    /// Returns the key that `crypto_box` derives from a secret and the peer's public key (`crypto_box_beforenm`), or
    /// `nil` for a public key of low order.
    package static func sharedKey(_ secret: borrowing SecretBytes, _ publicKey: [UInt8])
        -> SecretBytes?
    {
        precondition(secret.count == 32 && publicKey.count == 32)
        var valid = false
        let key = SecretBytes(count: 32) { memory in
            valid =
                secret.withPointer {
                    crypto_box_beforenm(
                        memory.baseAddress!.assumingMemoryBound(to: UInt8.self), publicKey, $0)
                } == 0
        }
        guard valid else { return nil }
        return key
    }
}
