public import Sotto
import SottoState
public import SottoTool

/// Which keys may be encrypted to.
extension AddressBook {
    /// Throws a failure with status 12 for a correspondent who is blocked, whose key is in doubt, or whose key is not
    /// good enough for `policy`. The key is the one that `suite` encrypts to; for `nil`, that of the card.
    ///
    /// `TrustPolicy.verified` takes only keys that were compared, or that a compared key signed. Without a policy a
    /// verified contact's messages do not go to a key that was in no comparison either.
    public func check(
        _ person: Correspondent, suite: Suite? = nil, _ policy: TrustPolicy?
    ) throws {
        if person.isOwn { return }
        try checkThatNothingIsInDoubt(person)
        try checkTrust(person, policy)
        try checkKey(of: person, suite, policy)
    }

    private func checkThatNothingIsInDoubt(_ person: Correspondent) throws(Failure) {
        guard let contact = person.contact else { return }
        let name = person.name
        if contact.isBlocked {
            throw Failure(
                .untrusted, "\(name) is blocked", hint: "contact unblock \(contact.argument)")
        }
        if contact.changed != nil {
            throw Failure(
                .untrusted, "another key came for \(name) and was not accepted",
                hint:
                    "contact accept-key \(contact.argument), or contact keep-key \(contact.argument)"
            )
        }
        // The id is the same, but the encryption key differs: a signed card or a scan must decide which one is right.
        if let card = person.card, !contact.agrees(with: card) {
            throw Failure(
                .untrusted, "this card has another encryption key than the one of \(name)",
                hint:
                    "write to the contact by name, or have contact add look at the card")
        }
    }

    private func checkTrust(_ person: Correspondent, _ policy: TrustPolicy?) throws {
        switch policy {
        case .verified where person.trust != .verified:
            throw Failure(
                .untrusted, "the key of \(person.name) has not been verified",
                hint: "compare the safety number: fingerprint --with \(person.argument)")
        case .firstUse where person.contact == nil:
            throw Failure(
                .untrusted, "\(person.name) is no contact",
                hint:
                    "get the card and add it: \(cardLookupCommand(person.id, relay: person.card?.relay))"
            )
        case .any: break
        case nil, .firstUse, .verified:
            guard person.contact == nil, let store = try knownStore(),
                let claimed = person.card?.name, !claimed.isEmpty,
                case .found(let other) = try store.resolve(claimed),
                other.name.lowercased() == claimed.lowercased(), !other.isBlocked
            else { break }
            throw Failure(
                .untrusted,
                "the card says \(claimed), and the contact of that name has another key",
                hint: "go on with --trust any, or have contact add look at the card")
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
                "\(person.name) is verified, and the encryption key on this card was not compared",
                hint:
                    "get the signed card: \(cardLookupCommand(person.id, relay: person.card?.relay))"
            )
        case .whisper2:
            guard let account = person.profiles.whisper2 else { return }
            try check(
                person.standing(of: account), "whisper2 account \(account.id)", person, policy)
        case .mercurio:
            guard let bundle = person.profiles.mercurio else { return }
            try check(person.standing(of: bundle), "RSA key", person, policy)
        case .ratchet, .phrase, .shainy: return
        }
    }

    private func check(
        _ standing: AccountStanding, _ what: String, _ person: Correspondent,
        _ policy: TrustPolicy?
    ) throws(Failure) {
        switch (standing, policy) {
        case (.proven, _), (.compared, _), (_, .any), (.firstUse, .firstUse): return
        case (.firstUse, nil) where person.trust != .verified: return
        case (.firstUse, _), (.introduced, _): break
        }
        throw Failure(
            .untrusted,
            "the \(what) was not compared with \(person.name), and nothing that \(person.name) signed names it",
            hint: standing == .introduced
                ? "get the signed card, which may name it: \(cardLookupCommand(person.id, relay: person.card?.relay))"
                : "scan their code: qr scan --camera /dev/video0 | contact verify \(person.argument) --scan"
        )
    }
}

extension Correspondent {
    /// The tie between a Whisper2 account and the contact, by the given card or by the contact's kept data.
    func standing(of account: Whisper2Contact) -> AccountStanding {
        if let card, card.record != nil, card.profiles.whisper2 == account { return .proven }
        return contact?.standing(of: account) ?? .firstUse
    }

    /// The tie between a Mercurio account and the contact.
    func standing(of bundle: MercurioKeyBundle) -> AccountStanding {
        if let card, card.record != nil, let signed = card.profiles.mercurio,
            signed.id == bundle.id, signed.key == bundle.key
        {
            return .proven
        }
        return contact?.standing(of: bundle) ?? .firstUse
    }

    /// The id whose messages the Whisper2 account signs: the correspondent's, or the account's own where nothing that
    /// the correspondent signed names it. `nil` for an account without its signing key.
    public func speaker(of account: Whisper2Contact) -> SessionID? {
        guard let key = account.signingKey else { return nil }
        let isTied = standing(of: account) == .proven || contact?.speaks(with: account) == true
        return isTied ? id : SessionID(publicKey: key)
    }

    /// Whether messages that the Mercurio account signs are the correspondent's.
    public func speaks(with bundle: MercurioKeyBundle) -> Bool {
        bundle.id == id || standing(of: bundle) == .proven
    }

    /// The argument that names the correspondent, as a word of the shell.
    var argument: String {
        guard let contact, !contact.name.isEmpty else { return id.description }
        return contact.argument
    }
}
