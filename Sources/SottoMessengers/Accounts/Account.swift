public import Sotto
public import SottoBytes
public import SottoContacts
public import SottoState
import SottoTool

/// An account in another messenger, as that messenger's own code shows it.
public enum Account: Sendable {
    /// The account of a `whisper2:` URL.
    case whisper2(Whisper2Contact)
    /// The content of a Kecalek QR code.
    case kecalek(KecalekQR)
    /// An id and RSA key of Mercurio, signed or not.
    case mercurio(MercurioKeyBundle)

    /// Reads the content of a file, pipe or argument. Returns `nil` for anything else, such as a card.
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
        guard let url = String(validating: text, as: UTF8.self), RecipientArgument.isWhisper2(url)
        else {
            return nil
        }
        self = .whisper2(try Whisper2AddURL.contact(Pasted.text(url)))
    }

    /// The id of a contact with only this account: `05` and the Ed25519 signing key, or ``WhisperID/accountID`` for a
    /// Whisper2 account without one.
    public var id: KeyID {
        switch self {
        case .whisper2(let contact): contact.contactID
        case .kecalek(let code): KeyID(publicKey: code.identityKey)
        case .mercurio(let bundle): bundle.id
        }
    }

    /// The account as a contact stores it.
    public var profiles: Profiles {
        switch self {
        case .whisper2(let contact): Profiles(whisper2: contact)
        case .kecalek(let code): Profiles(kecalek: code.userID)
        case .mercurio(let bundle): Profiles(mercurio: bundle)
        }
    }

    /// The default name of the contact; empty if the account has no readable name.
    public var name: String {
        switch self {
        case .whisper2, .mercurio: ""
        case .kecalek(let code): code.userID
        }
    }

    /// Returns whether a contact with an account of this name has the same keys.
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
    /// Whether only accounts in other messengers are known, and no signing key: the messages are not authenticated.
    public var isKeyless: Bool { card == nil && !accounts.members.isEmpty && !id.isKey }

    /// The id of the Whisper2 account that is the contact's, with or without keys; `nil` without one.
    public var whisperID: WhisperID? {
        if let account = signedProfiles.whisper2 { return account.id }
        guard let known = profiles.whisperID, known.accountID == id else { return nil }
        return known
    }

    /// The ids under which messages of the contact wait: a message of an account whose keys were not known has that of the account.
    public var waitingIDs: [KeyID] {
        guard let account = whisperID?.accountID, account != id else { return [id] }
        return [id, account]
    }

    /// The accounts whose signed messages are the contact's. A name in Kecalek belongs to the key of the id.
    var signedProfiles: Profiles {
        var signed = profiles
        if let account = signed.whisper2, !signs(with: account) { signed.whisper2 = nil }
        if let bundle = signed.mercurio, !signs(with: bundle) { signed.mercurio = nil }
        return signed
    }
}

extension Whisper2Contact {
    /// Returns whether both are the same account with the same keys. Keys that one of them lacks are not compared.
    public func agrees(with other: Whisper2Contact) -> Bool {
        id == other.id && encryptionKey == other.encryptionKey
            && (signingKey == nil || other.signingKey == nil || signingKey == other.signingKey)
    }
}

