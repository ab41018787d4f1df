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
        precondition(key.bitCount == 256)
        do {
            let box = try AES.GCM.seal(
                message, using: key,
                nonce: try nonce.map { try AES.GCM.Nonce(data: $0) } ?? AES.GCM.Nonce(),
                authenticating: data)
            if let combined = box.combined { return Array(combined) }
        } catch {}
        preconditionFailure("AES-256-GCM refuses a 32-byte key or a 12-byte nonce")
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
        decrypt(combined, data, key).map { Array($0) }
    }

    /// Decrypts a secret message as `open` does.
    package static func openSecret(
        _ combined: [UInt8], authenticating data: [UInt8] = [], key: borrowing SecretBytes
    ) -> SecretBytes? {
        guard var message = decrypt(combined, data, key.symmetricKey()) else { return nil }
        defer { message.resetBytes(in: message.startIndex..<message.endIndex) }
        return SecretBytes(copying: message)
    }

    private static func decrypt(
        _ combined: [UInt8], _ data: [UInt8], _ key: SymmetricKey
    ) -> Data? {
        precondition(key.bitCount == 256)
        guard let box = try? AES.GCM.SealedBox(combined: combined) else { return nil }
        return try? AES.GCM.open(box, using: key, authenticating: data)
    }
}

extension SecretBytes {
    /// Returns the key in swift-crypto's type, which wipes its copy.
    borrowing func symmetricKey() -> SymmetricKey { withBytes { SymmetricKey(data: $0) } }
}
