import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool

struct AcceptCommand: Program {
    static let configuration = CommandConfiguration(
        name: "accept",
        abstract:
            "Make the sender of a message request a contact, and print the waiting messages for decrypt.",
        usage: """
            sotto contact accept ID [--name NAME] [CARD] | sotto decrypt
            sotto contact accept WSP-ID [--name NAME] [URL] | sotto bridge open whisper2
            """,
        discussion: """
            The contact has the card that the sender's messages carry, so that an answer needs nothing else. The messages \
            leave the list after decrypt has opened them; sotto read opens them too. For a contact, they are printed again. A Whisper2 account whose keys \
            are not known needs its URL or scanned code in place of the card; its default name is the WhisperID.
            """)

    @Option(
        "--name", value: "name", help: "The name of the contact. Default: the name on the card.")
    var name: String?

    @OptionGroup var options: ContactOptions

    @Argument(
        "id",
        help: "An id, its beginning (16 characters or more), a WhisperID, a card or a contact.")
    var id: String

    @Argument(
        "card",
        help:
            "The sender's card or whisper2: URL; `-` is stdin. Default: the card that the messages carry."
    )
    var card: String?

    func execute() throws {
        if let name { _ = try ContactName.checked(name) }
        let open = try options.open()
        let person = try open.person(id)
        let newcomer = try card.map { try Newcomer($0) }
        if case .news = newcomer { throw Newcomer.isNews }
        if case .account(let account) = newcomer { return try accept(account, of: person, open) }
        if let account = person.profiles.whisperID {
            throw Failure(
                .noKey, "the keys of \(account) are not known",
                hint:
                    "scan the account's code, or give its URL: sotto contact accept \(account) URL")
        }
        let given: Card? = if case .card(let card) = newcomer { card } else { nil }
        let card = given ?? givenCard(person)
        if let card, card.id != person.id {
            throw Failure(
                .mismatch, "the card does not belong to \(person.id)",
                hint: "the card has a different signer; do not use it for this id")
        }
        try Self.refuse(person, ifBlocked: person.contact)
        let isNew = person.contact == nil
        if let contact = person.contact, let name, name != contact.name {
            options.note("the name remains \(contact.name)")
        }
        if let card {
            try add(card, of: person, open) { _ in name }
        } else if person.contact?.card == nil,
            let carried = try open.book.store()?.requestedCard(from: person.id)
        {
            let hint = "give a name: sotto contact accept \(carried.id.short) --name NAME"
            try add(carried, of: person, open) { transaction in
                try transaction.contact(id: carried.id) == nil
                    ? transaction.freeName(name, for: carried, hint: hint) : nil
            }
        } else if isNew {
            try addWithoutCard(person, open)
        }
        guard let contact = try open.book.store()?.contact(id: person.id) else {
            throw Failure.noContact(id)
        }
        try finish(contact, isNew: isNew, open)
    }

    /// Adds the account of a sender whose keys were not known, and prints the waiting messages.
    private func accept(_ account: Account, of person: Correspondent, _ open: OpenBook) throws {
        guard case .whisper2(let given) = account, given.id == person.whisperID else {
            throw Failure(
                .mismatch, "the account does not belong to \(person.shown)",
                hint: "the code is of another account; do not use it for this sender")
        }
        try Self.refuse(person, ifBlocked: person.contact)
        warn(of: given.id, options)
        let outcome = try open.book.writableStore().transaction { transaction in
            try Self.refuse(person, ifBlocked: transaction.holder(of: given.id))
            return try transaction.introduce(account, as: name ?? given.id.description)
        }
        switch outcome {
        case .added(let contact, _): try finish(contact, isNew: true, open)
        case .completed(let contact), .known(let contact), .outdated(let contact),
            .changed(let contact, _):
            if let name, name != contact.name { options.note("the name remains \(contact.name)") }
            try finish(contact, isNew: false, open)
        }
    }

    /// Returns the card that was given as the argument; `nil` for a contact's own stored card.
    private func givenCard(_ person: Correspondent) -> Card? {
        person.contact?.card == person.card ? nil : person.card
    }

    /// Adds a card in one transaction, under the name that `name` returns in it. Another program could take a name between the check
    /// and the addition.
    private func add(
        _ card: Card, of person: Correspondent, _ open: OpenBook,
        as name: (StateTransaction) throws -> String?
    ) throws {
        let outcome = try open.book.writableStore().transaction { transaction in
            try Self.refuse(person, ifBlocked: transaction.contact(id: person.id))
            return try transaction.introduce(
                card, as: name(transaction), accounts: open.book.accounts)
        }
        switch outcome {
        case .changed(let contact, let replaced):
            throw Failure.changedKey(of: contact, replaced: replaced)
        case .added(_, let others): others.forEach { options.note($0.keptKeyNote) }
        case .completed, .known, .outdated: break
        }
    }

    /// Throws a failure with status 12 if a person is blocked.
    private static func refuse(
        _ person: Correspondent, ifBlocked contact: Contact?
    ) throws(Failure) {
        guard let contact, contact.isBlocked else { return }
        throw Failure(
            .untrusted, "\(person.shown) is blocked",
            hint: "sotto contact unblock \(contact.argument)")
    }

    private func addWithoutCard(_ person: Correspondent, _ open: OpenBook) throws {
        let id = person.id
        guard id != open.identity.id else { throw Failure(.usage, "this is your own id") }
        guard let name else {
            throw Failure(
                .usage, "the sender has no card here, and so no name",
                hint: "give a name: sotto contact accept \(id.short) --name NAME")
        }
        let contact = Contact(name: try ContactName.checked(name), id: id, card: nil)
        try open.book.writableStore().transaction { transaction in
            let known = try transaction.contact(id: id)
            try Self.refuse(person, ifBlocked: known)
            guard known == nil else { return }
            try transaction.save(contact)
        }
    }

    private func finish(_ contact: Contact, isNew: Bool, _ open: OpenBook) throws {
        let envelopes = try open.waiting(from: contact)
        let name = shellWord(contact.name)
        if isNew {
            options.note(contact.additionNote)
            try open.book.nameNotes(of: contact).forEach(options.note)
            if contact.card == nil, contact.whisperID == nil {
                options.note(
                    "to answer, get the sender's card: \(cardLookupCommand(contact.id, name: contact.name))"
                )
            }
        }
        guard !envelopes.isEmpty else {
            if isNew { return }
            throw Failure(.no, options.quiet ? "" : "no message of \(contact.name) waits")
        }
        if Terminal.isTerminal(1) {
            // sotto read opens them with decrypt.
            let opener = opener(of: envelopes)
            let readingCommand =
                opener == "sotto decrypt"
                ? "sotto read\(options.identity.identityOption) \(name)"
                : "sotto contact accept \(name) | \(opener)"
            options.note("\(counted(envelopes.count, "message")) to read: \(readingCommand)")
        } else {
            try print(envelopes: envelopes)
        }
    }
}
