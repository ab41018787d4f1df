import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

/// What every subcommand takes.
struct ContactOptions: ArgumentGroup {
    @OptionGroup var identity: IdentityOptions

    @OptionGroup var lock: LockOptions

    @Flag("-q", "--quiet", help: "No notes on stderr.")
    var quiet = false

    /// Says something on stderr, unless it is to be quiet.
    func note(_ text: String) { if !quiet { Terminal.say("\(ContactTool.toolName): \(text)") } }

    /// Reads the identity; its address book is opened when it is needed.
    func open() throws -> OpenBook { try OpenBook(self) }
}

/// The address book that a command works on.
struct OpenBook {
    let book: AddressBook
    let identity: Identity

    init(_ options: ContactOptions) throws {
        book = AddressBook({ try options.identity.load() }, lockTimeout: options.lock.timeout)
        identity = try book.identity()
    }

    /// The contact that a name, an id or the beginning of one means; a failure with status 66 without one.
    func contact(_ text: String) throws -> Contact {
        guard let found = try book.lookUp(text) else { throw Failure.noContact(text) }
        return found
    }

    /// Changes one contact in a transaction, as it is then, and returns what became of it.
    @discardableResult
    func change(
        _ text: String, _ body: (inout Contact, StateTransaction) throws -> Void
    ) throws -> Contact {
        let id = try contact(text).id
        return try book.writableStore().transaction { transaction in
            // Another process may have removed it since.
            guard var contact = try transaction.contact(id: id) else {
                throw Failure.noContact(text)
            }
            let before = contact
            try body(&contact, transaction)
            if contact != before { try transaction.save(contact, formerID: before.id) }
            return contact
        }
    }

    /// Somebody who need not be a contact: an id, the beginning of one that is known or waits, a contact, a card.
    func person(_ text: String) throws -> Correspondent {
        if let id = SessionID(text) {
            let contact = try book.store()?.contact(id: id)
            return Correspondent(id: id, card: contact?.card, contact: contact)
        }
        if ContactName.looksLikeID(text), !RecipientArgument.isFile(text) {
            // Fewer are found again by trying keys: what a stranger's id begins with is theirs to choose.
            guard text.utf8.count >= SessionID.shortLength else {
                throw Failure(
                    .usage,
                    "\(text) is too little of an id: \(SessionID.shortLength) characters or more are needed",
                    hint: "see as many: contact requests")
            }
            guard let store = try book.store() else { throw Failure.noContact(text) }
            let beginning = text.lowercased()
            let known = try store.contacts().map(\.id) + store.requests().map(\.from)
            let ids = Set(known.filter { $0.description.hasPrefix(beginning) })
            if ids.count > 1 {
                let shown = ids.map(\.description).sorted().prefix(8).joined(separator: ", ")
                throw Failure(
                    .usage, "\(text) is the beginning of several ids: \(shown)",
                    hint: "write more of it")
            }
            guard let id = ids.first else { throw Failure.noContact(text) }
            return try person(id.description)
        }
        return try book.find(text)
    }

    /// How many messages of somebody wait as requests.
    func waiting(from id: SessionID) throws -> Int {
        try book.store()?.requestedEnvelopes(from: id).count ?? 0
    }
}

extension Correspondent {
    /// What to call them in a message: our name, or the id; never what they call themselves.
    var shown: String {
        guard let contact, !contact.name.isEmpty else { return id.short + "…" }
        return contact.name
    }
}

/// Reads the card that is an argument, or comes on stdin; a terminal is no place to type one.
func readCard(_ argument: String?) throws -> Card {
    guard argument != nil || !Terminal.isTerminal(0) else { throw Failure.noCard }
    return try RecipientArgument.card(argument ?? "-")
}

/// Who is to be added: a card, or an account in another messenger.
enum Newcomer {
    case card(Card)
    case account(Account)

    /// Reads what is an argument, in a file, or comes on stdin; a terminal is no place to type it.
    init(_ argument: String?) throws {
        if let argument, RecipientArgument.isWritten(argument) {
            self =
                try Account(Array(argument.utf8)).map { .account($0) }
                ?? .card(RecipientArgument.card(argument))
            return
        }
        guard argument != nil || !Terminal.isTerminal(0) else { throw Failure.noCard }
        let bytes = try RecipientArgument.contents(of: argument ?? "-")
        self =
            try Account(bytes).map { .account($0) }
            ?? .card(RecipientArgument.only(in: bytes, of: argument ?? "-").card())
    }
}

extension Failure {
    fileprivate static let noCard = Failure(
        .usage, "no card is given",
        hint: "name a card file or a sotto: URI, or give one on standard input")
}

/// A count with its noun.
func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
