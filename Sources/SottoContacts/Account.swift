public import Sotto
public import SottoState
public import SottoTool

/// Somebody's account in another messenger, as that messenger's own code shows it.
public enum Account: Sendable {
    /// What is behind a `whisper2:` URL.
    case whisper2(Whisper2Contact)
    /// What is in a QR code of Kecalek.
    case kecalek(KecalekQR)
    /// An id and an RSA key of Mercurio, signed or not.
    case mercurio(MercurioKeyBundle)

    /// Reads what a file, a pipe or an argument holds; `nil` for what is neither, such as a card.
    ///
    /// Throws ``Whisper2AddURLError`` and ``KecalekQRError``.
    public init?(_ bytes: [UInt8]) throws {
        if bytes.first == 1 {
            self = .kecalek(try KecalekQR(payload: bytes))
            return
        }
        var text = bytes.drop { $0 <= 0x20 }
        while let last = text.last, last <= 0x20 { text.removeLast() }
        if text.first == UInt8(ascii: "{") {
            guard let record = try? JSON.object(parsing: Array(text)),
                record["mercurio_id"] != nil
            else { return nil }
            self = .mercurio(try MercurioKeyBundle(pinning: record))
            return
        }
        guard let url = String(validating: text, as: UTF8.self), Addressee.isWhisper2(url) else {
            return nil
        }
        self = .whisper2(try Whisper2AddURL.contact(url))
    }

    /// Whose it is: `05` and the Ed25519 key that signs. `nil` for a Whisper2 account whose signing key is not known.
    public var id: SessionID? {
        switch self {
        case .whisper2(let contact): contact.signingKey.map { SessionID(publicKey: $0) }
        case .kecalek(let code): SessionID(publicKey: code.identityKey)
        case .mercurio(let bundle): bundle.id
        }
    }

    /// It, as a contact keeps it.
    public var profiles: Profiles {
        switch self {
        case .whisper2(let contact): Profiles(whisper2: contact)
        case .kecalek(let code): Profiles(kecalek: code.userID)
        case .mercurio(let bundle): Profiles(mercurio: bundle)
        }
    }

    /// What to call them where nobody says; empty where the account has no name that people use.
    public var name: String {
        switch self {
        case .whisper2, .mercurio: ""
        case .kecalek(let code): code.userID
        }
    }

    /// Whether a contact who has an account of this name has the keys of this one.
    func agrees(with contact: Contact) -> Bool {
        switch self {
        case .whisper2(let account):
            guard let kept = contact.profiles.whisper2 else { return true }
            return account.agrees(with: kept)
        case .kecalek: return contact.id == id
        case .mercurio(let bundle):
            guard let kept = contact.profiles.mercurio else { return true }
            return kept.key == bundle.key
        }
    }
}

extension Contact {
    /// The accounts that are the contact's own: whose messages are the contact's. A name in Kecalek belongs to the key
    /// of the id.
    var spokenProfiles: Profiles {
        var spoken = profiles
        if let account = spoken.whisper2, !speaks(with: account) { spoken.whisper2 = nil }
        if let bundle = spoken.mercurio, !speaks(with: bundle) { spoken.mercurio = nil }
        return spoken
    }
}

extension Whisper2Contact {
    /// Whether both are one account with the same keys, as far as both know them.
    public func agrees(with other: Whisper2Contact) -> Bool {
        id == other.id && encryptionKey == other.encryptionKey
            && (signingKey == nil || other.signingKey == nil || signingKey == other.signingKey)
    }
}

