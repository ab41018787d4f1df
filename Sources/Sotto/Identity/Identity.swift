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
    private let words: SecretBytes
    private let wordlist: Wordlist
    /// The Ed25519 signing key.
    public let signingKey: SigningKey
    /// The classic age identity.
    public let ageKey: AgeX25519Identity
    /// The post-quantum age identity.
    public let hybridKey: AgeHybridIdentity

    /// The id: `05` and the signing key's public half.
    public var id: SessionID { SessionID(publicKey: signingKey.publicKey) }

    /// The identity of a sentence.
    public init(mnemonic: Mnemonic, name: String, passphrase: String = "") {
        let seed = mnemonic.seed(passphrase: passphrase)
        func key(_ info: String) -> SecretBytes {
            hkdfSHA256(seed, salt: Array("modern/v1".utf8), info: info)
        }
        self.name = name
        words = SecretBytes(copying: mnemonic.sentenceText().utf8)
        wordlist = mnemonic.wordlist
        signingKey = SigningKey(seed: key("sign"))
        ageKey = AgeX25519Identity(secret: key("age-x25519"))
        hybridKey = AgeHybridIdentity(seed: key("age-pq"))
    }

    /// A key for one purpose of this installation, such as sealing its local state.
    public func derivedKey(info: String) -> SecretBytes {
        let seed = signingKey.withSeed { SecretBytes(copying: $0) }
        return hkdfSHA256(seed, info: "sotto/" + info)
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
            ("words", .string(words.withBytes { String(decoding: $0, as: UTF8.self) })),
            ("language", .string(wordlist.rawValue)),
            ("sign", .string(signingKey.withSeed { Base64.standard.encode(Array($0)) })),
            ("age", .string(ageKey.text())), ("pq", .string(hybridKey.text())),
        ])
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
        words = SecretBytes(copying: try text("words").utf8)
        signingKey = SigningKey(seed: SecretBytes(copying: seed))
        ageKey = age
        hybridKey = hybrid
        guard SessionID(try text("id")) == id else { throw .inconsistent }
    }

    /// The words that restore the keys. They are read when they are asked for: looking them up in their list
    /// would cost every start of every program a millisecond.
    public func mnemonic() throws(MnemonicError) -> Mnemonic {
        try Mnemonic(
            parsing: words.withBytes { String(decoding: $0, as: UTF8.self) }, wordlist: wordlist)
    }

    /// Whether the words really give these keys.
    public func isConsistent() -> Bool {
        guard let mnemonic = try? mnemonic() else { return false }
        let other = Identity(mnemonic: mnemonic, name: name)
        return other.id == id && other.ageKey.recipient == ageKey.recipient
            && other.hybridKey.recipient == hybridKey.recipient
    }

    /// The public card, signed.
    public func card(relay: String? = nil) -> Card {
        Card.signed(by: self, relay: relay)
    }
}
