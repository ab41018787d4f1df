public import Sotto
public import SottoState
public import SottoTool

/// Somebody whom an argument names, and what is known of them.
public struct Correspondent: Sendable {
    /// Whose key it is.
    public let id: SessionID
    /// The card to encrypt to: that of the argument, or the contact's. `nil` for a contact without one.
    public let card: Card?
    /// The contact of that id.
    public let contact: Contact?

    /// What to call them: the contact's name, the card's, or the id.
    public var name: String {
        if let contact, !contact.name.isEmpty { return contact.name }
        if let card, !card.name.isEmpty { return card.name }
        if card == nil, let account = profiles.whisper2 { return account.id.description }
        return id.description
    }

    /// Their accounts in other messengers: those that were given, else the contact's, else those on the card.
    public let profiles: Profiles

    /// Whether it is the owner of the address book.
    public let isOwn: Bool

    /// How far their key is trusted.
    public var trust: Message.Trust { isOwn ? .verified : contact?.trust ?? .unverified }

    /// Somebody of these parts; without `profiles`, with those of the contact or the card.
    public init(
        id: SessionID, card: Card?, contact: Contact?, profiles: Profiles? = nil,
        isOwn: Bool = false
    ) {
        self.id = id
        self.card = card
        self.contact = contact
        self.isOwn = isOwn
        let known = contact?.profiles ?? Profiles()
        self.profiles = profiles ?? (known.isEmpty ? card?.profiles ?? Profiles() : known)
    }
}

/// The address book, as the tools use it: names stand wherever a card does.
///
/// It is opened when a name is first looked up: a card file needs no identity.
public final class AddressBook {
    private let loaded: Lazily<Identity>
    private let opened: Lazily<IdentityStore?>
    private var made: IdentityStore?
    private let lockTimeout: Double

    /// The address book of the identity that `load` reads, once.
    public init(_ load: @escaping () throws -> Identity, lockTimeout: Double) {
        self.lockTimeout = lockTimeout
        let loaded = Lazily(load)
        self.loaded = loaded
        opened = Lazily {
            guard let directory = try StateDirectory.existing() else { return nil }
            return try IdentityStore.existing(
                in: directory, identity: loaded.get(), lockTimeout: lockTimeout)
        }
    }

    /// The identity, read once.
    public func identity() throws -> Identity { try loaded.get() }

    /// The identity's state; `nil` where there is none yet, or no identity to have one.
    public func store() throws -> IdentityStore? {
        if let made { return made }
        do {
            return try opened.get()
        } catch let failure as Failure where failure.status == .noInput && !loaded.isReady {
            return nil
        }
    }

    /// The identity's state, if the identity has been read already.
    func knownStore() throws -> IdentityStore? { loaded.isReady ? try store() : nil }

    /// The identity's state, made where there is none yet: for what writes to it.
    public func writableStore() throws -> IdentityStore {
        if let store = try store() { return store }
        let store = try IdentityStore(
            directory: .standard(), identity: identity(), lockTimeout: lockTimeout)
        made = store
        return store
    }

    /// Returns the correspondent that `argument` names: a `sotto:` URI, a `whisper2:` URL, a card file, a contact, an id,
    /// or `me`, the owner of the identity.
    ///
    /// An existing file is taken, unless a contact has exactly that name too. An id without a contact is accepted; it
    /// has no card. Throws a failure for a bare age recipient, for a beginning that fits several contacts, and if
    /// nothing fits.
    public func find(_ argument: String) throws -> Correspondent {
        if ContactName.meansOwner(argument) { return try own(argument) }
        if Addressee.isWhisper2(argument) { return try known(whisper2(argument)) }
        if Addressee.isWritten(argument) { return try known(Addressee.card(argument)) }
        let isFile = Addressee.isFile(argument)
        if !argument.contains("/"), argument != "-", !isFile || loaded.isReady {
            let found = try lookUp(argument)
            if isFile, let found, found.name.lowercased() == argument.lowercased() {
                let card = try? Addressee.card(argument)
                guard card?.id == found.id else {
                    throw Failure(
                        .usage, "\(argument) is a contact and a file",
                        hint: "say ./\(argument) or the id")
                }
            }
            if !isFile, let found {
                return Correspondent(id: found.id, card: found.card, contact: found)
            }
        }
        if !isFile, argument != "-", !argument.contains("/") {
            if let id = SessionID(argument) {
                return try id == identity().id
                    ? own(argument) : Correspondent(id: id, card: nil, contact: nil)
            }
            throw Failure(
                .noInput, "\(argument) is no file and no contact",
                hint: "see the contacts: contact list")
        }
        return try known(Addressee.card(argument))
    }

    /// Whom `argument` names, as the recipient of a file: also a bare `age1…`.
    public func addressee(_ argument: String) throws -> Addressee {
        if ContactName.meansOwner(argument) { return .card(try ownCard(argument)) }
        // What holds a recipient itself may be a bare one, which no contact is.
        if Addressee.isWritten(argument) || argument == "-" || argument.contains("/") {
            return try checked(Addressee.find(argument))
        }
        if Addressee.isFile(argument), case .recipient(let bare) = try Addressee.find(argument) {
            return .recipient(bare)
        }
        let found = try find(argument)
        try check(found, nil)
        guard let card = found.card else {
            throw Failure(
                .noKey, "there is no card of \(found.name)",
                hint: "get it: \(cardLookupCommand(found.id))")
        }
        return .card(card)
    }

