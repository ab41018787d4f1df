/// The keys that a shared phrase gives in the form `phrase/v2`:
///
///     root = Argon2id(v1.3, NFC(phrase), salt SHA-256("phrase/v2/salt")[..16], 256 MiB, 3 passes, 1 lane, 32)
///     id   = HKDF-SHA256(root, info "phrase/v2/id", 32)      public: the name of the chat
///     key  = HKDF-SHA256(root, info "phrase/v2/key", 32)
///     text = "v2." ‖ base64url(nonce(12) ‖ AES-256-GCM(key, nonce, plaintext, AAD id) ‖ tag(16))
///
/// The id does not reveal the key. The salt is the same for all phrases, because the members share only the phrase: its
/// strength must come from its length. The form has no sender, no order and no forward secrecy; random nonces limit a
/// phrase to 2³² texts (NIST SP 800-38D §8.3).
public final class PhraseKey: Sendable {
    /// The version prefix of each text.
    public static let mark = "v2."

    /// The id of the chat, 32 bytes.
    public let id: [UInt8]
    private let key: SecretBytes

    /// Derives the id and the key, which takes 256 MiB and about half a second.
    ///
    /// Canonically equivalent phrases give the same keys. Throws ``PhraseError/phrase`` or ``PhraseError/memory``.
    public convenience init(phrase: borrowing SecretBytes) throws(PhraseError) {
        self.init(root: try Self.root(of: phrase))
    }

    package init(root: borrowing SecretBytes) {
        id = hkdfSHA256(root, info: "phrase/v2/id").withBytes { Array($0) }
        key = hkdfSHA256(root, info: "phrase/v2/key")
    }

    static func root(of phrase: borrowing SecretBytes) throws(PhraseError) -> SecretBytes {
        try PhraseHash.root(
            of: phrase, salt: Array(sha256(Array("phrase/v2/salt".utf8))[..<PhraseHash.saltBytes]))
    }

    /// Encrypts a text.
    public func seal(_ plaintext: [UInt8]) -> String {
        Self.mark
            + Base64.url.encode(AESGCM.seal(plaintext, authenticating: id, key: key))
    }

    /// Returns the plaintext of a text. Throws ``PhraseError/authentication``.
    public func open(_ text: String) throws(PhraseError) -> [UInt8] {
        guard text.utf8.starts(with: Self.mark.utf8),
            let combined = Base64.url.decode(
                utf8: Array(text.utf8.dropFirst(Self.mark.utf8.count))[...]),
            let plaintext = AESGCM.open(combined, authenticating: id, key: key)
        else { throw .authentication }
        return plaintext
    }
}
