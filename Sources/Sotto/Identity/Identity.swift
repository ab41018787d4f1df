/// Why a record is not an identity.
public enum IdentityError: Error, Sendable, Equatable {
    /// A member is missing, or not of its form.
    case member(String)
    /// The record is of a later version.
    case version(Int64)
    /// The keys, the words and the id in the record do not belong together.
    case inconsistent
}

/// Somebody's secret keys, all derived from one BIP 39 sentence.
///
/// | key | HKDF-SHA256(seed, salt `modern/v1`, info …, 32) |
/// |---|---|
/// | Ed25519, signs; its public key is the id | `sign` |
/// | X25519, an age identity | `age-x25519` |
/// | X-Wing (ML-KEM-768 + X25519), a post-quantum age identity | `age-pq` |
public final class Identity: Sendable {
    /// What the owner calls themselves; it proves nothing. May be empty.
    public let name: String
    /// Empty for an identity that came from a key alone.
    private let words: SecretBytes
    private let wordlist: Wordlist
    /// BIP 39's passphrase, without which the words give other keys; as a rule empty.
    private let passphrase: SecretBytes
    /// The name of the owner's Whisper2 account, which its server gave.
    public let whisperID: WhisperID?
    /// The address of the relay where the owner fetches mail, such as `tls://relay.example.org:7667`; `nil` if none is
    /// chosen. Cards name it.
    public let relay: String?
    /// The PKCS #8 PEM of the RSA key for Mercurio, which is not in the words; empty where there is none.
    private let rsa: SecretBytes
    /// The Ed25519 signing key.
    public let signingKey: SigningKey
    /// The classic age identity.
    public let ageKey: AgeX25519Identity
    /// The post-quantum age identity.
    public let hybridKey: AgeHybridIdentity

    /// The id: `05` and the signing key's public half.
    public var id: SessionID { SessionID(publicKey: signingKey.publicKey) }

    /// The identity of a sentence, and what the words do not hold. `passphrase` is BIP 39's, in NFKD, as ASCII is.
    public init(
        mnemonic: Mnemonic, name: String, passphrase: String = "", whisperID: WhisperID? = nil,
        rsaKey: MercurioPrivateKey? = nil, relay: String? = nil
    ) {
        let seed = mnemonic.seed(passphrase: passphrase)
        self.name = name
        self.relay = relay
        self.whisperID = whisperID
        rsa = rsaKey?.pem() ?? SecretBytes(copying: [])
        words = SecretBytes(copying: mnemonic.sentenceText().utf8)
        wordlist = mnemonic.wordlist
        self.passphrase = SecretBytes(copying: passphrase.utf8)
        signingKey = SigningKey(seed: Self.key(seed, "sign"))
        ageKey = AgeX25519Identity(secret: Self.key(seed, "age-x25519"))
        hybridKey = AgeHybridIdentity(seed: Self.key(seed, "age-pq"))
    }

    /// The identity of a signing key's 32-byte seed, as Kecalek's key files hold one. The age keys come from that
    /// seed as they come from a sentence's; those of the words that the seed once came from are not restored.
    public init(
        seed: borrowing SecretBytes, name: String, whisperID: WhisperID? = nil,
        rsaKey: MercurioPrivateKey? = nil, relay: String? = nil
    ) {
        precondition(seed.count == 32)
        self.name = name
        self.relay = relay
        self.whisperID = whisperID
        rsa = rsaKey?.pem() ?? SecretBytes(copying: [])
        words = SecretBytes(copying: [])
        wordlist = .english
        passphrase = SecretBytes(copying: [])
        signingKey = SigningKey(seed: seed.withBytes { SecretBytes(copying: $0) })
        ageKey = AgeX25519Identity(secret: Self.key(seed, "age-x25519"))
        hybridKey = AgeHybridIdentity(seed: Self.key(seed, "age-pq"))
    }

    private static func key(_ seed: borrowing SecretBytes, _ info: String) -> SecretBytes {
        hkdfSHA256(seed, salt: Array("modern/v1".utf8), info: info)
    }

    /// A key for one purpose of this installation, such as sealing its local state.
    public func derivedKey(info: String) -> SecretBytes {
        hkdfSHA256(signingSeed(), info: "sotto/" + info)
    }

    // MARK: The identity record

    /// The record that an identity file holds: one line of JSON, all of it secret.
    ///
    /// The keys stand beside the words so that a program starts without 2048 rounds of PBKDF2, and so that
    /// `age` can use the two age identities.
    public var record: JSONObject {
        JSONObject([
            ("v", .integer(1)), ("type", .string("identity")),
            ("name", name.isEmpty ? nil : .string(name)), ("id", .string(id.description)),
            ("words", Self.text(words)),
            ("language", hasWords ? .string(wordlist.rawValue) : nil),
            ("words_passphrase", Self.text(passphrase)),
            ("sign", .string(signingKey.withSeed { Base64.standard.encode(Array($0)) })),
            ("age", .string(ageKey.text())), ("pq", .string(hybridKey.text())),
            ("whisper2", whisperID.map { .string($0.description) }),
            ("rsa", Self.text(rsa)), ("relay", relay.map { .string($0) }),
        ])
    }

