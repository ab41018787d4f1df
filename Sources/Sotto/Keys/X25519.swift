import CSodium

/// X25519 (RFC 7748 §5). It refuses the all-zero shared secret.
package enum X25519 {
    /// Returns the 32-byte public key of a 32-byte secret.
    package static func publicKey(of secret: borrowing SecretBytes) -> [UInt8] {
        precondition(secret.count == 32)
        var result = [UInt8](repeating: 0, count: 32)
        _ = secret.withPointer { crypto_scalarmult_curve25519_base(&result, $0) }
        wipeStack()
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
        wipeStack()
        guard valid else { return nil }
        return shared
    }

    /// Whether a 32-byte public key has low order, so that every shared secret with it is all zeros. The most significant
    /// bit does not count (RFC 7748 §5).
    package static func isLowOrder(_ publicKey: [UInt8]) -> Bool {
        precondition(publicKey.count == 32)
        var key = publicKey
        key[31] &= 0x7F
        return lowOrder.contains(key)
    }

    /// The u-coordinates of the points of low order on the curve and its twist, in all their encodings: 0, 1, the two of
    /// order 8, p - 1, p, and p + 1.
    private static let lowOrder: Set<[UInt8]> = {
        let ofOrder8 = [
            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
            "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        ]
        var points = Set(ofOrder8.compactMap { bytes(hex: $0) })
        for first in [0, 1] as [UInt8] { points.insert([first] + [UInt8](repeating: 0, count: 31)) }
        for first in [0xEC, 0xED, 0xEE] as [UInt8] {
            points.insert([first] + [UInt8](repeating: 0xFF, count: 30) + [0x7F])
        }
        return points
    }()
}
