import Arguments
public import Sotto
public import SottoState
public import SottoTool

/// The person that an argument names, with the known keys.
public struct Correspondent: Sendable {
    /// The person's id.
    public let id: KeyID
    /// The card to encrypt to: the card of the argument, or the contact's. `nil` if no card is known.
    public let card: Card?
    /// The contact with that id.
    public let contact: Contact?

    /// The displayed name: the contact's name, the card's, or the id.
    public var name: String {
        if let contact, !contact.name.isEmpty { return contact.name }
        if let card, !card.name.isEmpty { return card.name }
        return accountName ?? id.description
    }

    /// The accounts in other messengers that the argument itself names, verified by ``ContactAccounts``; `nil` if it names none.
    public let accounts: JSONObject?

    /// The name of the account that the argument names, or `nil`.
    private let accountName: String?

    /// Whether the person is the owner of the address book.
    public let isOwn: Bool

    /// The trust in the person's key.
    public var trust: Message.Trust { isOwn ? .verified : contact?.trust ?? .unverified }

    /// Creates a correspondent. `accounts` are the verified accounts that the argument itself names, and `accountName` is the
    /// name to show if no other is known.
    public init(
        id: KeyID, card: Card?, contact: Contact?, accounts: JSONObject? = nil,
        accountName: String? = nil, isOwn: Bool = false
    ) {
        self.id = id
        self.card = card
        self.contact = contact
        self.accounts = accounts
        self.accountName = accountName
        self.isOwn = isOwn
    }
}

/// The address book as the tools use it: a contact's name can be given wherever a card can.
///
/// It is opened at the first lookup of a name, because a card file needs no identity.
public final class AddressBook {
    private let loaded: Lazily<Identity>
    private let opened: Lazily<IdentityStore?>
    private var made: IdentityStore?
    /// The transaction in which names are read, or `nil`.
    private var transaction: StateTransaction?
    private let lockTimeout: Double?
    /// The rules for accounts in other messengers.
    public let accounts: any ContactAccounts

    /// Creates the address book of the identity that `load` reads once. `lockTimeout` is the number of seconds to wait
    /// for another process; `nil` creates an address book without contacts, which does not use the state.
    public init(
        _ load: @escaping () throws -> Identity, lockTimeout: Double?,
        accounts: any ContactAccounts = OpaqueAccounts()
    ) {
        self.lockTimeout = lockTimeout
        self.accounts = accounts
        let loaded = Lazily(load)
        self.loaded = loaded
        opened = Lazily {
            guard let lockTimeout, let directory = try StateDirectory.existing() else {
                return nil
            }
            return try IdentityStore.existing(
                in: directory, identity: loaded.get(), lockTimeout: lockTimeout,
                report: Terminal.note, follow: OutboxForwarding.address)
        }
    }

    /// Creates the address book of an open state.
    package init(_ store: IdentityStore, accounts: any ContactAccounts = OpaqueAccounts()) {
        lockTimeout = 0
        self.accounts = accounts
        loaded = Lazily { store.owner }
        opened = Lazily { store }
    }

    /// The identity, read once.
    public func identity() throws -> Identity { try loaded.get() }

    /// Returns the identity's state, or `nil` if there is no state or no identity.
    public func store() throws -> IdentityStore? {
        if let made { return made }
        do {
            return try opened.get()
        } catch let failure as Failure where failure.status == .noInput && !loaded.isReady {
            return nil
        }
    }

    /// Calls `body`, whose look-ups read in a transaction that the caller has.
    package func reading<T>(
        in transaction: StateTransaction, _ body: () throws -> T
    ) rethrows -> T {
        let former = self.transaction
        self.transaction = transaction
        defer { self.transaction = former }
        return try body()
    }

    /// Returns the result of `body` with the state, or `nil` if there is no state or no identity.
    package func view<T>(_ body: (StateTransaction) throws -> T) throws -> T? {
        if let transaction { return try body(transaction) }
        return try store()?.preview { state in try reading(in: state) { try body(state) } }
    }

    /// Changes the state, in the transaction that the caller has, if it has one.
    package func change(_ body: (StateTransaction) throws -> Void) throws {
        if let transaction { return try body(transaction) }
        try store()?.transaction(body)
    }

    /// Returns the result of `body` like ``view(_:)``, but `nil` if the identity has not been read yet.
    package func knownView<T>(_ body: (StateTransaction) throws -> T) throws -> T? {
        loaded.isReady ? try view(body) : nil
    }