    /// The card of the identity itself, which `argument` names.
    ///
    /// Throws a failure with status 64 where a file or a contact has that name too.
    public func ownCard(_ argument: String) throws -> Card {
        let identity = try identity()
        guard ContactName.meansOwner(argument) else { return identity.card() }
        if Addressee.isFile(argument) {
            throw Failure(
                .usage, "\(argument) is your own identity and a file",
                hint: "for the file write ./\(argument)")
        }
        if case .found(let contact) = try store()?.resolve(argument) ?? .unknown,
            ContactName.meansOwner(contact.name)
        {
            throw Failure(
                .usage, "\(argument) is your own identity, and a contact has that name",
                hint: "give the contact another name: contact rename \(contact.id.short) other")
        }
        return identity.card()
    }

    private func own(_ argument: String) throws -> Correspondent {
        let card = try ownCard(argument)
        return Correspondent(id: card.id, card: card, contact: nil, isOwn: true)
    }

    /// The contact that a name, an id or the beginning of one means.
    public func lookUp(_ text: String) throws -> Contact? {
        guard let store = try store() else { return nil }
        switch try store.resolve(text) {
        case .found(let contact): return contact
        case .unknown: return nil
        case .ambiguous(let names):
            let shown = names.prefix(8).joined(separator: ", ") + (names.count > 8 ? ", …" : "")
            throw Failure(
                .usage, "\(text) fits several contacts: \(shown)", hint: "write more of it")
        }
    }

    /// A recipient of a file, refused as ``check(_:_:)`` does if it is a card.
    public func checked(_ addressee: Addressee) throws -> Addressee {
        guard case .card(let card) = addressee else { return addressee }
        let person = try known(card)
        try check(person, nil)
        return .card(person.card ?? card)
    }

    /// The account behind a `whisper2:` URL, also of one without its signing key.
    ///
    /// Throws ``Whisper2AddURLError``, and a failure with status 12 where a contact has that account with other keys.
    /// Contacts are known if the identity has been read already.
    public func whisper2(_ url: String) throws -> Whisper2Contact {
        let account = try Whisper2AddURL.contact(url)
        for contact in try contacts(of: account) {
            guard let kept = contact.spokenProfiles.whisper2 else { continue }
            guard account.agrees(with: kept) else { throw Failure.changedAccount(of: contact) }
            if kept.signingKey != nil { return kept }
        }
        return account
    }

    private func contacts(of account: Whisper2Contact) throws -> [Contact] {
        guard loaded.isReady, let store = try store() else { return [] }
        return try store.contacts().filter { $0.spokenProfiles.whisper2?.id == account.id }
    }

    /// An account, and the contact whose own it is: one who was merely introduced with it does not count.
    private func known(_ account: Whisper2Contact) throws -> Correspondent {
        let profiles = Profiles(whisper2: account)
        if let contact = try contacts(of: account).first {
            return Correspondent(id: contact.id, card: nil, contact: contact, profiles: profiles)
        }
        guard let key = account.signingKey else { throw Failure.noSigningKey }
        let id = SessionID(publicKey: key)
        let contact = loaded.isReady ? try store()?.contact(id: id) : nil
        if let contact, let kept = contact.spokenProfiles.whisper2, !account.agrees(with: kept) {
            throw Failure.changedAccount(of: contact)
        }
        return Correspondent(id: id, card: nil, contact: contact, profiles: profiles)
    }

    /// A card, and the contact of its id if the identity has been read already. Of two cards of the same keys, the one
    /// with the post-quantum key serves, and of two signed ones the later: an address that was revoked is not used again.
    private func known(_ card: Card) throws -> Correspondent {
        if loaded.isReady, try identity().id == card.id {
            // Only the owner's signature proves an encryption key to be the owner's.
            let own = card.record == nil ? try identity().card() : card
            return Correspondent(id: card.id, card: own, contact: nil, isOwn: true)
        }
        let contact = try knownStore()?.contact(id: card.id)
        var card = card
        if let kept = contact?.card, contact?.agrees(with: card) == true,
            card.hybrid == nil && kept.hybrid != nil || kept.isNewer(than: card)
        {
            card = kept
        }
        return Correspondent(id: card.id, card: card, contact: contact)
    }

    /// Reads the identity, if that asks nobody for a passphrase, so that contacts are known where none is needed.
    public func openQuietly(_ options: IdentityOptions) {
        guard options.asksNobody else { return }
        _ = try? loaded.get()
    }
}

/// A value that is made when it is first needed.
private final class Lazily<Value> {
    private let make: () throws -> Value
    private var value: Value?

    init(_ make: @escaping () throws -> Value) { self.make = make }

    var isReady: Bool { value != nil }

    func get() throws -> Value {
        if let value { return value }
        let made = try make()
        value = made
        return made
    }
}