    private static func text(_ secret: borrowing SecretBytes) -> JSON? {
        if secret.count == 0 { return nil }
        return .string(secret.withBytes { String(decoding: $0, as: UTF8.self) })
    }

    /// Reads an identity record. The id is checked against the signing key; a record whose words give other
    /// keys is found by ``isConsistent()``, which costs milliseconds.
    public init(record: JSONObject) throws(IdentityError) {
        guard record["type"]?.string == "identity" else { throw .member("type") }
        guard let version = record["v"]?.integer else { throw .member("v") }
        guard version == 1 else { throw .version(version) }
        func text(_ name: String) throws(IdentityError) -> String {
            guard let value = record[name]?.string else { throw .member(name) }
            return value
        }
        name = record["name"]?.string ?? ""
        guard var seed = Base64.standard.decode(try text("sign")), seed.count == 32 else {
            throw .member("sign")
        }
        defer { wipe(&seed) }
        guard let age = AgeX25519Identity(try text("age")) else { throw .member("age") }
        guard let hybrid = AgeHybridIdentity(try text("pq")) else { throw .member("pq") }
        guard let wordlist = Wordlist(rawValue: record["language"]?.string ?? "english") else {
            throw .member("language")
        }
        self.wordlist = wordlist
        // An identity from a key alone has neither words nor their language.
        let isWordless = record["words"] == nil && record["language"] == nil
        words = SecretBytes(copying: isWordless ? "".utf8 : try text("words").utf8)
        passphrase = SecretBytes(
            copying: record["words_passphrase"] == nil ? "".utf8 : try text("words_passphrase").utf8
        )
        rsa = SecretBytes(copying: record["rsa"] == nil ? "".utf8 : try text("rsa").utf8)
        relay = record["relay"] == nil ? nil : try text("relay")
        if record["whisper2"] != nil {
            guard let id = WhisperID(try text("whisper2")) else { throw .member("whisper2") }
            whisperID = id
        } else {
            whisperID = nil
        }
        signingKey = SigningKey(seed: SecretBytes(copying: seed))
        ageKey = age
        hybridKey = hybrid
        guard SessionID(try text("id")) == id else { throw .inconsistent }
    }

    /// The words that restore the keys. They are read when they are asked for: looking them up in their list
    /// would cost every start of every program a millisecond.
    ///
    /// Throws ``MnemonicError/noWords`` for an identity that came from a key alone.
    public func mnemonic() throws(MnemonicError) -> Mnemonic {
        guard hasWords else { throw .noWords }
        return try Mnemonic(
            parsing: words.withBytes { String(decoding: $0, as: UTF8.self) }, wordlist: wordlist)
    }

    /// Whether there are words to restore it from.
    public var hasWords: Bool { words.count > 0 }

    /// Whether the words need BIP 39's passphrase too.
    public var hasWordsPassphrase: Bool { passphrase.count > 0 }

    /// BIP 39's passphrase, empty where there is none.
    func wordsPassphrase() -> String {
        passphrase.withBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// The RSA key for Mercurio; `nil` where there is none. Throws ``IdentityError/member(_:)`` for one that is
    /// damaged; it is read when it is asked for.
    public func rsaKey() throws(IdentityError) -> MercurioPrivateKey? {
        guard rsa.count > 0 else { return nil }
        do {
            return try MercurioPrivateKey(
                pem: rsa.withBytes { String(decoding: $0, as: UTF8.self) })
        } catch {
            throw .member("rsa")
        }
    }

    /// The signing key's seed, 32 bytes: what Kecalek's key files hold.
    public func signingSeed() -> SecretBytes {
        signingKey.withSeed { SecretBytes(copying: $0) }
    }

    /// Whether the words, or the seed where there are none, really give these keys.
    public func isConsistent() -> Bool {
        let other: Identity
        if hasWords {
            guard let mnemonic = try? mnemonic() else { return false }
            other = Identity(mnemonic: mnemonic, name: name, passphrase: wordsPassphrase())
        } else {
            other = Identity(seed: signingSeed(), name: name)
        }
        return other.id == id && other.ageKey.recipient == ageKey.recipient
            && other.hybridKey.recipient == hybridKey.recipient
    }

    /// The public card, signed; with an address for its one recipient. Without `relay` it names the identity's.
    public func card(
        relay: String? = nil, address: SendAddress? = nil, issued: Timestamp? = nil
    ) -> Card {
        Card.signed(
            by: self, relay: relay ?? self.relay, profiles: Profiles(),
            address: address?.id(of: self), issued: issued)
    }

    /// The public card, signed, with the owner's accounts in other messengers: each proves it with its own key. Without
    /// `relay` it names the identity's.
    public func card(relay: String? = nil, profiles: Profiles, issued: Timestamp? = nil)
        throws(MnemonicError) -> Card
    {
        var profiles = profiles
        try profiles.prove(for: self)
        return Card.signed(
            by: self, relay: relay ?? self.relay, profiles: profiles, issued: issued)
    }
}
