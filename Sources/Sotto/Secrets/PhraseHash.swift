import CSodium

/// A reason why a phrase gives no key, or a text cannot be opened.
public enum PhraseError: Error, Sendable, Equatable {
    /// The phrase is not UTF-8.
    case phrase
    /// 256 MiB of memory are not available.
    case memory
    /// The text is malformed or damaged, or was encrypted with another phrase.
    case authentication
}

/// The slow hash of a phrase: Argon2id (RFC 9106) of version 1.3, 256 MiB, 3 passes, 1 lane.
package enum PhraseHash {
    /// The length of a salt in bytes.
    package static let saltBytes = 16
    static let memory = 256 << 20
    static let passes: UInt64 = 3

    /// Returns 32 bytes of NFC(phrase) and a salt. It takes 256 MiB and about half a second.
    ///
    /// Canonically equivalent phrases give the same bytes. Throws ``PhraseError/phrase`` or ``PhraseError/memory``.
    package static func root(
        of phrase: borrowing SecretBytes, salt: [UInt8]
    ) throws(PhraseError) -> SecretBytes {
        precondition(salt.count == saltBytes)
        guard let text = phrase.withBytes({ String(validating: $0, as: UTF8.self) }) else {
            throw .phrase
        }
        let phrase = SecretBytes(copying: nfc(text).utf8)
        return try SecretBytes(count: 32) { (root) throws(PhraseError) in
            let result = phrase.withBytes { bytes in
                crypto_pwhash(
                    root.baseAddress!.assumingMemoryBound(to: UInt8.self), UInt64(root.count),
                    bytes.baseAddress!.assumingMemoryBound(to: CChar.self), UInt64(bytes.count),
                    salt, passes, memory, crypto_pwhash_ALG_ARGON2ID13)
            }
            guard result == 0 else { throw .memory }
        }
    }
}
