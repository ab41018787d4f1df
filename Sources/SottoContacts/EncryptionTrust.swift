public import Sotto
public import SottoMessengers
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
        try checkTrust(person, policy)
        try checkKey(of: person, suite, policy)
    }

    private func checkKeyChange(_ person: Correspondent) throws(Failure) {
        guard let contact = person.contact else { return }
        let name = person.name
        if contact.isBlocked {
            throw Failure(
                .untrusted, "\(name) is blocked", hint: "sotto contact unblock \(contact.argument)")
        }
        if contact.changed != nil {
            throw Failure(
                .untrusted, "a different key was received for \(name) and is not accepted yet",
                hint:
                    "sotto contact accept-key \(contact.argument), or sotto contact keep-key \(contact.argument)"
            )
        }
        // The id is the same, but the encryption key differs: a signed card or a scan must decide which one is right.
        if let card = person.card, !contact.agrees(with: card) {
            throw Failure(
                .untrusted, "the encryption key on this card differs from the key of \(name)",
                hint:
                    "use the name \(name) for the known key, or offer the new key with sotto contact add FILE"
            )
        }
    }

    private func checkTrust(_ person: Correspondent, _ policy: TrustPolicy?) throws {
        switch policy {
        case .verified where person.trust != .verified:
            throw Failure(
                .untrusted, "the key of \(person.name) has not been verified",
                hint: "compare the safety number: sotto fingerprint --with \(person.argument)")
        case .firstUse where person.contact == nil:
            throw Failure(
                .untrusted, "\(person.name) is not a contact",
                hint:
                    "get the card and add it: \(cardLookupCommand(person.id, relay: person.card?.relay))"
            )
        case .any: break
        case nil, .firstUse, .verified:
            guard person.contact == nil, let store = try knownStore(),
                let claimed = person.card?.name, !claimed.isEmpty,
                let other = try store.contact(named: claimed), !other.isBlocked
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
        guard let contact = person.contact else { return }
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
                    "get the signed card: \(cardLookupCommand(person.id, relay: person.card?.relay))"
            )
        case .ratchet, .phrase, .group: return
        }
    }

    /// Throws a failure with status 12 like ``check(_:suite:_:)``, for a message in a messenger's own format. The
    /// checked key is the one of the account.
    public func check(
        _ person: Correspondent, messenger: Messenger, _ policy: TrustPolicy?
    ) throws {
        if person.isOwn { return }
        try checkKeyChange(person)
        try checkTrust(person, policy)
        guard person.contact != nil else { return }
        if messenger == .whisper2, let account = person.profiles.whisper2 {
            try check(
                person.binding(of: account), "whisper2 account \(account.id)", person, policy)
        }
        if messenger == .mercurio, let bundle = person.profiles.mercurio {
            try check(person.binding(of: bundle), "RSA key", person, policy)
        }
    }

    private func check(
        _ binding: AccountBinding, _ what: String, _ person: Correspondent,
        _ policy: TrustPolicy?
    ) throws(Failure) {
        switch (binding, policy) {
        case (.proven, _), (.compared, _), (_, .any), (.firstUse, .firstUse): return
        case (.firstUse, nil) where person.trust != .verified: return
        case (.firstUse, _), (.introduced, _): break
        }
        throw Failure(
            .untrusted,
            "the \(what) was neither compared with \(person.name) nor signed by \(person.name)",
            hint: binding == .introduced
                ? "get the signed card, which may name it: \(cardLookupCommand(person.id, relay: person.card?.relay))"
                : "scan the contact's code: sotto qr scan --camera /dev/video0 | sotto contact verify \(person.argument) --scan"
        )
    }
}

extension Correspondent {
    /// Returns how a Whisper2 account is bound to the contact, by the given card or by the contact's stored data.
    func binding(of account: Whisper2Contact) -> AccountBinding {
        if (try? card?.profiles())?.whisper2 == account { return .proven }
        return contact?.binding(of: account) ?? .firstUse
    }

    /// Returns how a Mercurio account is bound to the contact.
    func binding(of bundle: MercurioKeyBundle) -> AccountBinding {
        if let signed = (try? card?.profiles())?.mercurio,
            signed.id == bundle.id, signed.key == bundle.key
        {
            return .proven
        }
        return contact?.binding(of: bundle) ?? .firstUse
    }

    /// Returns the id whose messages the Whisper2 account signs: the correspondent's id, or the account's own id if the
    /// correspondent did not sign the account. `nil` for an account without a signing key.
    public func signerID(of account: Whisper2Contact) -> KeyID? {
        guard let key = account.signingKey else { return nil }
        let isTied = binding(of: account) == .proven || contact?.signs(with: account) == true
        return isTied ? id : KeyID(publicKey: key)
    }

    /// Returns whether messages signed by the Mercurio account are the correspondent's.
    public func signs(with bundle: MercurioKeyBundle) -> Bool {
        bundle.id == id || binding(of: bundle) == .proven
    }

    /// The argument that names the correspondent, quoted for the shell.
    var argument: String {
        guard let contact, !contact.name.isEmpty else { return id.description }
        return contact.argument
    }
}
