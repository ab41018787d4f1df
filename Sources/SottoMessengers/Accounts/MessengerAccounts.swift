public import Sotto
public import SottoContacts
public import SottoState
public import SottoTool

/// The accounts of people in the five messengers, for an address book.
public struct MessengerAccounts: ContactAccounts {
    /// Creates the rules.
    public init() {}

    /// Throws ``ProfileError`` for a card with an account without a valid proof.
    public func verify(_ card: Card) throws { _ = try card.profiles() }

    /// Returns whether the accounts on a card are those that the contact's key or a comparison confirmed.
    public func agree(_ card: Card, with contact: Contact) -> Bool {
        guard let claimed = try? card.profiles() else { return false }
        return contact.vouchedProfiles.agree(with: claimed)
    }

    /// Throws a failure with status 12 if an account of a contact belongs to another contact with different keys.
    public func check(
        _ contact: Contact, replacing former: KeyID?, in transaction: StateTransaction
    ) throws {
        try transaction.check(contact.profiles, of: contact.id, replacing: former)
    }

    /// Returns the owner of the account of a `whisper2:` URL or a WhisperID.
    public func find(_ argument: String, in book: AddressBook) throws -> Correspondent? {
        if let id = WhisperID(Pasted.text(argument)) { return try book.owner(of: id) }
        guard RecipientArgument.isWhisper2(argument) else { return nil }
        return try book.known(book.whisper2(Pasted.text(argument)))
    }
}

extension RecipientArgument {
    /// Returns whether `argument` is the URL of a Whisper2 account, which is not a card.
    public static func isWhisper2(_ argument: String) -> Bool {
        Pasted.hasPrefix(Pasted.text(argument), "whisper2:")
    }
}

extension Correspondent {
    /// The person's accounts in other messengers: those that the argument named, else the contact's, else those on the card.
    public var profiles: Profiles {
        if let accounts, let named = Profiles(accounts) { return named }
        let known = contact?.profiles ?? Profiles()
        return known.isEmpty ? (try? card?.profiles()) ?? Profiles() : known
    }
}

extension AddressBook {
    /// Returns the account of a `whisper2:` URL, with or without its signing key.
    ///
    /// Throws ``Whisper2AddURLError``, and a failure with status 12 if a contact has that account with different keys.
    /// Contacts are compared only if the identity has been read already.
    public func whisper2(_ url: String) throws -> Whisper2Contact {
        let account = try Whisper2AddURL.contact(url)
        for contact in try contacts(of: account) {
            guard let kept = contact.signedProfiles.whisper2 else { continue }
            guard account.agrees(with: kept) else { throw Failure.changedAccount(of: contact) }
            if kept.signingKey != nil { return kept }
        }
        return account
    }

    /// Returns the contact with an account, or a person of whom nothing else is known.
    fileprivate func owner(of id: WhisperID) throws -> Correspondent {
        let contact = try knownView { try $0.holder(of: id) } ?? nil
        return Correspondent(
            id: contact?.id ?? id.accountID, card: contact?.card, contact: contact,
            accounts: contact == nil ? Profiles(whisperID: id).object : nil,
            accountName: id.description)
    }

    fileprivate func contacts(of account: Whisper2Contact) throws -> [Contact] {
        let contacts = try knownView { try $0.allContacts() } ?? []
        return contacts.filter { $0.signedProfiles.whisper2?.id == account.id }
    }

    /// Returns an account with the contact that owns it. A contact only introduced with it does not count.
    fileprivate func known(_ account: Whisper2Contact) throws -> Correspondent {
        let accounts = Profiles(whisper2: account).object
        let name = account.id.description
        if let contact = try contacts(of: account).first {
            return Correspondent(
                id: contact.id, card: nil, contact: contact, accounts: accounts, accountName: name)
        }
        let id = account.contactID
        let contact = try knownView { try $0.contact(id: id) } ?? nil
        if let contact, let kept = contact.signedProfiles.whisper2, !account.agrees(with: kept) {
            throw Failure.changedAccount(of: contact)
        }
        return Correspondent(
            id: id, card: nil, contact: contact, accounts: accounts, accountName: name)
    }
}
