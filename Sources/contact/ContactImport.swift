import Sotto
import SottoContacts
import SottoMessengers
import SottoState
import SottoTool

/// Imports lines of records into the address book. Lines that are available at once share a transaction.
struct ContactImport {
    private let store: IdentityStore
    /// Whether the records are this identity's own signed backup. From other records only names, cards and accounts are
    /// imported.
    private let isOurs: Bool
    let output: Output
    private var batch: [(number: Int, contact: Result<Contact, Failure>)] = []
    private(set) var outcome = LineOutcome()
    private(set) var added = 0
    private(set) var knownNames: [String] = []

    /// The maximum number of lines in a transaction.
    private static let batchSize = 512

    init(store: IdentityStore, isOurs: Bool) throws {
        self.store = store
        self.isOurs = isOurs
        output = try Output(path: "-", content: .text)
    }

    private enum Taken {
        case added
        case known(String)
        case failed(Failure)
    }

    mutating func collect(_ line: LineReader.Line, number: Int) throws {
        guard case .line(let bytes) = line else {
            batch.append((number, .failure(Failure(.malformed, "the line is too long"))))
            return
        }
        var text = bytes.drop { $0 <= 0x20 }
        while let last = text.last, last <= 0x20 { text.removeLast() }
        if text.isEmpty { return }
        do {
            if let uri = String(validating: text, as: UTF8.self), uri.hasPrefix("sotto:") {
                batch.append((number, .success(try read(Card(uri: ContactURI(uri))))))
            } else {
                let record = try JSON.object(parsing: Array(text))
                if record["type"]?.string == "contact-backup" { return }
                batch.append((number, .success(try read(record))))
            }
        } catch {
            guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
            batch.append((number, .failure(failure)))
        }
        if batch.count == Self.batchSize { try process() }
    }

    private func read(_ record: JSONObject) throws -> Contact {
        if let failure = Failure(errorRecord: record) { throw failure }
        if record["type"]?.string == "contact" { return try read(Card(record: record)) }
        guard let entry = Contact(record: record), Profiles(entry.accounts) != nil,
            [entry.card, entry.changed].allSatisfy({
                $0.map { (try? $0.profiles()) != nil } ?? true
            })
        else {
            throw Failure(
                .malformed, "not a contact: a member is missing, malformed or not authentic")
        }
        // An id that was only blocked has no name.
        let isNameless = entry.name.isEmpty && entry.isBlocked && entry.card == nil
        guard isOurs || !isNameless else {
            throw Failure(
                .untrusted, "blocked ids are imported only from your own backup",
                hint: "block the id with contact block")
        }
        var contact = Contact(
            name: isNameless ? "" : try ContactName.checked(entry.name), id: entry.id,
            card: entry.card,
            trust: isOurs && !isNameless && entry.trust == .verified ? .verified : .trusted,
            added: isOurs ? entry.added : .now())
        // A block deletes mail, so another user's file must not set it.
        contact.isBlocked = isOurs && entry.isBlocked
        if isNameless { return contact }
        contact.accounts = entry.accounts
        guard isOurs else { return contact }
        contact.suite = entry.suite
        contact.getsReceipts = entry.getsReceipts
        contact.getsTyping = entry.getsTyping
        contact.changed = entry.changed
        contact.compared = entry.compared
        contact.takeAddresses(of: entry)
        return contact
    }

    private func read(_ card: Card) throws -> Contact {
        _ = try card.profiles()
        guard !card.name.isEmpty else {
            throw Failure(
                .usage, "the card has no name",
                hint: "give it a name with contact add --name")
        }
        return Contact(name: try ContactName.checked(card.name), id: card.id, card: card)
    }

    /// Imports the collected lines, and prints a record for each that failed.
    mutating func process() throws {
        guard !batch.isEmpty else { return }
        let lines = batch
        batch.removeAll()
        let results = try store.transaction { transaction in
            try lines.map { try take($0.contact, transaction) }
        }
        for (line, result) in zip(lines, results) {
            switch result {
            case .added:
                outcome.succeeded()
                added += 1
            case .known(let name):
                outcome.succeeded()
                knownNames.append(name)
            case .failed(let failure):
                try output.writeLine(outcome.failed(failure, line: line.number))
            }
        }
    }

    private func take(
        _ line: Result<Contact, Failure>, _ transaction: StateTransaction
    ) throws -> Taken {
        let contact: Contact
        switch line {
        case .failure(let failure): return .failed(failure)
        case .success(let read): contact = read
        }
        guard contact.id != transaction.owner.id else {
            return .failed(Failure(.usage, "this is your own id"))
        }
        if let known = try transaction.contact(id: contact.id) {
            if let card = contact.card, !known.agrees(with: card) {
                return .failed(
                    Failure(
                        .untrusted,
                        "the keys differ from those of the contact \(known.name); nothing was changed",
                        hint: "use contact add to offer the changed key"))
            }
            if isOurs { try restoreAddresses(of: contact, to: known, transaction) }
            return .known(known.name.isEmpty ? known.id.short + "…" : known.name)
        }
        if !contact.name.isEmpty, let other = try transaction.contact(named: contact.name) {
            return .failed(
                Failure(
                    .untrusted,
                    "the key differs from that of the contact \(other.name); nothing was changed",
                    hint: "use contact add to offer the changed key"))
        }
        do {
            try transaction.check(contact.profiles, of: contact.id)
        } catch let failure as Failure {
            return .failed(failure)
        }
        try transaction.save(contact)
        return .added
    }

    /// Adds the addresses of the backup to an existing contact. Otherwise mail to them would be stored and never read.
    private func restoreAddresses(
        of entry: Contact, to known: Contact, _ transaction: StateTransaction
    ) throws {
        guard !known.name.isEmpty else { return }
        var contact = known
        contact.takeAddresses(of: entry)
        if contact != known { try transaction.save(contact) }
    }
}
