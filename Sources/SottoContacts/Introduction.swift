public import Sotto
public import SottoState
import SottoTool

/// The result of adding a card to the address book.
public enum Introduction: Sendable {
    /// A new contact. The card was offered as a new key of `others`, who keep their own: it is of another person.
    case added(Contact, others: [Contact] = [])
    /// A known contact. The card has more data than the stored one and was stored.
    case completed(Contact)
    /// A known contact. Nothing has changed.
    case known(Contact)
    /// A known contact. The stored card was signed later than this one, and nothing has changed.
    case outdated(Contact)
    /// The key differs from the contact's. The card is stored next to the old one until the user decides. It replaces
    /// `replaced` if that was offered before.
    case changed(Contact, replaced: Card?)
}

extension StateTransaction {
    /// Adds a card to the address book, under `name` or else the name on the card.
    ///
    /// A known contact keeps the name that the user gave. Throws a failure with status 64 for the owner's own card and
    /// for an invalid name, 12 for a revoked id and for an unsigned card of a verified contact without a card, and 65 for the
    /// address of another person. Throws the error of `accounts` for an account on the card that they refuse.
    public func introduce(
        _ card: Card, as name: String?, accounts: any ContactAccounts
    ) throws -> Introduction {
        guard card.id != owner.id else {
            throw Failure(
                .usage, "this is your own card",
                hint: "give it to others: sotto keygen public --json")
        }
        try accounts.verify(card)
        if let failure = try refusal(of: card) { throw failure }
        guard try !isRevoked(card.id) else { throw ContactError.revoked(card.id) }
        let known = try contact(id: card.id)
        if var known, !known.name.isEmpty {
            guard known.hasKeys(of: card), accounts.agree(card, with: known) else {
                return try offer(card, instead: known)
            }
            guard card.supersedes(known.card) else {
                return known.card?.isNewer(than: card) == true ? .outdated(known) : .known(known)
            }
            // The user compared the id, and this encryption key is not bound to the id.
            if card.record == nil, known.trust == .verified {
                throw Failure(
                    .untrusted, "\(known.name) is verified, but this card is not signed",
                    hint:
                        "get the signed card: \(cardLookupCommand(known.id, name: known.name, relay: card.relay))"
                )
            }
            try accounts.check(
                Contact(name: known.name, id: card.id, card: card), replacing: nil, in: self)
            known.keep(card)
            try save(known)
            return .completed(known)
        }
        let name = try ContactName.checked(name ?? card.name)
        if let other = try contact(named: name), other.id != card.id {
            return try offer(card, instead: other)
        }
        var contact = Contact(name: name, id: card.id, card: card)
        try accounts.check(contact, replacing: nil, in: self)
        contact.isBlocked = known?.isBlocked ?? false
        try save(contact)
        return .added(contact, others: try withdraw(card))
    }

    /// Ends the offer of a card as a new key of other contacts, except of one whose own key signed it. Returns these contacts.
    private func withdraw(_ card: Card) throws -> [Contact] {
        var others: [Contact] = []
        for var other in try allContacts()
        where other.id != card.id && other.changed?.id == card.id {
            guard try news(of: other.id).succession?.next != card.id else { continue }
            other.changed = nil
            try save(other)
            others.append(other)
        }
        return others
    }

    /// Returns the failure for a card that no contact can have, or `nil`: one for which ``addressFailure(of:)`` or
    /// ``deviceFailure(of:)`` has a reason.
    package func refusal(of card: Card?) throws(StateError) -> Failure? {
        if let failure = try addressFailure(of: card) { return failure }
        return try deviceFailure(of: card)
    }

    /// Returns the failure for the card of a device, and for a card whose list of devices is older than the known one or contradicts it.
    package func deviceFailure(of card: Card?) throws(StateError) -> Failure? {
        guard let card else { return nil }
        let known = try card.owner == nil ? person(ofDevice: card.id) : card.owner
        if let person = known {
            let contact = try readableContact(id: person)
            let whose = person == owner.id ? "yours" : contact?.argument ?? person.short + "…"
            return Failure(
                .usage, "this is the card of a device of \(whose), and not of a person",
                hint: person == owner.id
                    ? "list your devices: sotto device list"
                    : "get the card of the person: \(cardLookupCommand(person, relay: card.relay))"
            )
        }
        guard let list = card.devices, let before = try devices(of: list.owner) else { return nil }
        if list.isFork(of: before) {
            return Failure(
                .untrusted,
                "the card names other devices than the known card, under the same number: somebody else can have the key of \(card.id.short)…",
                hint: "ask its owner on another channel; nothing was changed")
        }
        guard list.seq < before.seq else { return nil }
        return Failure(
            .untrusted, "the card has an earlier list of devices than the known card",
            hint:
                "ask its owner to publish the present one, on machine one: sotto keygen public --send"
        )
    }

