public import Sotto
import SottoDatabase

/// The address book.
extension IdentityStore {
    /// The minimum length of an abbreviated id, in characters.
    public static let idPrefix = 8

    /// Returns all contacts that can be read, sorted by name.
    public func contacts() throws(StateError) -> [Contact] {
        try use { connection throws(StateError) in try contacts(connection) }
    }

    func contacts(_ connection: StateConnection) throws(StateError) -> [Contact] {
        let rows = try connection.rows("SELECT peer, sealed FROM contact") {
            row throws(StateError) in
            let sealed = row.bytes(1)
            return try readable(.contact, row.bytes(0)) { () throws(StateError) in
                try contact(sealed: sealed)
            }
        }
        return rows.compactMap(\.self).sorted {
            (caseFolded($0.name), $0.id.description) < (caseFolded($1.name), $1.id.description)
        }
    }

    /// Returns our send addresses that contacts were given. The addresses of blocked contacts are left out: their mail
    /// is refused.
    public func addresses() throws(StateError) -> [SendAddress] {
        try contacts().filter { !$0.isBlocked }.compactMap(\.address)
    }

    /// Returns the contact with an id, or `nil`. Throws ``StateError/unsealable(path:)`` for one that cannot be read: the
    /// owner's decisions about it are unknown.
    public func contact(id: KeyID) throws(StateError) -> Contact? {
        try use { connection throws(StateError) in
            try contact(connection, "SELECT sealed FROM contact WHERE peer = ?", mark(id))
        }
    }

    /// Returns the contact with an id, or `nil`, also for one that cannot be read.
    public func readableContact(id: KeyID) throws(StateError) -> Contact? {
        defer { damage.flush() }
        return try readable(.contact, mark(id)) { () throws(StateError) in
            try contact(id: id)
        } ?? nil
    }

    /// Returns the contact with a keyed hash, or `nil`, also for one that cannot be read.
    func contact(marked mark: [UInt8]) throws(StateError) -> Contact? {
        defer { damage.flush() }
        return try readable(.contact, mark) { () throws(StateError) in
            try use { connection throws(StateError) in
                try contact(connection, "SELECT sealed FROM contact WHERE peer = ?", mark)
            }
        } ?? nil
    }

    /// Returns the contact with a whole name, as ``NameRule`` compares names, or `nil`.
    public func contact(named name: String) throws(StateError) -> Contact? {
        try use { connection throws(StateError) in
            try contact(connection, "SELECT sealed FROM contact WHERE name = ?", mark(name: name))
        }
    }

    fileprivate func contact(_ connection: StateConnection, _ sql: String, _ mark: [UInt8])
        throws(StateError) -> Contact?
    {
        try connection.first(sql, mark) { row throws(StateError) in
            try contact(sealed: row.bytes(0))
        }
    }

    private func contact(sealed: [UInt8]) throws(StateError) -> Contact {
        guard let record = try? JSON.object(parsing: try unseal(sealed, .contact)),
            let contact = Contact(stored: record)
        else { throw .unsealable(path: database.path) }
        return contact
    }
}

extension StateTransaction {
    /// Returns the contact with an id, or `nil`.
    public func contact(id: KeyID) throws(StateError) -> Contact? {
        if let known = contacts[id] { return known }
        let found = try store.contact(
            connection, "SELECT sealed FROM contact WHERE peer = ?", store.mark(id))
        contacts[id] = .some(found)
        return found
    }

    /// Returns the contact with a whole name, as ``NameRule`` compares names, or `nil`.
    public func contact(named name: String) throws(StateError) -> Contact? {
        let found = try store.contact(
            connection, "SELECT sealed FROM contact WHERE name = ?", store.mark(name: name))
        if let found { contacts[found.id] = .some(found) }
        return found
    }

    /// Returns the contact with an id, or `nil`, also for one that cannot be read.
    package func readableContact(id: KeyID) throws(StateError) -> Contact? {
        try store.readable(.contact, store.mark(id)) { () throws(StateError) in
            try contact(id: id)
        } ?? nil
    }

    /// Returns all contacts that can be read.
    public func allContacts() throws(StateError) -> [Contact] { try store.contacts(connection) }

    /// Returns the contact whose card has an address, or `nil`.
    package func contact(withAddress address: KeyID) throws(StateError) -> Contact? {
        if cardAddresses == nil {
            let addresses = try allContacts().compactMap { contact in
                contact.card?.address.map { ($0, contact.id) }
            }
            cardAddresses = Dictionary(addresses, uniquingKeysWith: { first, _ in first })
        }
        // A contact whose card was replaced in this transaction can have another address now.
        guard let id = cardAddresses?[address], let holder = try readableContact(id: id),
            holder.card?.address == address
        else { return nil }
        return holder
    }

    /// Returns whether the address book has a contact that is not merely blocked.
    public func hasContacts() throws(StateError) -> Bool {
        if let hasAnyContact { return hasAnyContact }
        let found = try connection.integer(
            "SELECT EXISTS (SELECT 1 FROM contact WHERE name IS NOT NULL)")
        hasAnyContact = found != 0
        return found != 0
    }

