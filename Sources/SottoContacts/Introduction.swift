public import Sotto
public import SottoState
public import SottoTool

/// What came of showing a card to the address book.
public enum Introduction: Sendable {
    /// A new contact.
    case added(Contact)
    /// A known contact. The card has more than the kept one.
    case completed(Contact)
    /// A known contact. Nothing has changed.
    case known(Contact)
    /// A known contact. The kept card was signed later than this one, and nothing has changed.
    case outdated(Contact)
    /// Another key than the contact's. It is kept beside the old one until somebody decides, in place of `replaced`
    /// if that was offered before.
    case changed(Contact, replaced: Card?)
}

extension StateTransaction {
    /// Takes a card into the address book, under `name` or else the name that is on it.
    ///
    /// Who is known keeps the name that we gave. Throws a failure with status 64 for the owner's own card and for a
    /// name that does not serve, and 12 for an unsigned card of a verified contact who has none.
    public func introduce(_ card: Card, as name: String?) throws -> Introduction {
        guard card.id != owner.id else {
            throw Failure(
                .usage, "this is your own card", hint: "give it to others: keygen public")
        }
        let known = try contact(id: card.id)
        if var known, !known.name.isEmpty {
            guard known.agrees(with: card) else { return try offer(card, instead: known) }
            guard card.says(moreThan: known.card) else {
                return known.card?.isNewer(than: card) == true ? .outdated(known) : .known(known)
            }
            // The comparison was of the id, and nothing ties this encryption key to the id.
            if card.record == nil, known.trust == .verified {
                throw Failure(
                    .untrusted, "\(known.name) is verified, and this card is not signed",
                    hint: "get the signed card: \(cardLookupCommand(known.id, relay: card.relay))")
            }
            try check(card.profiles, of: card.id)
            known.keep(card)
            try save(known)
            return .completed(known)
        }
        let name = try ContactName.checked(name ?? card.name)
        if let other = try contact(named: name), other.id != card.id {
            return try offer(card, instead: other)
        }
        try check(card.profiles, of: card.id)
        var contact = Contact(name: name, id: card.id, card: card)
        contact.isBlocked = known?.isBlocked ?? false
        try save(contact)
        return .added(contact)
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
    /// Whether this card replaces one of the same keys: a signed card replaces a URI, and of two signed cards the one
    /// that was issued later counts. In the same second the one that is shown last counts. A card without a date does
    /// not replace one with a date, nor take away accounts. No card replaces one that has a post-quantum key unless it
    /// has it too.
    public func says(moreThan old: Card?) -> Bool {
        guard let old else { return true }
        guard let record, hybrid != nil || old.hybrid == nil, old.record != record else {
            return false
        }
        guard let before = old.issued else {
            return issued != nil || profiles.cover(old.profiles)
        }
        return issued.map { $0.seconds >= before.seconds } ?? false
    }

    /// Whether this card is signed and was issued later than another signed card of the same id. A card without a date
    /// is older than one with a date.
    public func isNewer(than other: Card) -> Bool {
        guard id == other.id, record != nil, other.record != nil, let issued else { return false }
        return other.issued.map { issued.seconds > $0.seconds } ?? true
    }

    /// Whether this is the very card: the same record, or the same URI.
    func isSame(as other: Card) -> Bool {
        record == other.record && (record != nil || uri.text == other.uri.text)
    }
}

extension SessionID {
    /// How much of an id is shown, and may stand for that of a stranger.
    public static let shortLength = 16

    /// Its beginning: enough to type and to tell it from others.
    public var short: String { String(description.prefix(Self.shortLength)) }
}

extension Failure {
    /// The failure of a lookup that found nobody.
    public static func noContact(_ text: String) -> Failure {
        Failure(.noInput, "\(text) is no contact", hint: "see the contacts: contact list")
    }

    /// What is said when a key is not the one that is known, status 12. `replaced` is what was offered before.
    public static func changedKey(of contact: Contact, replaced: Card? = nil) -> Failure {
        let name = shellWord(contact.name)
        var message = "this is another key than the one that \(contact.name) has"
        if let replaced, let new = contact.changed {
            message +=
                replaced.id == new.id
                ? "; it takes the place of another card of \(new.id.short)…, which was offered before"
                : "; \(new.id.short)… takes the place of \(replaced.id.short)…, which was offered before"
        }
        return Failure(
            .untrusted, "\(message); nothing is sent to \(contact.name) now",
            hint:
                "after asking \(contact.name) in another way: \(contact.acceptKeyCommand), or contact keep-key \(name)"
        )
    }
}

extension Contact {
    /// The name as a word of the shell, or the beginning of the id if the name is empty.
    public var argument: String { name.isEmpty ? id.short : shellWord(name) }

    /// What to type to take the key that is offered, and no other.
    public var acceptKeyCommand: String {
        let command = "contact accept-key \(shellWord(name))"
        // Of the same id there is nothing to tell them apart by.
        guard let changed, changed.id != id else { return command }
        return "\(command) \(changed.id.short)"
    }
}

/// The command that fetches the signed card of an id from a relay's directory and keeps it. `relay` is the relay that
/// its owner named, if any.
public func cardLookupCommand(_ id: SessionID, relay: String? = nil) -> String {
    guard let relay else { return "recv --card \(id) | contact add" }
    return "recv --relay \(shellWord(relay)) --card \(id) | contact add"
}