    /// Returns the identity's state like ``store()``, but `nil` if the identity cannot be read without a prompt.
    package func existingStoreWithoutPrompt(
        _ choice: IdentityChoice
    ) throws -> IdentityStore? {
        openWithoutPrompt(choice)
        return loaded.isReady ? try store() : nil
    }

    /// Returns the identity's state for writing like ``writableStore()``, or `nil` if the identity cannot be read without
    /// a prompt.
    public func storeWithoutPrompt(_ choice: IdentityChoice) throws -> IdentityStore? {
        openWithoutPrompt(choice)
        return loaded.isReady ? try writableStore() : nil
    }

    /// Returns the identity's state for writing; creates it if it does not exist. Throws a failure with status 64 if the
    /// state is not used.
    public func writableStore() throws -> IdentityStore {
        guard let lockTimeout else {
            throw Failure(
                .usage, "a session requires the state directory", hint: "omit --stateless")
        }
        if let store = try store() { return store }
        let store = try IdentityStore(
            directory: .standard(), identity: identity(), lockTimeout: lockTimeout,
            report: Terminal.note, follow: OutboxForwarding.address)
        made = store
        return store
    }

    /// Returns the correspondent that `argument` names: a `sotto:` URI, a card file, a contact, an id, an account of
    /// ``ContactAccounts``, or `me`, the owner of the identity.
    ///
    /// An existing file is used, unless a contact has exactly that name too. An id without a contact is accepted; it
    /// has no card. Throws a failure for a name that is both a file and another contact, for a bare age recipient, for
    /// a part of a name that `use` does not permit, and if nothing matches.
    public func find(_ argument: String, for use: NameUse) throws -> Correspondent {
        let argument = RecipientArgument.pasted(argument)
        if ContactName.meansOwner(argument) { return try own(argument) }
        if let found = try accounts.find(argument, in: self) { return found }
        if RecipientArgument.isWritten(argument) {
            return try known(RecipientArgument.card(argument))
        }
        let isFile = RecipientArgument.isFile(argument)
        if !argument.contains("/"), argument != "-", !isFile || loaded.isReady {
            let found =
                try isFile
                ? view { try $0.contact(named: argument) } ?? nil : lookUp(argument, for: use)
            if isFile, let found {
                let card = try? RecipientArgument.card(argument)
                guard card?.id == found.id else {
                    throw Failure(
                        .usage, "\(argument) is both a contact and a file",
                        hint: "for the file use ./\(argument), for the contact its id")
                }
            }
            if !isFile, let found {
                return Correspondent(id: found.id, card: found.card, contact: found)
            }
        }
        if !isFile, argument != "-", !argument.contains("/") {
            if let id = KeyID(argument) {
                return try id == identity().id
                    ? own(argument) : Correspondent(id: id, card: nil, contact: nil)
            }
            guard !RecipientArgument.isURI(argument) else { throw Failure.otherURI }
            if let hint = groupHint(for: argument) {
                throw Failure(.noInput, "\(argument) is a group, and not a contact", hint: hint)
            }
            throw Failure(
                .noInput,
                "no contact, group or file has the name \(argument)"
                    + (lockTimeout == nil ? ", because --stateless has no contacts" : "")
                    + suggestion(for: argument, among: contactNames()),
                hint: lockTimeout == nil
                    ? "use a card file, a sotto: URI, or omit --stateless"
                    : requestHint(for: argument) ?? welcomeHint()
                        ?? "list the contacts: sotto contact list, or show how to add one: sotto add --help"
            )
        }
        return try known(RecipientArgument.card(argument))
    }

    /// Returns the hint for a name that no contact has and that a waiting sender claims, or `nil`.
    package func requestHint(for name: String) -> String? {
        let waiting = (try? view { try $0.requests() }) ?? nil ?? []
        guard waiting.contains(where: { $0.card?.name.lowercased() == name.lowercased() }) else {
            return nil
        }
        return "a message request with this name waits: sotto contact requests"
    }

    /// Returns the hint for a device that has no contacts yet, or `nil`.
    private func welcomeHint() -> String? {
        guard let identity = try? identity(), identity.owner != nil, contactNames().isEmpty else {
            return nil
        }
        return "machine one sends the contacts to this machine: sotto read"
    }

    /// Returns the names of the contacts for a suggestion.
    private func contactNames() -> [String] {
        ((try? view { try $0.allContacts().map(\.name).filter { !$0.isEmpty } }) ?? nil) ?? []
    }

