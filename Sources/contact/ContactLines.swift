import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool

/// Imports lines of records into the address book. Lines that are available at once share a transaction.
struct ContactLines {
    private let store: IdentityStore
    private let contacts: ContactImport
    let output: Output
    private var batch: [(number: Int, entry: Result<Entry, Failure>)] = []

    private enum Entry {
        case contact(Contact)
        case news(IdentityNews)
    }

    private(set) var outcome = LineOutcome()
    private(set) var added = 0
    private(set) var knownNames: [String] = []

    /// The maximum number of lines in a transaction.
    private static let batchSize = 512

    init(store: IdentityStore, isOurs: Bool) throws {
        self.store = store
        contacts = ContactImport(isOurs: isOurs, accounts: MessengerAccounts())
        output = try Output(path: "-", content: .text)
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
            if let uri = String(validating: text, as: UTF8.self),
                ContactURI.hasScheme(uri) || uri.hasPrefix("<")
            {
                let card = try Card(uri: ContactURI(Pasted.text(uri)))
                batch.append((number, .success(.contact(try contacts.read(card)))))
            } else {
                let record = try JSON.object(parsing: Array(text))
                if record["type"]?.string == "contact-backup" { return }
                if let failure = Failure(errorRecord: record) { throw failure }
                let entry: Entry =
                    if let news = try IdentityNews(record: record) {
                        .news(news)
                    } else {
                        .contact(try contacts.read(record))
                    }
                batch.append((number, .success(entry)))
            }
        } catch {
            guard let failure = (error as? Failure) ?? Failure(core: error) else { throw error }
            batch.append((number, .failure(failure)))
        }
        if batch.count == Self.batchSize { try process() }
    }

    /// Returns the result of a succession or revocation: it adds no contact, and a decision of the user is a failure.
    private static func taken(_ outcome: NewsOutcome) -> ContactImport.Taken {
        switch outcome {
        case .known, .revoked: .noted
        case .unknown, .offered, .forked, .refused, .own:
            outcome.failure.map { .failed($0) } ?? .noted
        }
    }

    /// Imports the collected lines, and prints a record for each that failed.
    mutating func process() throws {
        guard !batch.isEmpty else { return }
        let lines = batch
        batch.removeAll()
        let results = try store.transaction { transaction in
            try lines.map { line -> ContactImport.Taken in
                switch line.entry {
                case .failure(let failure): .failed(failure)
                case .success(.contact(let contact)): try contacts.take(contact, transaction)
                case .success(.news(let news)):
                    try Self.taken(transaction.take(news, isGiven: true))
                }
            }
        }
        for (line, result) in zip(lines, results) {
            switch result {
            case .added:
                outcome.succeeded()
                added += 1
            case .known(let name):
                outcome.succeeded()
                knownNames.append(name)
            case .noted: outcome.succeeded()
            case .failed(let failure):
                try output.writeLine(outcome.failed(failure, line: line.number))
            }
        }
    }
}
