import CSodium

/// X25519 (RFC 7748 §5). It refuses the all-zero shared secret.
package enum X25519 {
    /// Returns the 32-byte public key of a 32-byte secret.
    package static func publicKey(of secret: borrowing SecretBytes) -> [UInt8] {
        precondition(secret.count == 32)
        var result = [UInt8](repeating: 0, count: 32)
        _ = secret.withPointer { crypto_scalarmult_curve25519_base(&result, $0) }
        return result
    }

    /// Returns the 32-byte shared secret, or `nil` if it is all zeros because `publicKey` has low order.
    package static func sharedSecret(
        _ secret: borrowing SecretBytes, _ publicKey: [UInt8]
    ) -> SecretBytes? {
        precondition(secret.count == 32 && publicKey.count == 32)
        var valid = false
        let shared = SecretBytes(count: 32) { memory in
            valid =
                secret.withPointer {
                    crypto_scalarmult_curve25519(
                        memory.baseAddress!.assumingMemoryBound(to: UInt8.self), $0, publicKey)
                } == 0
        }
        guard valid else { return nil }
        return shared
    }

    /// Whether a 32-byte public key has low order, so that every shared secret with it is all zeros.
    package static func isLowOrder(_ publicKey: [UInt8]) -> Bool {
        let secret = SecretBytes(randomCount: 32)
        return sharedSecret(secret, publicKey) == nil
    }
}
