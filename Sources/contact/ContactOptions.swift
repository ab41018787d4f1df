import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool

/// The options of every subcommand.
struct ContactOptions: ArgumentGroup {
    @OptionGroup var identity: IdentityOptions

    @OptionGroup var lock: LockOptions

    @Flag("-q", "--quiet", help: "Print no notes on stderr.")
    var quiet = false

    /// Prints a note on stderr unless `--quiet` is set.
    func note(_ text: String) { if !quiet { Terminal.say("\(ContactTool.toolName): \(text)") } }

    /// Runs a command on a file. If it is missing, and a contact or a group has its name, the failure says so.
    func withFile(_ file: String?, _ body: () throws -> Void) throws {
        try AddressBook.withFiles(
            [file], identity.choice, lockTimeout: lock.timeout, hint: { $0.showing }, body)
    }

    /// Reads the identity. Its address book is opened when it is first used.
    func open() throws -> OpenBook { try OpenBook(self) }
}

/// The address book that a command works on.
struct OpenBook {
    let book: AddressBook
    let identity: Identity

    init(_ options: ContactOptions) throws {
        book = AddressBook(
            options.identity.choice.load, lockTimeout: options.lock.timeout,
            accounts: MessengerAccounts())
        identity = try book.identity()
    }

    /// Returns the contact that a name or an id means. Throws a failure with status 66 if none matches.
    func contact(_ text: String, for use: NameUse = .acting) throws -> Contact {
        let name = RecipientArgument.pasted(text)
        if let account = WhisperID(Pasted.text(text)) {
            let holder = try book.store()?.preview { try $0.holder(of: account) } ?? nil
            guard let holder else { throw Failure.noContact(text) }
            return holder
        }
        guard let found = try book.lookUp(name, for: use) else {
            throw Failure.noContact(
                text, hint: book.requestHint(for: name) ?? book.groupHint(for: name))
        }
        return found
    }

    /// Changes the current state of a contact in a transaction. Returns the changed contact.
    @discardableResult
    func change(
        _ text: String, _ body: (inout Contact, StateTransaction) throws -> Void
    ) throws -> Contact {
        let id = try contact(text).id
        return try book.writableStore().transaction { transaction in
            // Another process may have removed the contact meanwhile.
            guard var contact = try transaction.contact(id: id) else {
                throw Failure.noContact(text)
            }
            let before = contact
            try body(&contact, transaction)
            if contact != before { try transaction.save(contact, formerID: before.id) }
            return contact
        }
    }

    /// Returns a person who need not be a contact: an id, an abbreviation of a known or waiting id, a contact, a
    /// WhisperID, or a card.
    func person(_ text: String) throws -> Correspondent {
        let text = RecipientArgument.pasted(text)
        if let id = KeyID(text) {
            let contact = try book.store()?.contact(id: id)
            if contact == nil, let account = try account(of: id) {
                return try book.find(account, for: .acting)
            }
            return Correspondent(id: id, card: contact?.card, contact: contact)
        }
        if ContactName.looksLikeID(text), !RecipientArgument.isFile(text) {
            // Shorter abbreviations can be forged: an attacker can generate keys until the id begins with a given text.
            guard text.utf8.count >= KeyID.shortLength else {
                throw Failure(
                    .usage,
                    "\(text) is too short for an id: \(KeyID.shortLength) or more characters are required",
                    hint: "list the ids: sotto contact requests")
            }
            guard let store = try book.store() else { throw Failure.noContact(text) }
            let beginning = text.lowercased()
            let known = try store.contacts().map(\.id) + store.requests().map(\.from)
            let ids = Set(known.filter { $0.description.hasPrefix(beginning) })
            if ids.count > 1 {
                let shown = ids.map(\.description).sorted().prefix(8).joined(separator: ", ")
                throw Failure(
                    .usage, "\(text) is the beginning of several ids: \(shown)",
                    hint: "use more characters")
            }
            guard let id = ids.first else { throw Failure.noContact(text) }
            return try person(id.description)
        }
        return try book.find(text, for: .acting)
    }

