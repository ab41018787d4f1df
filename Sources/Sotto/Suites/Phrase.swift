import CSodium

/// Why a phrase gives no key, or a text is not opened.
public enum PhraseError: Error, Sendable, Equatable {
    /// The phrase is not UTF-8.
    case phrase
    /// There are not 256 MiB of memory to be had.
    case memory
    /// Another phrase, or not a text of this form, or damaged.
    case authentication
}

/// What a shared phrase gives in the form `phrase/v2`:
///
///     root = Argon2id(v1.3, NFC(phrase), salt SHA-256("phrase/v2/salt")[..16], 256 MiB, 3 passes, 1 lane, 32)
///     id   = HKDF-SHA256(root, info "phrase/v2/id", 32)      public: where to leave texts
///     key  = HKDF-SHA256(root, info "phrase/v2/key", 32)
///     text = "v2." ‖ base64url(nonce(12) ‖ AES-256-GCM(key, nonce, plaintext, AAD id) ‖ tag(16))
///
/// The id tells nothing of the key. The salt is the same for all, because the phrase is all that two people share: its
/// strength must come from its length. There is no sender, no order and no forward secrecy; random nonces
/// limit a phrase to 2³² texts (NIST SP 800-38D §8.3).
public final class PhraseKey: Sendable {
    /// The version's mark, which begins each text.
    public static let mark = "v2."
    static let memory = 256 << 20
    static let passes: UInt64 = 3

    /// Names the chat, 32 bytes.
    public let id: [UInt8]
    private let key: SecretBytes

    /// Derives id and key, which takes 256 MiB and about half a second.
    ///
    /// Phrases that are canonically equivalent are the same. Throws ``PhraseError/phrase`` or ``PhraseError/memory``.
    public convenience init(phrase: borrowing SecretBytes) throws(PhraseError) {
        guard let text = phrase.withBytes({ String(validating: $0, as: UTF8.self) }) else {
            throw .phrase
        }
        self.init(root: try Self.root(of: SecretBytes(copying: nfc(text).utf8)))
    }

    package init(root: borrowing SecretBytes) {
        id = hkdfSHA256(root, info: "phrase/v2/id").withBytes { Array($0) }
        key = hkdfSHA256(root, info: "phrase/v2/key")
    }

    static func root(of phrase: borrowing SecretBytes) throws(PhraseError) -> SecretBytes {
        let salt = Array(sha256(Array("phrase/v2/salt".utf8))[..<16])
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

    /// Encrypts a text.
    public func seal(_ plaintext: [UInt8]) -> String {
        Self.mark
            + Base64.url.encode(AESGCM.seal(plaintext, authenticating: id, key: key.symmetricKey()))
    }

    /// The plaintext of a text. Throws ``PhraseError/authentication``.
    public func open(_ text: String) throws(PhraseError) -> [UInt8] {
        guard text.utf8.starts(with: Self.mark.utf8),
            let combined = Base64.url.decode(
                utf8: Array(text.utf8.dropFirst(Self.mark.utf8.count))[...]),
            let plaintext = AESGCM.open(combined, authenticating: id, key: key.symmetricKey())
        else { throw .authentication }
        return plaintext
    }
}