    /// Returns the failure for a card whose address is the id of the owner, or the id or the address of another contact: they
    /// would get the mail.
    package func addressFailure(of card: Card?) throws(StateError) -> Failure? {
        guard let card, let address = card.address, address != card.id else { return nil }
        var other = try readableContact(id: address)
        if other == nil, let holder = try contact(withAddress: address), holder.id != card.id {
            other = holder
        }
        let name: String? = address == owner.id ? "you" : other?.argument
        return name.map { name in
            Failure(
                .malformed, "messages to this card would go to \(name)",
                hint: "ask its owner for another card")
        }
    }

    private func offer(_ card: Card, instead contact: Contact) throws -> Introduction {
        var contact = contact
        let former = contact.changed.flatMap { $0.isSame(as: card) ? nil : $0 }
        contact.changed = card
        try save(contact)
        return .changed(contact, replaced: former)
    }
}

extension Card {
    /// Returns whether this card replaces one with the same keys. A signed card replaces a URI, and of two signed cards
    /// the later one is used, which a later list of devices shows, or else the date; if both were signed in the same second,
    /// the one added last. A card without a date does
    /// not replace a card with a date and does not remove accounts. A card without a post-quantum key does not replace
    /// one that has it.
    public func supersedes(_ old: Card?) -> Bool {
        guard let old else { return true }
        guard let record, hybrid != nil || old.hybrid == nil, old.record != record else {
            return false
        }
        // The number of a list never falls, whatever the clock of its owner says.
        if let list = devices, old.devices != nil, list.supersedes(old.devices) { return true }
        guard let before = old.issued else {
            return issued != nil
                || old.accounts.members.allSatisfy { accounts[$0.name] != nil }
        }
        return issued.map { $0.seconds >= before.seconds } ?? false
    }

    /// Returns whether this card is signed and was issued later than another signed card of the same id. A card without
    /// a date is older than one with a date.
    public func isNewer(than other: Card) -> Bool {
        guard id == other.id, record != nil, other.record != nil, let issued else { return false }
        return other.issued.map { issued.seconds > $0.seconds } ?? true
    }

    /// Returns whether both are the same card: the same record, or the same URI.
    func isSame(as other: Card) -> Bool {
        record == other.record && (record != nil || uri.text == other.uri.text)
    }
}

extension KeyID {
    /// The length of an abbreviated id as displayed and accepted as an argument, in characters.
    public static let shortLength = NameRule.idLength

    /// The first characters of the id, enough to type and to distinguish it.
    public var short: String { String(description.prefix(Self.shortLength)) }
}

extension Failure {
    /// The failure for an argument that matches no contact. `hint` replaces the hint that lists the contacts.
    public static func noContact(_ text: String, hint: String? = nil) -> Failure {
        Failure(
            .noInput, "\(RecipientArgument.shown(text)) is not a contact",
            hint: hint ?? "list the contacts: sotto contact list")
    }

    /// The failure for a key that differs from the known one, status 12. `replaced` is the card that was offered
    /// before.
    public static func changedKey(of contact: Contact, replaced: Card? = nil) -> Failure {
        var message = "this key differs from the key of the contact \(contact.name)"
        if let replaced, let new = contact.changed {
            message +=
                replaced.id == new.id
                ? "; it replaces another card of \(new.id.short)…, which was offered before"
                : "; \(new.id.short)… replaces \(replaced.id.short)…, which was offered before"
        }
        return Failure(
            .untrusted, "\(message); no messages are sent to \(contact.name) until you decide",
            hint: contact.changedKeyHint)
    }
}

extension Contact {
    /// The name quoted for the shell, or the beginning of the id if the name is empty.
    public var argument: String { name.isEmpty ? id.short : shellWord(name) }

    /// What the user can do about an offered key. With the id of the contact it is of nobody else.
    package var changedKeyHint: String {
        let other =
            changed.map { $0.id == id } ?? true
            ? "" : "if it is the key of another person, add the card with --name and another name; "
        return other
            + "after asking \(name) on another channel: \(acceptKeyCommand), or sotto contact keep-key \(argument)"
    }

    /// The command that accepts the offered key and no other.
    public var acceptKeyCommand: String {
        let command = "sotto contact accept-key \(shellWord(name))"
        // If the offered card has the same id, the id cannot distinguish them.
        guard let changed, changed.id != id else { return command }
        return "\(command) \(changed.id.short)"
    }
}

/// Returns the command that fetches the signed card of an id from a relay's directory and adds it. `relay` is the relay
/// that its owner named, if any. `name` is the name of the contact with the id, or `nil`.
public func cardLookupCommand(
    _ id: KeyID, name: String? = nil, relay: String? = nil
) -> String {
    let who = name.flatMap { $0.isEmpty ? nil : shellWord($0) } ?? id.description
    guard let relay else { return "sotto recv --card \(who) | sotto contact add" }
    return "sotto recv --relay \(shellWord(relay)) --card \(who) | sotto contact add"
}
