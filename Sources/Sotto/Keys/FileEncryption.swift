#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A reason why a file cannot be encrypted or decrypted.
package enum FileEncryptionError: Error, Sendable, Equatable {
    /// The file is longer than ``FileEncryption/limit``, in bytes.
    case tooLong(limit: Int)
    /// The key is wrong, the file was changed, or a chunk is missing.
    case authentication
}

/// The file encryption of Kecalek and Message Flow: the whole file is one `nonce(12) ‖ AES-256-GCM ‖ tag(16)` under its
/// own key, which is sent in a message. The file is sent in chunks that are not authenticated separately.
package enum FileEncryption {
    /// The longest file, 1 GiB. It is held in memory, because no part is authentic before its end.
    package static let limit = 1 << 30
    /// The number of bytes that encryption adds to a file.
    package static let overhead = AESGCM.overhead

    /// Encrypts a file under its key. Throws ``FileEncryptionError/tooLong(limit:)``.
    package static func seal(
        _ file: [UInt8], key: borrowing SecretBytes
    ) throws(FileEncryptionError) -> [UInt8] {
        guard file.count <= limit else { throw .tooLong(limit: limit) }
        return AESGCM.seal(file, key: key)
    }

    /// Decrypts a file that the caller has assembled from its chunks.
    package static func open(
        _ sealed: [UInt8], key: borrowing SecretBytes
    ) throws(FileEncryptionError) -> [UInt8] {
        guard sealed.count <= limit + overhead else { throw .tooLong(limit: limit) }
        guard let file = AESGCM.open(sealed, key: key) else { throw .authentication }
        return file
    }

}