    /// Returns the account in another messenger of a waiting sender without a key, or `nil`.
    private func account(of id: KeyID) throws -> String? {
        guard !id.isKey else { return nil }
        return try book.store()?.requests().first { $0.from == id }?.account
    }

    /// Returns the waiting envelopes and records of a person, a line each.
    func waiting(from person: Correspondent) throws -> [[UInt8]] {
        try waiting(fromAny: person.waitingIDs)
    }

    /// Returns the waiting envelopes and records of a contact, a line each.
    func waiting(from contact: Contact) throws -> [[UInt8]] {
        try waiting(fromAny: contact.waitingIDs)
    }

    private func waiting(fromAny ids: [KeyID]) throws -> [[UInt8]] {
        guard let store = try book.store() else { return [] }
        return try ids.flatMap { try store.requestedEnvelopes(from: $0) }
    }
}

extension Correspondent {
    /// The name in messages: the name that the user gave, the account of a person without a key, or the id; never a name that
    /// the sender chose.
    var shown: String {
        if let contact, !contact.name.isEmpty { return contact.name }
        return profiles.whisperID?.description ?? contact?.shownID ?? id.short + "…"
    }

    /// The Whisper2 account that is the person's, with or without keys; `nil` without one.
    var whisperID: WhisperID? { profiles.whisperID ?? contact?.whisperID }

    /// The ids under which messages of the person wait.
    var waitingIDs: [KeyID] { contact?.waitingIDs ?? [id] }
}

extension Contact {
    /// The beginning of the id, or the account of a contact without a key.
    var shownID: String {
        (isKeyless ? whisperID?.description : nil) ?? id.short + "…"
    }
}

/// Returns the program that opens waiting messages of one sender, with its arguments: `decrypt`, or `bridge open` for the
/// records of another messenger.
func opener(of waiting: [[UInt8]]) -> String {
    let record = waiting.first.flatMap { try? JSON.object(parsing: $0) }
    guard let record, let messenger = Messenger(of: record) else { return "sotto decrypt" }
    return "sotto bridge open \(messenger.rawValue)"
}

/// A contact to add: a card, or an account in another messenger; or news about known identities, as `recv --card` prints them.
enum Newcomer {
    case card(Card)
    case account(Account)
    /// Successions and revocations, with the card after them.
    case news([IdentityNews], Card?)

    /// Reads an argument, a file or stdin, but not a terminal.
    init(_ argument: String?) throws {
        if let argument,
            RecipientArgument.isWritten(argument) || RecipientArgument.isWhisper2(argument)
        {
            self =
                try Account(Array(Pasted.text(argument).utf8)).map { .account($0) }
                ?? .card(RecipientArgument.card(argument))
            return
        }
        guard argument != nil || !Terminal.isTerminal(0) else { throw Failure.noCard }
        let bytes = try RecipientArgument.contents(of: argument ?? "-")
        let (news, rest) = try Self.news(in: bytes)
        if !news.isEmpty {
            self = .news(
                news,
                try rest.isEmpty
                    ? nil : RecipientArgument.only(in: rest, of: argument ?? "-").card())
            return
        }
        self =
            try Account(bytes).map { .account($0) }
            ?? .card(RecipientArgument.only(in: bytes, of: argument ?? "-").card())
    }

    /// Returns the successions and revocations in a text, and its other lines.
    private static func news(
        in text: [UInt8]
    ) throws -> (news: [IdentityNews], rest: [UInt8]) {
        var news: [IdentityNews] = []
        var rest: [UInt8] = []
        var entries = PastedEntries(text)
        while let (_, entry) = entries.next() {
            if entry.first == UInt8(ascii: "{"),
                let record = try? JSON.object(parsing: Array(entry)),
                let one = try IdentityNews(record: record)
            {
                news.append(one)
            } else {
                rest += entry + [UInt8(ascii: "\n")]
            }
        }
        return (news, rest)
    }

    /// The failure for news where a card is needed.
    static let isNews = Failure(
        .usage, "this is a succession or a revocation, and not a card",
        hint: "take it with sotto contact add FILE")
}

extension Failure {
    fileprivate static let noCard = Failure(
        .usage, "no card is given",
        hint: "give a card file or a sotto: URI, or pipe a card into standard input")
}