extension StateTransaction {
    /// Adds an account to the address book, under `name` or else its own name.
    ///
    /// An account whose name is known with different keys is refused with a failure of status 12, and nothing is
    /// changed, because no card exists that could be offered as a replacement. A contact of whom only the id of a Whisper2
    /// account, or the account without its signing key, is known gets the keys. Throws a failure with status 64 for the
    /// owner's own account.
    public func introduce(_ account: Account, as name: String?) throws -> Introduction {
        guard try !isOwn(account) else { throw Failure.ownAccount }
        let holders = try holders(of: account)
        if let other = holders.first(where: { !account.agrees(with: $0) }) {
            throw Failure.changedAccount(of: other)
        }
        let id = account.id
        var isBlocked = false
        if case .whisper2(let new) = account, let keyless = try contact(id: new.id.accountID) {
            if !keyless.name.isEmpty, holders.allSatisfy({ $0.id == keyless.id }) {
                return try complete(keyless, with: new)
            }
            // The account was blocked before its keys were known.
            isBlocked = keyless.isBlocked
        }
        if var known = try contact(id: id), !known.name.isEmpty {
            let profiles = known.signedProfiles
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
        if let known = holders.first(where: { !$0.isKeyless }) ?? holders.first {
            return .known(known)
        }
        var contact = Contact(
            name: try freeName(name ?? account.name), id: id, card: nil,
            trust: id.isKey ? .trusted : .unverified)
        contact.isBlocked = try isBlocked || self.contact(id: id)?.isBlocked == true
        contact.learned = account.profiles
        if case .whisper2(let new) = account { try remove(id: new.id.accountID) }
        try save(contact)
        return .added(contact)
    }

    /// Adds the id of a Whisper2 account whose keys are not known, under `name`. Nothing can be sent to the contact until
    /// ``introduce(_:as:)-(Account,_)`` gets the keys.
    ///
    /// A known account keeps its contact. Throws a failure with status 64 for the owner's own account and for an invalid
    /// name, and 12 for the name of another contact.
    public func introduce(_ whisperID: WhisperID, as name: String) throws -> Introduction {
        guard try whisperID != owner.whisperID() else { throw Failure.ownAccount }
        let former = try holder(of: whisperID)
        if let former, !former.name.isEmpty { return .known(former) }
        var contact = Contact(
            name: try freeName(name), id: whisperID.accountID, card: nil, trust: .unverified)
        contact.isBlocked = former?.isBlocked ?? false
        contact.learned = Profiles(whisperID: whisperID)
        try save(contact)
        return .added(contact)
    }

    private func freeName(_ name: String) throws -> String {
        let name = try ContactName.checked(name)
        if let other = try contact(named: name) {
            throw Failure(
                .untrusted, "this key differs from the key of the contact \(other.name)",
                hint: "for a different person with that name use --name NAME")
        }
        return name
    }

    /// Adds the keys of an account, which agree with the known ones, to a contact without a signing key. With a signing key
    /// the contact has another id.
    private func complete(_ keyless: Contact, with account: Whisper2Contact) throws -> Introduction
    {
        var contact = keyless
        if account.signingKey == nil {
            guard keyless.profiles.whisper2 == nil else { return .known(keyless) }
        } else {
            let id = account.contactID
            let other = try self.contact(id: id)
            if let other, !other.name.isEmpty {
                throw Failure(
                    .cannotCreate, "the signing key belongs to the contact \(other.name)",
                    hint:
                        "remove the contact with only the account: sotto contact remove \(keyless.argument)"
                )
            }
            contact = Contact(name: keyless.name, id: id, card: nil, added: keyless.added)
            contact.isBlocked = keyless.isBlocked || other?.isBlocked == true
            contact.getsReceipts = keyless.getsReceipts
            contact.getsTyping = keyless.getsTyping
            contact.getsPresence = keyless.getsPresence
            contact.suite = keyless.suite
            contact.takeAddresses(of: keyless)
            try recordSystem(.keyAccepted, about: id, former: keyless.id)
        }
        contact.learned.whisper2 = account
        try save(contact, formerID: keyless.id)
        return .completed(contact)
    }

    /// Returns the contact with a Whisper2 account, also one of whom only the id of the account is known, or that has no name
    /// because it was only blocked; `nil` without one. Of several, it is the one whose binding is the strongest.
    public func holder(of whisperID: WhisperID) throws(StateError) -> Contact? {
        try holders()[whisperID]
    }

    /// Returns ``holder(of:)`` for each Whisper2 account of a contact.
    public func holders() throws(StateError) -> [WhisperID: Contact] {
        var holders: [WhisperID: Contact] = [:]
        for contact in try allContacts() {
            guard let account = contact.whisperID else { continue }
            if let other = holders[account], Self.strength(of: other) >= Self.strength(of: contact)
            {
                continue
            }
            holders[account] = contact
        }
        return holders
    }

    private static func strength(of contact: Contact) -> Int {
        if contact.name.isEmpty { return -2 }
        return contact.profiles.whisper2.map { contact.binding(of: $0).rawValue } ?? -1
    }

    private func isOwn(_ account: Account) throws -> Bool {
        guard case .whisper2(let contact) = account else { return account.id == owner.id }
        if try contact.id == owner.whisperID() || account.id == owner.id { return true }
        guard owner.hasWords, let key = contact.signingKey else { return false }
        return try owner.whisper2Keys().signingKey == key
    }

    /// Returns the contacts that own the account. Contacts only introduced with it are left out.
    private func holders(of account: Account) throws(StateError) -> [Contact] {
        switch account {
        case .whisper2(let contact):
            try allContacts().filter { $0.signedProfiles.whisper2?.id == contact.id }
        case .kecalek(let code): try contacts(kecalekUserID: code.userID)
        case .mercurio(let bundle):
            try allContacts().filter { $0.signedProfiles.mercurio?.id == bundle.id }
        }
    }

    /// Returns the contacts that have this user's id in Kecalek, compared as bytes.
    func contacts(kecalekUserID: String) throws(StateError) -> [Contact] {
        try allContacts().filter {
            $0.profiles.kecalek?.utf8.elementsEqual(kecalekUserID.utf8) == true
        }
    }

    /// Throws a failure with status 12 if a claimed account belongs to another contact, with different keys. `former`
    /// is the id of the contact that is replaced.
    public func check(
        _ profiles: Profiles, of id: KeyID, replacing former: KeyID? = nil
    ) throws {
        if let claimed = profiles.whisper2,
            let other = try allContacts().first(where: {
                guard $0.id != id, $0.id != former, let own = $0.signedProfiles.whisper2 else {
                    return false
                }
                return own.id == claimed.id && !own.agrees(with: claimed)
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
    /// The failure for an account whose keys differ from the known ones, status 12.
    public static func changedAccount(of contact: Contact) -> Failure {
        let name = contact.name.isEmpty ? contact.id.short : contact.name
        return Failure(
            .untrusted, "this key differs from the key of the contact \(name); nothing was changed",
            hint:
                "ask \(name) on another channel; if the key is right, remove the old contact first: sotto contact remove \(shellWord(name))"
        )
    }

    static func claimedAccount(of contact: Contact, _ profile: Profile) -> Failure {
        Failure(
            .untrusted,
            "the card names the \(profile.rawValue) account of \(contact.name) with different keys; nothing was changed",
            hint: "one of the two is an impostor; ask \(contact.name) on another channel")
    }

    static let ownAccount = Failure(
        .usage, "this is your own account", hint: "give it to your contacts instead")

    /// The failure for a Whisper2 account whose keys are not known, status 10. `name` is the contact's, quoted for the shell,
    /// or a word to fill in.
    public static func noKeys(of account: WhisperID, name: String = "NAME") -> Failure {
        Failure(
            .noKey, "the keys of \(account) are not known",
            hint: "scan the account's code, or add its URL: sotto contact add --name \(name) URL")
    }

    /// The failure for a contact without a signing key, which cannot be verified, status 12.
    public static func noSigningKey(of contact: Contact) -> Failure {
        Failure(
            .untrusted,
            "the signing key of \(contact.name) is not known, so that nothing of \(contact.name) can be verified",
            hint:
                "add the account's URL with its signing key, skey: sotto contact add --name \(contact.argument) URL"
        )
    }
}
