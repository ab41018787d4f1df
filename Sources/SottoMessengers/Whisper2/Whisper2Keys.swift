public import Sotto

/// The secret keys of a Whisper2 account, all derived from one BIP 39 sentence:
///
/// | key | HKDF-SHA256(seed, salt `whisper`, info …, 32) |
/// |---|---|
/// | X25519, opens messages | `whisper/enc` |
/// | Ed25519, signs messages and answers challenges | `whisper/sign` |
/// | secretbox, seals the backup of the contacts | `whisper/contacts` |
public final class Whisper2Keys: Sendable {
    /// The rule that derives the X25519 secret from its seed. The project's clients and its server disagree.
    public enum SecretRule: Sendable, CaseIterable {
        /// The seed unchanged, as in both clients.
        case clients
        /// The first half of the seed's SHA-512, which is libsodium's `crypto_box_seed_keypair`. The server's test
        /// vector uses it, and no client does.
        case serverVector
    }

    private let secret: SecretBytes
    private let contacts: SecretBytes
    /// The 32-byte X25519 public key that messages are encrypted to.
    public let encryptionKey: [UInt8]
    /// The Ed25519 key that signs messages.
    let signing: SigningKey
    /// The 32-byte Ed25519 public key.
    public var signingKey: [UInt8] { signing.publicKey }

    /// Derives the keys of a sentence. `passphrase` must be in NFKD; the apps use none.
    public init(mnemonic: Mnemonic, passphrase: String = "", rule: SecretRule = .clients) {
        let seed = mnemonic.seed(passphrase: passphrase)
        func key(_ info: String) -> SecretBytes {
            hkdfSHA256(seed, salt: Array("whisper".utf8), info: info)
        }
        signing = SigningKey(seed: key("whisper/sign"))
        contacts = key("whisper/contacts")
        let encryptionSeed = key("whisper/enc")
        secret =
            switch rule {
            case .clients: encryptionSeed
            case .serverVector: sha512Half(encryptionSeed)
            }
        encryptionKey = X25519.publicKey(of: secret)
    }

    /// Returns the account's public keys with an id.
    public func contact(_ id: WhisperID) -> Whisper2Contact {
        Whisper2Contact(id: id, encryptionKey: encryptionKey, signingKey: signingKey)
    }

    /// Returns the key of boxes to or from `publicKey` (32 bytes), or `nil` if it has low order.
    func sharedKey(_ publicKey: [UInt8]) -> SecretBytes? { NaClBox.sharedKey(secret, publicKey) }

    /// Lends the key of the contacts backup, 32 bytes.
    func withContactsKey<T>(_ body: (borrowing SecretBytes) -> T) -> T { body(contacts) }
}

/// Returns the first 32 bytes of a secret's SHA-512.
private func sha512Half(_ secret: borrowing SecretBytes) -> SecretBytes {
    var seed = secret.withBytes { Array($0) }
    defer { wipe(&seed) }
    var hash = sha512(seed)
    defer { wipe(&hash) }
    return SecretBytes(copying: hash[..<32])
}

extension Identity {
    /// Returns the Whisper2 account of the same words, by default under the clients' rule.
    public func whisper2Keys(
        rule: Whisper2Keys.SecretRule = .clients
    ) throws(MnemonicError) -> Whisper2Keys {
        Whisper2Keys(mnemonic: try mnemonic(), passphrase: wordsPassphrase(), rule: rule)
    }
}
