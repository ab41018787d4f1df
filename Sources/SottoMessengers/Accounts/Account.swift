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

    /// The owner's id: `05` and the Ed25519 signing key. `nil` for a Whisper2 account whose signing key is unknown.
    public var id: KeyID? {
        switch self {
        case .whisper2(let contact): contact.signingKey.map { KeyID(publicKey: $0) }
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
    /// changed, because no card exists that could be offered as a replacement. Throws a failure with status 64 for the
    /// owner's own account, and 65 for an unknown Whisper2 account without a signing key.
    public func introduce(_ account: Account, as name: String?) throws -> Introduction {
        guard try !isOwn(account) else {
            throw Failure(
                .usage, "this is your own account", hint: "give it to your contacts instead")
        }
        let holders = try holders(of: account)
        if let other = holders.first(where: { !account.agrees(with: $0) }) {
            throw Failure.changedAccount(of: other)
        }
        if let id = account.id, var known = try contact(id: id), !known.name.isEmpty {
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
        if let known = holders.first { return .known(known) }
        guard let id = account.id else { throw Failure.noSigningKey }
        let name = try ContactName.checked(name ?? account.name)
        if let other = try contact(named: name) {
            throw Failure(
                .untrusted, "this key differs from the key of the contact \(other.name)",
                hint: "for a different person with that name use --name NAME")
        }
        var contact = Contact(name: name, id: id, card: nil)
        contact.isBlocked = try self.contact(id: id)?.isBlocked ?? false
        contact.learned = account.profiles
        try save(contact)
        return .added(contact)
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

    /// The failure for a Whisper2 account without a signing key, status 65.
    public static let noSigningKey = Failure(
        .malformed, "the URL has no signing key, so messages of the account could not be verified",
        hint: "ask the owner for the key, and append it to the URL as &skey=BASE64")
}
