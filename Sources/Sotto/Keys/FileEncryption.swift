#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Why a file is not encrypted or decrypted.
public enum FileEncryptionError: Error, Sendable, Equatable {
    /// The file is longer than ``FileEncryption/limit``.
    case tooLong(limit: Int)
    /// Another key, or the file was changed, or a chunk is missing.
    case authentication
}

/// A file of the messengers: all of it is one `nonce(12) ‖ AES-256-GCM ‖ tag(16)` under a key of its own, which travels
/// in a message. The chunks in which it travels mean nothing and protect nothing.
public enum FileEncryption {
    /// The longest file, 1 GiB: it is held whole, because nothing of it is authentic before its end.
    public static let limit = 1 << 30
    /// The length of a chunk, 24 KiB.
    public static let chunkSize = 24 << 10

    /// A fresh key, 32 bytes, for one file.
    public static func newKey() -> SecretBytes { SecretBytes(randomCount: 32) }

    /// Encrypts a file under its key. Throws ``FileEncryptionError/tooLong(limit:)``.
    public static func seal(
        _ file: [UInt8], key: borrowing SecretBytes
    ) throws(FileEncryptionError) -> [UInt8] {
        guard file.count <= limit else { throw .tooLong(limit: limit) }
        return AESGCM.seal(file, key: key.symmetricKey())
    }

    /// Decrypts a file, whose chunks the caller has put together.
    public static func open(
        _ sealed: [UInt8], key: borrowing SecretBytes
    ) throws(FileEncryptionError) -> [UInt8] {
        guard sealed.count <= limit + AESGCM.overhead else { throw .tooLong(limit: limit) }
        guard let file = AESGCM.open(sealed, key: key.symmetricKey()) else { throw .authentication }
        return file
    }

    /// The chunks of an encrypted file in their order: ``chunkSize`` bytes each, the last 1 to that.
    public static func chunks(of sealed: [UInt8]) -> [ArraySlice<UInt8>] {
        stride(from: 0, to: sealed.count, by: chunkSize).map {
            sealed[$0..<min($0 + chunkSize, sealed.count)]
        }
    }
}
