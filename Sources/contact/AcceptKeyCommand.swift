import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

struct AcceptKeyCommand: Program {
    static let configuration = CommandConfiguration(
        name: "accept-key",
        abstract: "Take the changed key of a contact; it has to be verified anew.",
        usage: "contact accept-key NAME [ID-OR-NUMBER]",
        discussion: """
            With an id, or its beginning (16 characters or more), or the 60-digit safety number as its owner reads it \
            out, the key is taken only if it is that one. contact show prints both.
            """)

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "A name, an id, or the beginning of one.")
    var name: String

    @Argument(
        "id-or-number",
        help: "What the key has to be: an id or its beginning, or the safety number.")
    var key: [String] = []

    /// What the key has to be.
    private enum Demand {
        case beginning(String)
        case number([UInt8])
    }

    func execute() throws {
        let demand = try readDemand()
        let open = try options.open()
        var wasVerified = false
        var lostSession = false
        let contact = try open.change(name) { contact, transaction in
            guard let card = contact.changed else { throw Failure.noChangedKey(of: contact) }
            if let demand { try Self.check(card, of: contact, demand, open.identity) }
            if card.id != contact.id, let other = try transaction.contact(id: card.id) {
                throw Failure(
                    .cannotCreate,
                    other.name.isEmpty
                        ? "the key that was offered is blocked"
                        : "the key that was offered is that of \(other.name)",
                    hint: other.name.isEmpty
                        ? "contact unblock \(other.argument)" : "remove one of the two first")
            }
            try transaction.check(card.profiles, of: card.id, replacing: contact.id)
            wasVerified = contact.trust == .verified
            var new = Contact(name: contact.name, id: card.id, card: card, added: contact.added)
            new.isBlocked = contact.isBlocked
            new.suite = contact.suite
            // They were given the address, and mail to it must not be lost.
            new.takeAddresses(of: contact)
            // What went by a session does not silently go without one.
            if contact.suite == nil, try transaction.hasSession(with: contact.id),
                try !transaction.hasSession(with: card.id)
            {
                new.suite = .ratchet
                lostSession = true
            }
            contact = new
        }
        let name = shellWord(contact.name)
        options.note("took the new key of \(contact.name), whose id is \(contact.id) now")
        if let card = contact.card, card.record == nil {
            options.note("the card is a URI: no signature ties its encryption key to the id")
        }
        let was = wasVerified ? "no longer verified" : "trusted, not verified"
        options.note("\(contact.name) is \(was); to compare: contact show \(name)")
        if lostSession {
            options.note(
                "there is no session with the new key: recv --bundle \(name), or contact set \(name) --suite auto"
            )
        }
        let count = try open.waiting(from: contact.id)
        if count > 0 {
            options.note("\(counted(count, "message")) waited: contact accept \(name) | decrypt")
        }
    }

    private func readDemand() throws -> Demand? {
        guard !key.isEmpty else { return nil }
        let text = key.joined().lowercased()
        if let digits = TypedDigits.read(text), digits.count == 60 { return .number(digits) }
        guard ContactName.looksLikeID(text), (SessionID.shortLength...66).contains(text.utf8.count)
        else {
            throw Failure(
                .malformed,
                "neither \(SessionID.shortLength) characters or more of an id nor a safety number",
                hint: "see both of the key that was offered: contact show \(shellWord(name))")
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
                .mismatch, "the key that was offered is \(card.id); nothing was changed",
                hint: "drop it: contact keep-key \(shellWord(contact.name))")
        }
    }
}

extension Failure {
    static func noChangedKey(of contact: Contact) -> Failure {
        Failure(.no, "no other key was offered for \(contact.name)")
    }
}