    /// Returns the recipient that `argument` names as a whole, for the encryption of a file. Also accepts a bare `age1…`.
    public func fileRecipient(_ argument: String) throws -> RecipientArgument {
        if ContactName.meansOwner(argument) { return .card(try ownCard(argument)) }
        // A literal recipient may be a bare age recipient, which a contact cannot be.
        if RecipientArgument.isWritten(argument) || argument == "-" || argument.contains("/") {
            return try checked(RecipientArgument.find(argument))
        }
        if RecipientArgument.isFile(argument),
            case .recipient(let bare) = try RecipientArgument.find(argument)
        {
            return .recipient(bare)
        }
        let found = try find(argument, for: .acting)
        try check(found, nil)
        guard let card = found.card else {
            throw Failure(
                .noKey, "no card of \(found.name) is known",
                hint: "get the card: \(cardLookupCommand(found.id, name: found.contact?.name))")
        }
        return .card(card)
    }

    /// Returns the card of the identity itself, which `argument` names.
    ///
    /// Throws a failure with status 64 if a file or a contact has that name too.
    public func ownCard(_ argument: String) throws -> Card {
        let identity = try identity()
        guard ContactName.meansOwner(argument) else { return identity.card() }
        if RecipientArgument.isFile(argument) {
            throw Failure(
                .usage, "\(argument) is both your own identity and a file",
                hint: "for the file use ./\(argument)")
        }
        if let contact = try view({ try $0.contact(named: argument) }) ?? nil {
            throw Failure(
                .usage, "\(argument) is both your own identity and a contact",
                hint: "rename the contact: sotto contact rename \(contact.id.short) other")
        }
        return identity.card()
    }

    private func own(_ argument: String) throws -> Correspondent {
        let card = try ownCard(argument)
        return Correspondent(id: try identity().id, card: card, contact: nil, isOwn: true)
    }

    /// Returns the contact that a name or an id means, as ``NameRule`` says, or `nil`. Throws a failure with status 64 for a part
    /// of a name that `use` does not permit.
    public func lookUp(_ text: String, for use: NameUse) throws -> Contact? {
        try view { state in
            if let whole = try state.contact(named: text) { return whole }
            if let id = KeyID(text) { return try state.contact(id: id) }
            let contacts = try state.allContacts()
            let found = try meaning(of: text, among: contacts.map(NameRule.Known.init), for: use)
            return contacts.first { $0.id == found?.peer }
        } ?? nil
    }

    /// Returns what a name means, as ``NameRule`` says. Throws a failure with status 64.
    package func meaning(
        of text: String, among known: [NameRule.Known], for use: NameUse
    ) throws(Failure) -> Conversation? {
        do throws(NameError) {
            return try NameRule.meaning(of: text, among: known, for: use)
        } catch {
            throw Failure(error)
        }
    }

    /// Returns a recipient of a file; refuses a card for the reasons of ``check(_:suite:_:)``.
    public func checked(_ target: RecipientArgument) throws -> RecipientArgument {
        guard case .card(let card) = target else { return target }
        let person = try known(card)
        try check(person, nil)
        return .card(person.card ?? card)
    }

    /// Returns a card with the contact of its id if the identity has been read already. Of two cards with the same
    /// keys, the one with the post-quantum key is used; of two signed ones, the later: an address that was revoked is
    /// not used again.
    ///
    /// Throws an error for a card with an account that ``ContactAccounts/verify(_:)`` refuses.
    private func known(_ card: Card) throws -> Correspondent {
        try accounts.verify(card)
        if loaded.isReady, try identity().id == card.id {
            // Only the owner's signature proves that an encryption key belongs to the owner.
            let own = card.record == nil ? try identity().card() : card
            return Correspondent(id: card.id, card: own, contact: nil, isOwn: true)
        }
        let contact = try knownView { try $0.contact(id: card.id) } ?? nil
        var card = card
        if let kept = contact?.card, contact.map({ agree(card, with: $0) }) == true,
            card.hybrid == nil && kept.hybrid != nil || kept.isNewer(than: card)
        {
            card = kept
        }
        return Correspondent(id: card.id, card: card, contact: contact)
    }

    /// Returns whether a card has the keys of a contact, and the accounts on it agree with the confirmed ones of the contact.
    func agree(_ card: Card, with contact: Contact) -> Bool {
        contact.hasKeys(of: card) && accounts.agree(card, with: contact)
    }

    /// Reads the identity if no passphrase prompt is needed, so that contacts are known.
    public func openWithoutPrompt(_ choice: IdentityChoice) {
        guard choice.needsNoPrompt else { return }
        _ = try? loaded.get()
    }
}

/// A value that is created at its first use.
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