extension StateTransaction {
    /// Takes an account into the address book, under `name` or else the one that it has.
    ///
    /// An account whose name is known with other keys is refused with a failure of status 12, and nothing is changed:
    /// there is no card to be kept beside the old one. Throws a failure with status 64 for the owner's own, and 65
    /// for a Whisper2 account without its signing key that is not known.
    public func introduce(_ account: Account, as name: String?) throws -> Introduction {
        guard try !isOwn(account) else {
            throw Failure(.usage, "this is your own account", hint: "give it to others")
        }
        let holders = try holders(of: account)
        if let other = holders.first(where: { !account.agrees(with: $0) }) {
            throw Failure.changedAccount(of: other)
        }
        if let id = account.id, var known = try contact(id: id), !known.name.isEmpty {
            let profiles = known.spokenProfiles
            guard profiles.agree(with: account.profiles) else {
                throw Failure.changedAccount(of: known)
            }
            let learned = known.learned
            switch account {
            case .whisper2(let contact) where profiles.whisper2 == nil:
                known.learned.whisper2 = contact
            case .kecalek(let code) where profiles.kecalek == nil:
                known.learned.kecalek = code.userID
            case .mercurio(let bundle)
            where profiles.mercurio?.signature == nil && bundle.signature != nil
                || profiles.mercurio == nil:
                known.learned.mercurio = bundle
            default: break
            }
            guard known.learned != learned else { return .known(known) }
            try save(known)
            return .completed(known)
        }
        if let known = holders.first { return .known(known) }
        guard let id = account.id else { throw Failure.noSigningKey }
        let name = try ContactName.checked(name ?? account.name)
        if let other = try contact(named: name) {
            throw Failure(
                .untrusted, "this is another key than the one that \(other.name) has",
                hint: "for somebody else of that name: --name NAME")
        }
        var contact = Contact(name: name, id: id, card: nil)
        contact.isBlocked = try self.contact(id: id)?.isBlocked ?? false
        contact.learned = account.profiles
        try save(contact)
        return .added(contact)
    }

    private func isOwn(_ account: Account) throws -> Bool {
        guard case .whisper2(let contact) = account else { return account.id == owner.id }
        if contact.id == owner.whisperID || account.id == owner.id { return true }
        guard owner.hasWords, let key = contact.signingKey else { return false }
        return try owner.whisper2Keys().signingKey == key
    }

    /// The contacts whose account it is; who was merely introduced with it is not among them.
    private func holders(of account: Account) throws(StateError) -> [Contact] {
        switch account {
        case .whisper2(let contact):
            try contacts(whisperID: contact.id).filter { $0.spokenProfiles.whisper2 != nil }
        case .kecalek(let code): try contacts(kecalekUserID: code.userID)
        case .mercurio(let bundle):
            try contacts(mercurioID: bundle.id).filter { $0.spokenProfiles.mercurio != nil }
        }
    }

    /// Throws a failure with status 12 when an account that somebody claims is another contact's, with other keys.
    /// `former` is the id of the contact whose place they take.
    public func check(
        _ profiles: Profiles, of id: SessionID, replacing former: SessionID? = nil
    ) throws {
        if let claimed = profiles.whisper2,
            let other = try contacts(whisperID: claimed.id).first(where: {
                $0.id != id && $0.id != former
                    && $0.spokenProfiles.whisper2?.agrees(with: claimed) == false
            })
        {
            throw Failure.claimedAccount(of: other, .whisper2)
        }
        if let claimed = profiles.kecalek,
            let other = try contacts(kecalekUserID: claimed).first(where: {
                $0.id != id && $0.id != former
            })
        {
            throw Failure.claimedAccount(of: other, .kecalek)
        }
    }
}

extension Failure {
    /// What is said when an account's keys are not those that are known, status 12.
    public static func changedAccount(of contact: Contact) -> Failure {
        let name = contact.name.isEmpty ? contact.id.short : contact.name
        return Failure(
            .untrusted, "this is another key than the one that \(name) has; nothing was changed",
            hint:
                "ask \(name) in another way; if it is theirs, remove the old contact first: contact remove \(shellWord(name))"
        )
    }

    static func claimedAccount(of contact: Contact, _ profile: Profile) -> Failure {
        Failure(
            .untrusted,
            "the card names the \(profile.rawValue) account of \(contact.name), with other keys; nothing was changed",
            hint: "one of the two is not who they say: ask \(contact.name) in another way")
    }

    /// What is said of a Whisper2 account that nothing could be verified of, status 65.
    public static let noSigningKey = Failure(
        .malformed, "there is no signing key in the URL: nothing of theirs could be verified",
        hint: "ask for it, and append it to the URL: &skey=BASE64")
}
