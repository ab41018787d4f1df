import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool

struct AcceptKeyCommand: Program {
    static let configuration = CommandConfiguration(
        name: "accept-key",
        abstract: "Accept the changed key of a contact, which must then be verified again.",
        usage: "sotto contact accept-key NAME [ID-OR-NUMBER]",
        discussion: """
            With an id, its beginning (16 characters or more) or the 60-digit safety number that the owner reads out, \
            the key is accepted only if it matches. contact show prints both. If the old key signed the new one, the command \
            says so: a thief of the old key can sign one too, so ask the owner first. If the old key signed two, neither \
            counts, and the command requires the id or the number.
            """)

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "The whole name, or an id.")
    var name: String

    @Argument(
        "id-or-number",
        help: "The expected key: an id or its beginning, or the safety number.")
    var key: [String] = []

    /// The expected key.
    private enum Demand {
        case beginning(String)
        case number([UInt8])
    }

    func execute() throws {
        let demand = try readDemand()
        let open = try options.open()
        var wasVerified = false
        var proof: Succession?
        var lostSession = false
        var former: KeyID?
        let contact = try open.change(name) { contact, transaction in
            guard let card = contact.changed else { throw Failure.noChangedKey(of: contact) }
            guard try !transaction.isRevoked(card.id) else {
                throw Failure(
                    .untrusted, "the offered key is revoked by its owner",
                    hint: "reject it: sotto contact keep-key \(shellWord(contact.name))")
            }
            let news = try transaction.news(of: contact.id)
            guard
                demand != nil || !news.isForked && (news.revocation == nil || card.id == contact.id)
            else { throw Failure.needsDemand(contact, news) }
            proof = news.succession.flatMap { $0.next == card.id ? $0 : nil }
            if let demand { try Self.check(card, of: contact, demand, open.identity) }
            if card.id != contact.id, let other = try transaction.contact(id: card.id) {
                throw Failure(
                    .cannotCreate,
                    other.name.isEmpty
                        ? "the offered key is blocked"
                        : "the offered key belongs to the contact \(other.name)",
                    hint: other.name.isEmpty
                        ? "sotto contact unblock \(other.argument)"
                        : "remove one of the two contacts first")
            }
            try transaction.check(card.profiles(), of: card.id, replacing: contact.id)
            wasVerified = contact.trust == .verified
            former = contact.id
            let accepted = try transaction.accept(card, for: contact)
            lostSession = accepted.lacksSession
            contact = accepted.contact
        }
        let name = shellWord(contact.name)
        options.note("accepted the new key of \(contact.name); the id is now \(contact.id)")
        if let proof {
            options.note(
                "the old key signed on \(proof.issued) that this key replaces it; a thief of the old key can sign that too"
            )
        }
        if let card = contact.card, card.record == nil {
            options.note("the card is a URI: no signature binds its encryption key to the id")
        }
        let was = wasVerified ? "no longer verified" : "trusted, not verified"
        options.note(
            "\(contact.name) is \(was); compare the safety number: sotto contact show \(name)")
        if lostSession, try !claimBundle(of: contact) {
            options.note(
                "no session exists with the new key: sotto recv --bundle \(name), or sotto contact set \(name) --suite auto"
            )
        }
        if let former, former != contact.id,
            let earlier = try open.book.store()?.summary(of: .peer(former))?.settings.name
        {
            options.note("the messages before: sotto history \(shellWord(earlier))")
        }
        let waiting = try open.waiting(from: contact)
        if !waiting.isEmpty {
            options.note(
                "\(counted(waiting.count, "message")) waited: sotto contact accept \(name) | \(opener(of: waiting))"
            )
        }
    }

    /// Claims a bundle with `recv`, so that the next message can begin a session. Returns whether it is here. Nothing is asked for.
    private func claimBundle(of contact: Contact) throws -> Bool {
        guard contact.card?.relay != nil, options.identity.passphrase == nil else { return false }
        let path = try options.identity.identities.first ?? IdentityFile.defaultPath()
        if case .locked = try IdentityFile.protection(of: path) { return false }
        var claim = ToolRun("recv", ["--bundle", contact.id.description, "-i", path])
        claim.collectsMessages = true
        return try claim.run().status == ExitStatus.done.rawValue
    }

    private func readDemand() throws -> Demand? {
        guard !key.isEmpty else { return nil }
        let text = key.joined().lowercased()
        if let digits = TypedDigits.read(text), digits.count == 60 { return .number(digits) }
        guard ContactName.looksLikeID(text), (KeyID.shortLength...66).contains(text.utf8.count)
        else {
            throw Failure(
                .malformed,
                "the argument is neither \(KeyID.shortLength) or more characters of an id nor a safety number",
                hint: "show both for the offered key: sotto contact show \(shellWord(name))")
        }
        return .beginning(text)
    }

    private static func check(
        _ card: Card, of contact: Contact, _ demand: Demand, _ identity: Identity
    ) throws {
        let isDemanded =
            switch demand {
            case .beginning(let beginning): card.id.description.hasPrefix(beginning)
            case .number(let digits):
                constantTimeEqual(digits, try VerifyCommand.number(card.id, identity))
            }
        guard isDemanded else {
            throw Failure(
                .mismatch, "the offered key is \(card.id); nothing was changed",
                hint: "reject it: sotto contact keep-key \(shellWord(contact.name))")
        }
    }
}

extension Failure {
    /// The failure for an offered key that no succession proves although the old key ended, status 12.
    fileprivate static func needsDemand(_ contact: Contact, _ news: KnownNews) -> Failure {
        Failure(
            .untrusted,
            news.isForked
                ? "the old key of \(contact.name) signed two new keys, so neither counts"
                : "the old key of \(contact.name) is revoked, so no succession of it counts",
            hint:
                "ask \(contact.name) on another channel for the id or the safety number of the new key, and give it after the name"
        )
    }

    static func noChangedKey(of contact: Contact) -> Failure {
        Failure(.no, "no other key is offered for \(contact.name)")
    }
}
