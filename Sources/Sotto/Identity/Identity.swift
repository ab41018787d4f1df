/// A reason to refuse a record as an identity.
public enum IdentityError: RecordError, Equatable {
    /// A member is missing or malformed.
    case member(String)
    /// The record is of a later version.
    case version(Int64)
    /// The keys, the words and the id in the record do not match.
    case inconsistent
}

/// The secret keys of one user, all derived from one BIP 39 sentence:
///
/// | key | HKDF-SHA256(seed, salt `modern/v1`, info …, 32) |
/// |---|---|
/// | Ed25519, signs; its public key is the id | `sign` |
/// | X25519, an age identity | `age-x25519` |
/// | X-Wing (ML-KEM-768 + X25519), a post-quantum age identity | `age-pq` |
public final class Identity: Sendable {
    /// The name that the owner chose. It proves nothing and may be empty.
    public let name: String
    /// Empty for an identity that was made from a key without words.
    private let words: SecretBytes
    private let wordlist: Wordlist
    /// BIP 39's passphrase, usually empty. With another passphrase the words give other keys.
    private let passphrase: SecretBytes
    /// The address of the relay where the owner fetches mail, such as `tls://relay.example.org:7667`, or `nil` if none
    /// is chosen. Cards name it.
    public let relay: String?
    /// The members of the record that the core does not interpret, as a JSON object. They can be secret.
    private let others: SecretBytes
    /// The Ed25519 signing key.
    public let signingKey: SigningKey
    /// The classic age identity.
    public let ageKey: AgeX25519Identity
    /// The post-quantum age identity.
    public let hybridKey: AgeHybridIdentity

    /// The id of this device, which is its mailbox: `05` and the hexadecimal signing public key.
    public let device: KeyID
    /// The person whose device this is, if it is not the first one. See ``DeviceList``.
    public let owner: KeyID?

    /// The id of the person: that of the owner, or of the device if there is no other owner. It is what others know, and what their
    /// programs show.
    public var id: KeyID { owner ?? device }

    /// Creates the identity of a sentence. `passphrase` is BIP 39's, in NFKD; ASCII always is. `others` are further
    /// members of the record, which the words do not restore.
    public init(
        mnemonic: Mnemonic, name: String, passphrase: String = "", relay: String? = nil,
        others: JSONObject = JSONObject()
    ) {
        let seed = mnemonic.seed(passphrase: passphrase)
        self.name = name
        self.relay = relay
        self.others = Self.secret(others)
        words = SecretBytes(copying: mnemonic.sentenceText().utf8)
        wordlist = mnemonic.wordlist
        self.passphrase = SecretBytes(copying: passphrase.utf8)
        signingKey = SigningKey(seed: Self.key(seed, "sign"), isGuarded: true)
        ageKey = AgeX25519Identity(secret: Self.key(seed, "age-x25519"))
        hybridKey = AgeHybridIdentity(seed: Self.key(seed, "age-pq"))
        device = KeyID(publicKey: signingKey.publicKey)
        owner = nil
    }

    /// Creates an identity from the 32-byte seed of a signing key, such as a key file has. The age keys are derived
    /// from this seed too, so they differ from those of the words that the signing key was derived from. With `owner` it is that of a
    /// device.
    public init(
        seed: borrowing SecretBytes, name: String, relay: String? = nil, owner: KeyID? = nil
    ) {
        precondition(seed.count == 32)
        self.name = name
        self.relay = relay
        others = Self.secret(JSONObject())
        words = SecretBytes(copying: [])
        wordlist = .english
        passphrase = SecretBytes(copying: [])
        signingKey = SigningKey(seed: seed, isGuarded: true)
        ageKey = AgeX25519Identity(secret: Self.key(seed, "age-x25519"))
        hybridKey = AgeHybridIdentity(seed: Self.key(seed, "age-pq"))
        device = KeyID(publicKey: signingKey.publicKey)
        self.owner = owner
    }

    private static func secret(_ members: JSONObject) -> SecretBytes {
        var text = members.members.isEmpty ? [] : members.serialized()
        defer { wipe(&text) }
        return SecretBytes(copying: text)
    }

    private static func key(_ seed: borrowing SecretBytes, _ info: String) -> SecretBytes {
        hkdfSHA256(seed, salt: Array("modern/v1".utf8), info: info)
    }

    /// Returns a key for one purpose of this installation, such as encrypting its local state.
    public func derivedKey(info: String) -> SecretBytes {
        hkdfSHA256(signingSeed(), info: "sotto/" + info)
    }

    // MARK: The identity record

    /// The record in an identity file: one line of JSON, which is secret.
    ///
    /// It has the keys as well as the words, so that programs start without 2048 rounds of PBKDF2 and `age` can use the
    /// two age identities.
    public var record: JSONObject {
        var record = JSONObject([
            ("v", .integer(1)), ("type", .string("identity")),
            ("name", name.isEmpty ? nil : .string(name)), ("id", .string(device.description)),
            ("owner", owner.map { .string($0.description) }),
            ("words", Self.text(words)),
            ("language", hasWords ? .string(wordlist.rawValue) : nil),
            ("wordsPassphrase", Self.text(passphrase)),
            ("sign", .base64(signingKey.withSeed { Array($0) })),
            ("age", .string(ageKey.text())), ("pq", .string(hybridKey.text())),
        ])
        for (name, value) in otherMembers.members { record[name] = value }
        record["relay"] = relay.map { .string($0) }
        return record
    }

