import Crypto
import CryptoExtras

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// AES-256-CBC with the padding of PKCS #7 (NIST SP 800-38A §6.2, RFC 5652 §6.3): key 32 bytes, IV 16.
///
/// It authenticates nothing: whoever changes the IV changes the first block. It is here for formats that
/// others have laid down.
public enum AESCBC {
    /// The length of a block and of an IV.
    public static let blockSize = 16

    /// Encrypts `message`; the result is 1 to 16 bytes longer, a multiple of 16.
    public static func encrypt(_ message: [UInt8], iv: [UInt8], key: borrowing SecretBytes)
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

    /// Decrypts `ciphertext`; `nil` unless its length and its padding are right.
    public static func decrypt(_ ciphertext: [UInt8], iv: [UInt8], key: borrowing SecretBytes)
        -> [UInt8]?
    {
        guard let opened = open(ciphertext, iv: iv, key: key), opened.isPadded else { return nil }
        return opened.message
    }

    /// What was decrypted. Where the padding is wrong, the message is all of the blocks: the caller still has
    /// something to hash, and decides once.
    struct Opened {
        let message: [UInt8]
        let isPadded: Bool
    }

    /// Decrypts whole blocks, without a look at any padding; `nil` for a length that is no multiple of 16.
    static func openBlocks(
        _ ciphertext: [UInt8], iv: [UInt8], key: borrowing SecretBytes
    ) -> [UInt8]? {
        precondition(key.count == 32 && iv.count == blockSize)
        guard ciphertext.count.isMultiple(of: blockSize),
            let blocks = try? AES._CBC.decrypt(
                ciphertext, using: key.symmetricKey(), iv: AES._CBC.IV(ivBytes: iv),
                noPadding: true)
        else { return nil }
        return Array(blocks)
    }

    /// Decrypts and looks at the padding without a branch on it; `nil` for a length that is not a positive multiple
    /// of 16.
    static func open(_ ciphertext: [UInt8], iv: [UInt8], key: borrowing SecretBytes) -> Opened? {
        guard !ciphertext.isEmpty, let bytes = openBlocks(ciphertext, iv: iv, key: key) else {
            return nil
        }
        let length = Int(bytes[bytes.count - 1])
        // All ones where the first number is less than the second.
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
