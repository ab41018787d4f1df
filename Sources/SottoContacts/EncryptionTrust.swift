public import Sotto
import SottoState
public import SottoTool

/// The rules for the keys to which a message may be encrypted.
extension AddressBook {
    /// Throws a failure with status 12 if a correspondent is blocked, has an unconfirmed key change, or has a key that
    /// does not satisfy `policy`. The checked key is the one that `suite` encrypts to; for `nil`, the key of the card.
    ///
    /// `TrustPolicy.verified` accepts only keys that were compared, or that a compared key signed. Without a policy,
    /// messages to a verified contact are not encrypted to a key that was not compared either.
    public func check(
        _ person: Correspondent, suite: Suite? = nil, _ policy: TrustPolicy?
    ) throws {
        if person.isOwn { return }
        try checkKeyChange(person)
        try checkHasKey(person)
        try checkTrust(person, policy)
        try checkKey(of: person, suite, policy)
    }

    package func checkKeyChange(_ person: Correspondent) throws(Failure) {
        guard let contact = person.contact else { return }
        let name = person.name
        if contact.isBlocked {
            throw Failure(
                .untrusted, "\(name) is blocked", hint: "sotto contact unblock \(contact.argument)")
        }
        if let failure = contact.doubtFailure { throw failure }
        if contact.changed != nil {
            throw Failure(
                .untrusted, "a different key was received for \(name) and is not accepted yet",
                hint: contact.changedKeyHint)
        }
        // The id is the same, but the encryption key differs: a signed card or a scan must decide which one is right. A device of the
        // contact has its own key, and the contact's list names it.
        if let card = person.card, person.id == contact.id, !agree(card, with: contact) {
            throw Failure(
                .untrusted, "the encryption key on this card differs from the key of \(name)",
                hint:
                    "use the name \(name) for the known key, or offer the new key with sotto contact add FILE"
            )
        }
    }

    /// Throws a failure with status 10 for a contact of whom only an account in another messenger is known.
    private func checkHasKey(_ person: Correspondent) throws(Failure) {
        guard let contact = person.contact, person.card == nil,
            let messenger = contact.accounts.members.first?.name, !contact.id.isKey
        else { return }
        throw Failure(
            .noKey, "only an account in another messenger is known of \(person.name)",
            hint: "write to the account: sotto bridge seal \(messenger) --to \(contact.argument)")
    }

    package func checkTrust(_ person: Correspondent, _ policy: TrustPolicy?) throws {
        switch policy {
        case .verified where person.trust != .verified:
            throw Failure(
                .untrusted, "the key of \(person.name) has not been verified",
                hint: "compare the safety number: sotto fingerprint --with \(person.argument)")
        case .firstUse where person.contact == nil:
            throw Failure(
                .untrusted, "\(person.name) is not a contact",
                hint:
                    "get the card and add it: \(cardLookupCommand(person.id, name: person.contact?.name, relay: person.card?.relay))"
            )
        case .any: break
        case nil, .firstUse, .verified:
            guard person.contact == nil, let claimed = person.card?.name, !claimed.isEmpty,
                let other = try knownView({ try $0.contact(named: claimed) }) ?? nil,
                !other.isBlocked
            else { break }
            throw Failure(
                .untrusted,
                "the card has the name \(claimed), but the contact with that name has a different key",
                hint:
                    "add the card with sotto contact add FILE as a new key of this contact, or with --name NAME as another person; --trust any uses it once"
            )
        }
    }

    private func checkKey(
        of person: Correspondent, _ suite: Suite?, _ policy: TrustPolicy?
    ) throws(Failure) {
        guard let contact = person.contact, person.id == contact.id else { return }
        switch suite {
        case nil, .sealed:
            guard let card = person.card, !contact.vouches(for: card) else { return }
            switch policy {
            case .any, .firstUse: return
            case nil:
                guard contact.trust == .verified, card != contact.card else { return }
            case .verified: break
            }
            throw Failure(
                .untrusted,
                "\(person.name) is verified, but the encryption key on this card was not compared",
                hint:
                    "get the signed card: \(cardLookupCommand(person.id, name: person.contact?.name, relay: person.card?.relay))"
            )
        case .ratchet, .phrase, .group: return
        }
    }
}

extension Correspondent {
    /// The argument that names the correspondent, quoted for the shell.
    package var argument: String {
        guard let contact, !contact.name.isEmpty else { return id.description }
        return contact.argument
    }
}
