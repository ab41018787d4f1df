public import Sotto

/// The tie between an account in another messenger and its contact, the weakest first.
public enum AccountStanding: Int, Sendable, Comparable {
    /// A file or URL names the account, and no key of the contact does.
    case introduced
    /// The account's signing key is the contact's id, and the contact has no card. Its other keys were taken as they came.
    case firstUse
    /// The account's signing key is the contact's id, and its other keys were compared on its owner's screen.
    case compared
    /// The contact's key signed the account: on the card, with the account's own proof, or the RSA key itself.
    case proven

    /// Compares the strength of two ties.
    public static func < (a: AccountStanding, b: AccountStanding) -> Bool {
        a.rawValue < b.rawValue
    }
}

/// The keys other than the id that a comparison covered, as a contact remembers them.
///
/// Each is a text that names one key exactly, so that another key in its place is not covered.
public struct ComparedKeys: Sendable, Equatable {
    /// The texts.
    public private(set) var texts: Set<String> = []

    /// The most texts that are read.
    static let limit = 64

    /// No keys.
    public init() {}

    /// Reads the array of a record; `nil` for one that is not of its form.
    init?(_ value: JSON) {
        guard let list = value.array, list.count <= Self.limit else { return nil }
        for item in list {
            guard let text = item.string, text.utf8.count <= 512 else { return nil }
            texts.insert(text)
        }
    }

    /// The array in a record, in the order of its texts.
    var json: JSON { .array(texts.sorted().map { .string($0) }) }

    /// Whether there are none.
    public var isEmpty: Bool { texts.isEmpty }

    /// Adds the X25519 key of a card that is not signed.
    public mutating func insert(_ key: AgeX25519Recipient) { texts.insert(key.text) }

    /// Adds an account with its signing key.
    public mutating func insert(_ account: Whisper2Contact) { texts.insert(Self.text(account)) }

    /// Adds a user's id in Kecalek.
    public mutating func insert(kecalekUserID: String) {
        texts.insert(Self.text(kecalekUserID: kecalekUserID))
    }

    /// Adds a Mercurio account with its RSA key.
    public mutating func insert(_ bundle: MercurioKeyBundle) { texts.insert(Self.text(bundle)) }

    /// Whether this key was compared.
    public func contains(_ key: AgeX25519Recipient) -> Bool { texts.contains(key.text) }

    /// Whether this account was compared, with all its keys.
    public func contains(_ account: Whisper2Contact) -> Bool {
        texts.contains(Self.text(account))
    }

    /// Whether this user's id was compared.
    public func contains(kecalekUserID: String) -> Bool {
        texts.contains(Self.text(kecalekUserID: kecalekUserID))
    }

    /// Whether this account was compared, with its RSA key.
    public func contains(_ bundle: MercurioKeyBundle) -> Bool { texts.contains(Self.text(bundle)) }

    private static func text(_ account: Whisper2Contact) -> String {
        let id = Array(account.id.description.utf8)
        return "whisper2:"
            + hex(sha256(id + [0] + account.encryptionKey + (account.signingKey ?? [])))
    }

    private static func text(kecalekUserID: String) -> String {
        "kecalek:" + hex(sha256(Array(kecalekUserID.utf8)))
    }

    private static func text(_ bundle: MercurioKeyBundle) -> String {
        "mercurio:" + hex(sha256(bundle.id.publicKey + bundle.key.der))
    }
}

extension Contact {
    /// Whether a card is signed by the contact's key, or has the encryption key that was compared.
    public func vouches(for card: Card) -> Bool {
        guard card.id == id else { return false }
        if card.record != nil || compared.contains(card.age) { return true }
        guard let own = self.card else { return false }
        return own.record != nil && own.age == card.age
    }

    /// The tie between a Whisper2 account and the contact. The account need not be kept.
    public func standing(of account: Whisper2Contact) -> AccountStanding {
        if let card, card.record != nil, let signed = card.profiles.whisper2,
            signed.id == account.id, signed.encryptionKey == account.encryptionKey,
            account.signingKey == nil || account.signingKey == signed.signingKey
        {
            return .proven
        }
        guard isOwnKey(of: account) else { return .introduced }
        if compared.contains(account) { return .compared }
        return card == nil ? .firstUse : .introduced
    }

    /// The tie between a Mercurio account and the contact. The account need not be kept.
    public func standing(of bundle: MercurioKeyBundle) -> AccountStanding {
        if let card, card.record != nil, let signed = card.profiles.mercurio,
            signed.id == bundle.id, signed.key == bundle.key
        {
            return .proven
        }
        guard bundle.id == id else { return .introduced }
        if bundle.signature != nil { return .proven }
        if compared.contains(bundle) { return .compared }
        return card == nil ? .firstUse : .introduced
    }

    /// Whether messages that a Whisper2 account signs are the contact's: the contact's key named the account, or is
    /// its signing key.
    public func speaks(with account: Whisper2Contact) -> Bool {
        standing(of: account) == .proven || isOwnKey(of: account)
    }

    /// Whether messages that a Mercurio account signs are the contact's.
    public func speaks(with bundle: MercurioKeyBundle) -> Bool {
        standing(of: bundle) == .proven || bundle.id == id
    }

    private func isOwnKey(of account: Whisper2Contact) -> Bool {
        account.signingKey == id.publicKey
    }

    /// The accounts that the contact's key or a comparison vouches for. Mere introductions are not among them: they
    /// give way to what the contact signs.
    public var vouchedProfiles: Profiles {
        let all = profiles
        var vouched = Profiles()
        if let name = all.kecalek,
            card?.profiles.kecalek == name || compared.contains(kecalekUserID: name)
        {
            vouched.kecalek = name
        }
        if let account = all.whisper2, standing(of: account) >= .compared {
            vouched.whisper2 = account
        }
        if let bundle = all.mercurio, standing(of: bundle) >= .compared {
            vouched.mercurio = bundle
        }
        return vouched
    }

    /// Keeps a card, and drops the learned accounts that it names itself.
    public mutating func keep(_ card: Card) {
        self.card = card
        if card.profiles.kecalek != nil { learned.kecalek = nil }
        if card.profiles.whisper2 != nil { learned.whisper2 = nil }
        if card.profiles.mercurio != nil { learned.mercurio = nil }
    }

    /// The names of the keys that a verified contact's comparison covers: `id`, `card` and the accounts whose keys it
    /// vouches for. Empty for a contact that is not verified.
    public var verifiedKeys: [String] {
        guard trust == .verified else { return [] }
        var names = ["id"]
        if let card, vouches(for: card) { names.append("card") }
        let vouched = vouchedProfiles
        if vouched.kecalek != nil { names.append(Profile.kecalek.rawValue) }
        if vouched.whisper2 != nil { names.append(Profile.whisper2.rawValue) }
        if vouched.mercurio != nil { names.append(Profile.mercurio.rawValue) }
        return names
    }
}
