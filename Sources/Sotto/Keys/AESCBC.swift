import Crypto
import CryptoExtras

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// AES-256-CBC with PKCS #7 padding (NIST SP 800-38A §6.2, RFC 5652 §6.3): a 32-byte key, a 16-byte IV.
///
/// It is not authenticated: an attacker who changes the IV changes the first block. It is only for formats of other
/// programs.
package enum AESCBC {
    /// The length of a block and of an IV in bytes.
    package static let blockSize = 16

    /// Encrypts `message`. The result is 1 to 16 bytes longer, a multiple of 16.
    package static func encrypt(_ message: [UInt8], iv: [UInt8], key: borrowing SecretBytes)
        -> [UInt8]
    {
        precondition(key.count == 32 && iv.count == blockSize)
        do {
            return Array(
                try AES._CBC.encrypt(
                    message, using: key.symmetricKey(), iv: AES._CBC.IV(ivBytes: iv)))
        } catch {
            preconditionFailure("AES-256-CBC refuses a 32-byte key")
        }
    }

    /// Decrypts `ciphertext`, or returns `nil` if its length or its padding is wrong.
    package static func decrypt(_ ciphertext: [UInt8], iv: [UInt8], key: borrowing SecretBytes)
        -> [UInt8]?
    {
        guard let opened = open(ciphertext, iv: iv, key: key), opened.isPadded else { return nil }
        return opened.message
    }

    /// The result of a decryption. If the padding is wrong, the message is all of the blocks, so that the caller can
    /// still hash it and return one error.
    package struct Opened {
        package let message: [UInt8]
        package let isPadded: Bool
    }

    /// Decrypts whole blocks without checking the padding, or returns `nil` for a length that is not a multiple of 16. The
    /// key of another program may have 16 or 24 bytes too.
    static func openBlocks(
        _ ciphertext: [UInt8], iv: [UInt8], key: borrowing SecretBytes
    ) -> [UInt8]? {
        precondition([16, 24, 32].contains(key.count) && iv.count == blockSize)
        guard ciphertext.count.isMultiple(of: blockSize),
            let blocks = try? AES._CBC.decrypt(
                ciphertext, using: key.symmetricKey(), iv: AES._CBC.IV(ivBytes: iv),
                noPadding: true)
        else { return nil }
        return Array(blocks)
    }

    /// Decrypts and checks the padding without a branch on it, or returns `nil` for a length that is not a positive
    /// multiple of 16.
    package static func open(_ ciphertext: [UInt8], iv: [UInt8], key: borrowing SecretBytes)
        -> Opened?
    {
        guard !ciphertext.isEmpty, let bytes = openBlocks(ciphertext, iv: iv, key: key) else {
            return nil
        }
        let length = Int(bytes[bytes.count - 1])
        // Returns all ones if `a` is less than `b`, else zero.
        func less(_ a: Int, _ b: Int) -> Int { (a - b) >> (Int.bitWidth - 1) }
        var wrong = less(length, 1) | less(blockSize, length)
        for place in 1...blockSize {
            wrong |= less(place - 1, length) & (Int(bytes[bytes.count - place]) ^ length)
        }
        let isPadded = wrong == 0
        return Opened(
            message: Array(bytes.prefix(bytes.count - (isPadded ? length : 0))), isPadded: isPadded)
    }
}
