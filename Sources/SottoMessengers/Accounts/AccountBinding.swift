public import Sotto
public import SottoState

/// The binding between an account in another messenger and its contact, from the weakest to the strongest.
public enum AccountBinding: Int, Sendable, Comparable {
    /// A file or URL names the account, and no key of the contact confirms it.
    case introduced
    /// The account's signing key is the contact's id, and the contact has no card. Its other keys were trusted on first
    /// use. Also an account without a known signing key that is all that is known of its contact.
    case firstUse
    /// The account's signing key is the contact's id, and its other keys were compared with the owner's screen.
    case compared
    /// The contact's key signed the account: on the card, in the account's own proof, or as the signature of the RSA
    /// key.
    case proven

    /// Compares the strength of two bindings.
    public static func < (a: AccountBinding, b: AccountBinding) -> Bool {
        a.rawValue < b.rawValue
    }
}

extension Contact {
    /// The accounts on the contact's card. A card with an account without a valid proof gives none.
    public var cardProfiles: Profiles { (try? card?.profiles()) ?? Profiles() }

    /// Accounts learned from the messengers' own codes and not from a card. They are introductions unless
    /// ``binding(of:)-(Whisper2Contact)`` is stronger.
    public var learned: Profiles {
        get { Profiles(accounts) ?? Profiles() }
        set {
            let object = newValue.object
            for profile in Profile.allCases {
                accounts[profile.rawValue] = object[profile.rawValue]
            }
        }
    }

    /// The contact's accounts in other messengers: those on the card, and the learned ones for messengers that the card
    /// does not name.
    public var profiles: Profiles {
        let signed = cardProfiles
        let learned = learned
        return Profiles(
            kecalek: signed.kecalek ?? learned.kecalek,
            whisper2: signed.whisper2 ?? learned.whisper2, whisperID: learned.whisperID,
            mercurio: signed.mercurio ?? learned.mercurio)
    }

    /// Returns whether another card of the same id has the same keys, and the same accounts where those of the contact
    /// are confirmed. Introduced accounts are not compared. A card with an unproven account does not agree.
    public func agrees(with card: Card) -> Bool {
        guard let claimed = try? card.profiles() else { return false }
        return hasKeys(of: card) && vouchedProfiles.agree(with: claimed)
    }

    /// Returns how a Whisper2 account is bound to the contact. The account need not be stored.
    public func binding(of account: Whisper2Contact) -> AccountBinding {
        if let signed = cardProfiles.whisper2,
            signed.id == account.id, signed.encryptionKey == account.encryptionKey,
            account.signingKey == nil || account.signingKey == signed.signingKey
        {
            return .proven
        }
        guard isOwnKey(of: account) else { return .introduced }
        if compared.contains(account) { return .compared }
        return card == nil ? .firstUse : .introduced
    }

    /// Returns how a Mercurio account is bound to the contact. The account need not be stored.
    public func binding(of bundle: MercurioKeyBundle) -> AccountBinding {
        if let signed = cardProfiles.mercurio,
            signed.id == bundle.id, signed.key == bundle.key
        {
            return .proven
        }
        guard bundle.id == id else { return .introduced }
        if bundle.signature != nil { return .proven }
        if compared.contains(bundle) { return .compared }
        return card == nil ? .firstUse : .introduced
    }

    /// Returns whether messages of a Whisper2 account are the contact's: the contact's key signed the account, or is its
    /// signing key, or the contact is the account, whose signing key is not known.
    public func signs(with account: Whisper2Contact) -> Bool {
        binding(of: account) == .proven || isOwnKey(of: account)
    }

    /// Returns whether messages signed by a Mercurio account are the contact's.
    public func signs(with bundle: MercurioKeyBundle) -> Bool {
        binding(of: bundle) == .proven || bundle.id == id
    }

    private func isOwnKey(of account: Whisper2Contact) -> Bool {
        account.contactID == id
    }

    /// The accounts confirmed by the contact's key or by a comparison. Introduced accounts are left out: an account
    /// that the contact signs replaces them.
    public var vouchedProfiles: Profiles {
        let all = profiles
        var vouched = Profiles()
        if let name = all.kecalek,
            cardProfiles.kecalek == name || compared.contains(kecalekUserID: name)
        {
            vouched.kecalek = name
        }
        if let account = all.whisper2, binding(of: account) >= .compared {
            vouched.whisper2 = account
        }
        if let bundle = all.mercurio, binding(of: bundle) >= .compared {
            vouched.mercurio = bundle
        }
        return vouched
    }

    /// The names of the keys that the comparison of a verified contact covers: `id`, `card`, and the accounts bound by
    /// the contact's key or the comparison. Empty for a contact that is not verified.
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

extension ComparedKeys {
    /// Adds an account with its signing key.
    public mutating func insert(_ account: Whisper2Contact) { insert(text: Self.text(account)) }

    /// Adds a user's id in Kecalek.
    public mutating func insert(kecalekUserID: String) {
        insert(text: Self.text(kecalekUserID: kecalekUserID))
    }

    /// Adds a Mercurio account with its RSA key.
    public mutating func insert(_ bundle: MercurioKeyBundle) { insert(text: Self.text(bundle)) }

    /// Returns whether this account was compared, with all its keys.
    public func contains(_ account: Whisper2Contact) -> Bool {
        texts.contains(Self.text(account))
    }

    /// Returns whether this user's id was compared.
    public func contains(kecalekUserID: String) -> Bool {
        texts.contains(Self.text(kecalekUserID: kecalekUserID))
    }

    /// Returns whether this account was compared, with its RSA key.
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