    /// Adds or replaces a contact. `formerID` is the id under which it was stored before, if the id changed.
    ///
    /// Throws ``ContactError/nameTaken(_:)`` when another contact has the name, and ``ContactError/revoked(_:)`` for a revoked id.
    public func save(_ contact: Contact, formerID: KeyID? = nil) throws {
        if !contact.name.isEmpty {
            // The contact with the name need not be readable.
            let holder = try connection.first(
                "SELECT peer FROM contact WHERE name = ?", store.mark(name: contact.name)
            ) { $0.bytes(0) }
            let own = ([contact.id] + [formerID].compactMap(\.self)).map(store.mark)
            if let holder, !own.contains(holder) { throw ContactError.nameTaken(contact.name) }
        }
        if !contact.name.isEmpty, contact.doubt != .revoked, try isRevoked(contact.id) {
            throw ContactError.revoked(contact.id)
        }
        if let formerID, formerID != contact.id {
            try remove(id: formerID)
            try nameEarlierMessages(of: contact, with: formerID)
        }
        let isShared = try hasOtherDevices()
        let before = isShared ? try readableContact(id: contact.id) : nil
        try noteForwarding(to: contact)
        // The sender of an opened message waits no more.
        if !contact.name.isEmpty { try forgetCard(of: contact.id) }
        if let address = contact.card?.address { cardAddresses?[address] = contact.id }
        // The address on the owner's card for the contact may differ now.
        withCard.remove(contact.id)
        try write(contact)
        hasAnyContact = nil
        if let list = contact.card?.devices { try take(devices: list) }
        if isShared { try tellDevices(contact, before: before) }
    }

    /// Names the conversation with the former id of a contact, so that its messages are found after the id changed.
    private func nameEarlierMessages(of contact: Contact, with former: KeyID) throws(StateError) {
        guard !contact.name.isEmpty,
            let row = try store.conversationRow(.peer(former), connection), row.settings.name == nil
        else { return }
        let taken = Set(try allConversations().compactMap(\.settings.name))
        let name = "earlier messages of \(contact.name)"
        let free = ([name] + (2...99).map { "\(name) \($0)" }).first { !taken.contains($0) }
        try change(.peer(former)) { $0.name = free }
    }

    private func write(_ contact: Contact) throws(StateError) {
        try connection.run(
            """
            INSERT INTO contact (peer, name, sealed) VALUES (?, ?, ?)
            ON CONFLICT (peer) DO UPDATE SET name = excluded.name, sealed = excluded.sealed
            """, store.mark(contact.id),
            contact.name.isEmpty ? nil : store.mark(name: contact.name),
            store.seal(contact.record.serialized(), .contact))
        contacts[contact.id] = contact
    }

    /// Ends that messages are sent again to a contact without a question.
    func endRepeats(to id: KeyID) throws(StateError) {
        guard var contact = try readableContact(id: id), contact.getsRepeats else { return }
        contact.getsRepeats = false
        try write(contact)
    }

    /// Removes a contact with its profile. Its opened messages and its sessions stay.
    public func remove(id: KeyID) throws(StateError) {
        if try hasOtherDevices(), let contact = try readableContact(id: id) {
            try tellDevices(.contact(id, .removed))
            if contact.isBlocked { try tellDevices(.contact(id, .blocked(false))) }
        }
        try connection.run("DELETE FROM contact WHERE peer = ?", store.mark(id))
        try removeProfile(of: id)
        contacts[id] = .some(nil)
        hasAnyContact = nil
    }
}

extension StateTransaction {
    /// Removes a contact that cannot be read, by its whole name or its id.
    package func remove(unreadable text: String) throws(StateError) {
        try connection.run(
            "DELETE FROM profile WHERE peer IN (SELECT peer FROM contact WHERE name = ?)",
            store.mark(name: text))
        try connection.run("DELETE FROM contact WHERE name = ?", store.mark(name: text))
        if let id = KeyID(text) { try remove(id: id) }
        contacts = [:]
        hasAnyContact = nil
    }
}

/// The reason for which the address book refuses a change.
public enum ContactError: Error, Sendable, Equatable {
    /// Another contact has this name.
    case nameTaken(String)
    /// The owner of the id revoked it.
    case revoked(KeyID)
}

extension ContactError: FailureError {
    /// The message, the hint and the exit status.
    public var failure: Failure {
        switch self {
        case .nameTaken(let name):
            Failure(
                .cannotCreate, "another contact already has the name \(name)",
                hint:
                    "rename the other contact first: sotto contact rename \(shellWord(name)) \(shellWord(name + "-2"))"
            )
        case .revoked(let id):
            Failure(
                .untrusted, "the id \(id) is revoked by its owner and is never used again",
                hint: "ask its owner on another channel for a card of another id")
        }
    }
}