    private static let ownMembers: Set<String> = [
        "v", "type", "name", "id", "owner", "words", "language", "wordsPassphrase", "sign", "age",
        "pq",
        "relay",
    ]

    /// The members of the record that the core does not interpret, such as accounts in other messengers. They are
    /// written back unchanged, and can be secret.
    public var otherMembers: JSONObject {
        guard others.count > 0 else { return JSONObject() }
        return others.withBytes { (try? JSON.object(parsing: Array($0))) ?? JSONObject() }
    }

    /// The succession in which this identity is the old or the new one, as `keygen rotate` notes it in both files, or `nil`. The
    /// words do not restore it.
    public var succession: Succession? {
        guard let record = otherMembers["succession"]?.object,
            let succession = try? Succession(record: record),
            [succession.former, succession.next].contains(id)
        else { return nil }
        return succession
    }

    /// The path of the file of the identity that this one replaces, or `nil`.
    public var formerFile: String? { otherMembers["former"]?.object?["file"]?.string }

    private static func text(_ secret: borrowing SecretBytes) -> JSON? {
        if secret.count == 0 { return nil }
        return .string(secret.withBytes { String(decoding: $0, as: UTF8.self) })
    }

    /// Reads an identity record and checks the id against the signing key. ``isConsistent()`` checks the words against
    /// the keys, which takes milliseconds.
    public init(record: JSONObject) throws(IdentityError) {
        let fields = Fields<IdentityError>(record)
        try fields.header("identity")
        name = record["name"]?.string ?? ""
        signingKey = SigningKey(seed: try fields["sign"].secret(count: 32), isGuarded: true)
        ageKey = try fields["age"].text { AgeX25519Identity($0) }
        hybridKey = try fields["pq"].text { AgeHybridIdentity($0) }
        wordlist = try fields["language"].optional?.text { Wordlist(rawValue: $0) } ?? .english
        // An identity that was made from a key has neither words nor a language.
        let isWordless = record["words"] == nil && record["language"] == nil
        words = SecretBytes(copying: isWordless ? "".utf8 : try fields["words"].text().utf8)
        passphrase = SecretBytes(
            copying: (try fields["wordsPassphrase"].optional?.text() ?? "").utf8)
        var others = record
        for name in Self.ownMembers { others[name] = nil }
        self.others = Self.secret(others)
        relay = try fields["relay"].optional?.text()
        device = KeyID(publicKey: signingKey.publicKey)
        owner = try fields["owner"].optional?.keyID()
        guard KeyID(try fields["id"].text()) == device, owner != device else {
            throw .inconsistent
        }
    }

    /// Returns the words that restore the keys. They are parsed on demand, because looking them up in their list takes
    /// a millisecond.
    ///
    /// Throws ``MnemonicError/noWords`` for an identity that was made from a key.
    public func mnemonic() throws(MnemonicError) -> Mnemonic {
        guard hasWords else { throw .noWords }
        return try Mnemonic(
            parsing: words.withBytes { String(decoding: $0, as: UTF8.self) }, wordlist: wordlist)
    }

    /// Whether the identity has words that restore it.
    public var hasWords: Bool { words.count > 0 }

    /// Whether the words need BIP 39's passphrase too.
    public var hasWordsPassphrase: Bool { passphrase.count > 0 }

    /// Returns BIP 39's passphrase, empty by default.
    package func wordsPassphrase() -> String {
        passphrase.withBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the signing key's seed, 32 bytes.
    public func signingSeed() -> SecretBytes {
        signingKey.withSeed { SecretBytes(copying: $0) }
    }

    /// Whether the words give the stored keys. Without words, whether the seed does.
    public func isConsistent() -> Bool {
        let other: Identity
        if hasWords {
            guard let mnemonic = try? mnemonic() else { return false }
            other = Identity(mnemonic: mnemonic, name: name, passphrase: wordsPassphrase())
        } else {
            other = Identity(seed: signingSeed(), name: name)
        }
        return other.device == device && other.ageKey.recipient == ageKey.recipient
            && other.hybridKey.recipient == hybridKey.recipient
    }

    /// Returns the signed public card, with `address` for the card's only holder. The default for `relay` is the
    /// identity's relay. `accounts` are the owner's accounts in other messengers, with their proofs. The card of a device is not that
    /// of the person.
    public func card(
        relay: String? = nil, address: SendAddress? = nil, accounts: JSONObject = JSONObject(),
        issued: Timestamp? = nil, devices: DeviceList? = nil
    ) -> Card {
        Card.signed(
            by: self, relay: relay ?? self.relay, accounts: accounts,
            address: address?.id(of: self), issued: issued, devices: devices)
    }
}
