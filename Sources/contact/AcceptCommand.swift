import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

struct AcceptCommand: Program {
    static let configuration = CommandConfiguration(
        name: "accept",
        abstract: "Make who wrote a contact, and print what waits of theirs for decrypt.",
        usage: "contact accept ID [--name NAME] [CARD] | decrypt",
        discussion: """
            The messages leave the list when decrypt has opened them. Of a contact, what waits is printed again.
            """)

    @Option(
        "--name", value: "name", help: "The name of the contact. Default: the name on the card.")
    var name: String?

    @OptionGroup var options: ContactOptions

    @Argument("id", help: "An id, its beginning (16 characters or more), a card or a contact.")
    var id: String

    @Argument("card", help: "Their card, if you have it; `-` is stdin.")
    var card: String?

    func execute() throws {
        if let name { _ = try ContactName.checked(name) }
        let open = try options.open()
        let person = try open.person(id)
        let card = try card.map { try RecipientArgument.card($0) } ?? givenCard(person)
        if let card, card.id != person.id {
            throw Failure(
                .mismatch, "the card is not that of \(person.id)",
                hint: "its signer is somebody else; do not take it for theirs")
        }
        if let contact = person.contact, contact.isBlocked {
            throw Failure(
                .untrusted, "\(person.shown) is blocked",
                hint: "contact unblock \(contact.argument)")
        }
        let isNew = person.contact == nil
        if let contact = person.contact, let name, name != contact.name {
            options.note("the name stays \(contact.name)")
        }
        if let card {
            let outcome = try open.book.writableStore().transaction {
                try $0.introduce(card, as: name)
            }
            if case .changed(let contact, let replaced) = outcome {
                throw Failure.changedKey(of: contact, replaced: replaced)
            }
        } else if isNew {
            try addWithoutCard(person.id, open)
        }
        guard let contact = try open.book.store()?.contact(id: person.id) else {
            throw Failure.noContact(id)
        }
        try finish(contact, isNew: isNew, open)
    }

    /// The argument itself, where it is a card; a contact's own says nothing new.
    private func givenCard(_ person: Correspondent) -> Card? {
        person.contact?.card == person.card ? nil : person.card
    }

    private func addWithoutCard(_ id: SessionID, _ open: OpenBook) throws {
        guard id != open.identity.id else { throw Failure(.usage, "this is your own id") }
        guard let name else {
            throw Failure(
                .usage, "there is no card of theirs, and so no name",
                hint: "give one: contact accept \(id.short) --name NAME")
        }
        let contact = Contact(name: try ContactName.checked(name), id: id, card: nil)
        try open.book.writableStore().transaction { transaction in
            guard try transaction.contact(id: id) == nil else { return }
            try transaction.save(contact)
        }
    }

    private func finish(_ contact: Contact, isNew: Bool, _ open: OpenBook) throws {
        let envelopes = try open.book.store()?.requestedEnvelopes(from: contact.id) ?? []
        let name = shellWord(contact.name)
        if isNew {
            options.note(contact.additionNote)
            if contact.card == nil {
                options.note("to answer, get their card: \(cardLookupCommand(contact.id))")
            }
        }
        guard !envelopes.isEmpty else {
            if isNew { return }
            throw Failure(.no, options.quiet ? "" : "nothing of \(contact.name) waits")
        }
        if Terminal.isTerminal(1) {
            options.note(
                "\(counted(envelopes.count, "message")) to read: contact accept \(name) | decrypt")
        } else {
            try print(envelopes: envelopes)
        }
    }
}
