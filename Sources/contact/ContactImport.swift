import Sotto
import SottoContacts
import SottoState
import SottoTool

/// Lines of records into the address book. Lines that are at hand share a transaction.
struct ContactImport {
    private let store: IdentityStore
    /// Whether what the records say of trust is believed.
    private let keepsTrust: Bool
    let output: Output
    private var batch: [(number: Int, contact: Result<Contact, Failure>)] = []
    private(set) var outcome = LineOutcome()
    private(set) var added = 0
    private(set) var knownNames: [String] = []

    /// The most lines that share a transaction.
    private static let batchSize = 512

    init(store: IdentityStore, keepsTrust: Bool) throws {
        self.store = store
        self.keepsTrust = keepsTrust
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
        guard let entry = Contact(record: record) else {
            throw Failure(
                .malformed, "not a contact: a member is missing, malformed or not authentic")
        }
        // One who was only blocked has no name.
        let isNameless = entry.name.isEmpty && entry.isBlocked && entry.card == nil
        var contact = Contact(
            name: isNameless ? "" : try ContactName.checked(entry.name), id: entry.id,
            card: entry.card,
            trust: keepsTrust && !isNameless && entry.trust == .verified ? .verified : .trusted,
            added: entry.added)
        contact.isBlocked = entry.isBlocked
        if isNameless { return contact }
        contact.suite = entry.suite
        contact.changed = entry.changed
        contact.learned = entry.learned
        return contact
    }

    private func read(_ card: Card) throws -> Contact {
        guard !card.name.isEmpty else {
            throw Failure(
                .usage, "there is no name on the card",
                hint: "give it one: contact add --name NAME CARD")
        }
        return Contact(name: try ContactName.checked(card.name), id: card.id, card: card)
    }

    /// Takes the lines that were collected, and prints a record for each that failed.
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
                        .untrusted, "other keys than \(known.name) has; nothing was changed",
                        hint: "to offer them as a changed key: contact add CARD"))
            }
            return .known(known.name.isEmpty ? known.id.short + "…" : known.name)
        }
        if !contact.name.isEmpty, let other = try transaction.contact(named: contact.name) {
            return .failed(
                Failure(
                    .untrusted, "another key than \(other.name) has; nothing was changed",
                    hint: "to offer it as a changed key: contact add CARD"))
        }
        do {
            try transaction.check(contact.profiles, of: contact.id)
        } catch let failure as Failure {
            return .failed(failure)
        }
        try transaction.save(contact)
        return .added
    }

    // MARK: Whisper2's backup

    /// Takes one contact of Whisper2's backup: `{"whisperId","name","publicKey","signingPublicKey"}`.
    mutating func take(whisper2 value: JSON, number: Int) throws {
        do {
            let entry = try Whisper2Entry(value)
            let result = try store.transaction {
                try $0.introduce(.whisper2(entry.account), as: entry.name)
            }
            outcome.succeeded()
            switch result {
            case .added: added += 1
            case .completed(let contact), .known(let contact), .changed(let contact, _):
                knownNames.append(contact.name)
            }
        } catch {
            guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
            try output.writeLine(outcome.failed(failure, line: number))
        }
    }
}
