import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// AES-256-GCM (NIST SP 800-38D) with a 32-byte key: nonce (12 bytes) ‖ ciphertext ‖ tag (16).
enum AESGCM {
    static let nonceSize = 12
    static let tagSize = 16
    /// The number of bytes that encryption adds to a message.
    static let overhead = nonceSize + tagSize

    /// Encrypts `message`, by default with a random nonce.
    static func seal(
        _ message: some DataProtocol, authenticating data: [UInt8] = [], nonce: [UInt8]? = nil,
        key: SymmetricKey
    ) -> [UInt8] {
        precondition(key.bitCount == 256)
        do {
            let box = try AES.GCM.seal(
                message, using: key,
                nonce: try nonce.map { try AES.GCM.Nonce(data: $0) } ?? AES.GCM.Nonce(),
                authenticating: data)
            return Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
        } catch {
            preconditionFailure("AES-256-GCM refuses a 32-byte key or a 12-byte nonce")
        }
    }

    /// Decrypts the bytes of ``seal(_:authenticating:nonce:key:)``, or returns `nil` if the tag is wrong.
    static func open(
        _ combined: [UInt8], authenticating data: [UInt8] = [], key: SymmetricKey
    ) -> [UInt8]? {
        decrypt(combined, data, key).map { Array($0) }
    }

    /// Decrypts a secret message as ``open(_:authenticating:key:)`` does.
    static func openSecret(
        _ combined: [UInt8], authenticating data: [UInt8] = [], key: SymmetricKey
    ) -> SecretBytes? {
        guard var message = decrypt(combined, data, key) else { return nil }
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
