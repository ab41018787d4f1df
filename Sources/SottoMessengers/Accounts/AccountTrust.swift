public import Sotto
public import SottoContacts
import SottoState
public import SottoTool

/// The rules for the accounts to which a message may be encrypted.
extension AddressBook {
    /// Throws a failure with status 12 like ``check(_:suite:_:)``, for a message in a messenger's own format. The
    /// checked key is the one of the account.
    public func check(
        _ person: Correspondent, messenger: Messenger, _ policy: TrustPolicy?
    ) throws {
        if person.isOwn { return }
        if messenger == .whisper2, let id = person.profiles.whisperID {
            throw Failure.noKeys(of: id, name: person.contact?.argument ?? "NAME")
        }
        if policy == .verified, let contact = person.contact, contact.isKeyless {
            throw Failure.noSigningKey(of: contact)
        }
        // Other programs store accounts without a proof. They are proven here, before their first use.
        if let card = person.card { _ = try card.profiles() }
        try checkKeyChange(person)
        try checkTrust(person, policy)
        _ = try knownView { try $0.check(person.profiles, of: person.id) }
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
                ? "get the signed card, which may name it: \(cardLookupCommand(person.id, name: person.contact?.name, relay: person.card?.relay))"
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

    /// Returns the id whose messages those of the Whisper2 account are: the correspondent's id, or the account's own id if
    /// the correspondent did not sign the account.
    public func signerID(of account: Whisper2Contact) -> KeyID {
        let isTied = binding(of: account) == .proven || contact?.signs(with: account) == true
        return isTied ? id : account.contactID
    }

    /// Returns whether messages signed by the Mercurio account are the correspondent's.
    public func signs(with bundle: MercurioKeyBundle) -> Bool {
        bundle.id == id || binding(of: bundle) == .proven
    }
}
