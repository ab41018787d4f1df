package import Sotto
package import SottoState
import SottoTool

/// Reads records and cards, and takes them into the address book. Contacts that exist are not changed.
package struct ContactImport {
    /// Whether the records are this identity's own signed backup. From other records only names, cards and accounts are
    /// imported.
    private let isOurs: Bool
    private let accounts: any ContactAccounts

    package init(isOurs: Bool, accounts: any ContactAccounts) {
        (self.isOurs, self.accounts) = (isOurs, accounts)
    }

    /// The result of an import.
    package enum Taken {
        /// The contact is new.
        case added
        /// The contact with this name exists.
        case known(String)
        /// The line changed no contact's keys.
        case noted
        /// The contact was not imported.
        case failed(Failure)
    }

    /// Reads a record of the type `contact-entry` or `contact`.
    package func read(_ record: JSONObject) throws -> Contact {
        if record["type"]?.string == "contact" { return try read(Card(record: record)) }
        guard let entry = Contact(record: record),
            [entry.card, entry.changed].allSatisfy({
                $0.map { (try? accounts.verify($0)) != nil } ?? true
            })
        else {
            throw Failure(
                .malformed, "not a contact: a member is missing, malformed or not authentic")
        }
        // An id that was only blocked has no name.
        let isNameless = entry.name.isEmpty && entry.isBlocked && entry.card == nil
        guard isOurs || !isNameless else {
            throw Failure(
                .untrusted, "blocked ids are imported only from your own backup",
                hint: "block the id with sotto contact block ID")
        }
        var contact = Contact(
            name: isNameless ? "" : try ContactName.checked(entry.name), id: entry.id,
            card: entry.card,
            trust: !entry.id.isKey
                ? .unverified
                : isOurs && !isNameless && entry.trust == .verified
                    ? .verified : isOurs && entry.doubt != nil ? .unverified : .trusted,
            added: isOurs ? entry.added : .now())
        // A block deletes mail, so another user's file must not set it.
        contact.isBlocked = isOurs && entry.isBlocked
        if isNameless { return contact }
        contact.accounts = entry.accounts
        guard isOurs else { return contact }
        contact.suite = entry.suite
        contact.getsReceipts = entry.getsReceipts
        contact.getsTyping = entry.getsTyping
        contact.getsPresence = entry.getsPresence
        contact.seenDetails = entry.seenDetails
        contact.getsRepeats = entry.getsRepeats
        contact.changed = entry.changed
        (contact.former, contact.doubt) = (entry.former, entry.doubt)
        contact.compared = entry.compared
        contact.takeAddresses(of: entry)
        return contact
    }

    /// Reads a card. It must have a name.
    package func read(_ card: Card) throws -> Contact {
        try accounts.verify(card)
        guard !card.name.isEmpty else {
            throw Failure(
                .usage, "the card has no name",
                hint: "give it a name with sotto contact add --name NAME FILE")
        }
        return Contact(name: try ContactName.checked(card.name), id: card.id, card: card)
    }

    /// Adds a contact that ``read(_:)`` returned.
    package func take(_ contact: Contact, _ transaction: StateTransaction) throws -> Taken {
        guard contact.id != transaction.owner.id else {
            return .failed(Failure(.usage, "this is your own id"))
        }
        if let failure = try transaction.refusal(of: contact.card) {
            return .failed(failure)
        }
        if let known = try transaction.contact(id: contact.id) {
            if let card = contact.card,
                !(known.hasKeys(of: card) && accounts.agree(card, with: known))
            {
                return .failed(
                    Failure(
                        .untrusted,
                        "the keys differ from those of the contact \(known.name); nothing was changed",
                        hint: "offer the changed key with sotto contact add FILE"))
            }
            if isOurs { try restoreAddresses(of: contact, to: known, transaction) }
            return .known(known.name.isEmpty ? known.id.short + "…" : known.name)
        }
        if !contact.name.isEmpty, let other = try transaction.contact(named: contact.name) {
            return .failed(
                Failure(
                    .untrusted,
                    "the key differs from that of the contact \(other.name); nothing was changed",
                    hint: "offer the changed key with sotto contact add FILE"))
        }
        if contact.doubt != .revoked, !contact.name.isEmpty, try transaction.isRevoked(contact.id) {
            return .failed(ContactError.revoked(contact.id).failure)
        }
        do {
            try accounts.check(contact, replacing: nil, in: transaction)
        } catch let failure as Failure {
            return .failed(failure)
        }
        try transaction.save(contact)
        return .added
    }

    /// Adds the addresses of the backup to an existing contact. Otherwise mail to them would be stored and never read.
    private func restoreAddresses(
        of entry: Contact, to known: Contact, _ transaction: StateTransaction
    ) throws {
        guard !known.name.isEmpty else { return }
        var contact = known
        contact.takeAddresses(of: entry)
        if contact != known { try transaction.save(contact) }
    }
}
