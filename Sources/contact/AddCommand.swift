public import Arguments
import Sotto
import SottoContacts
import SottoMessages
public import SottoMessengers
import SottoState
import SottoTool

struct AddCommand: Program {
    static let configuration = CommandConfiguration(
        name: "add", abstract: "Add a contact from a card or an account in another messenger.",
        usage: """
            sotto contact add [--name NAME] [CARD]
            sotto contact add --whisper-id WSP-ID --name NAME
            sotto contact add --account ID [--name NAME] [FILE]
            """,
        discussion: """
            Accepts a card, a whisper2: URL, or the content of a Kecalek QR code: as an argument, in a file, or from qr \
            scan. Also takes the succession of a contact's key, which you then decide about with contact accept-key, and a \
            revocation. Messages of a whisper2: URL without a signing key are not authenticated. With --whisper-id, nothing can be \
            written to the contact until the URL is added.
            """)

    @Option(
        "--name", value: "name", help: "The name of the contact. Default: the name on the card.")
    var name: String?

    @Option(
        "--whisper-id", value: "wsp-id",
        help: "Add a Whisper2 account of which only this WhisperID is known.")
    var whisperID: WhisperID?

    @Option(
        "--account", value: "id",
        help:
            "Of several cards in the input, add the one with this account in another messenger, signed by the account's own key.",
        values: .any)
    var account: String?

    @OptionGroup var options: ContactOptions

    @Argument(
        "card",
        help:
            "Card file, sotto: URI, whisper2: URL, or `-` for stdin, the default. Accepts the output of qr scan."
    )
    var card: String?

    func validate() throws {
        guard whisperID == nil || card == nil else {
            throw UsageError("--whisper-id cannot be combined with a card")
        }
    }

    func execute() throws {
        if let name { _ = try ContactName.checked(name) }
        if let whisperID { return try add(whisperID) }
        try options.withFile(card) {
            let open = try options.open()
            switch try account.map({ try .card(provenCard($0)) }) ?? Newcomer(card) {
            case .card(let card): try add(card, open)
            case .account(let account): try add(account, open)
            case .news(let news, let card):
                // A succession is offered for a contact, who is new with the card.
                if let card { try add(card, open) }
                try add(news, open)
            }
        }
    }

    /// Takes successions and revocations. A new key is offered for its contact, and counts after the user accepts it.
    private func add(_ news: [IdentityNews], _ open: OpenBook) throws {
        let outcomes = try open.book.writableStore().transaction { transaction in
            try news.map { try transaction.take($0, isGiven: true) }
        }
        for outcome in outcomes {
            switch outcome {
            case .known(let contact):
                options.note(
                    "this is known\(contact.map { " for \($0.name)" } ?? ""); nothing was changed")
            case .revoked(let id, let contacts):
                options.note("the id \(id) is revoked and is never used again")
                for contact in contacts {
                    options.note(
                        contact.id == id
                            ? "nothing is sent to \(contact.name); ask on another channel for another card"
                            : contact.former == id
                                ? "\(contact.name) was accepted because this id signed it; compare the safety number: sotto contact show \(shellWord(contact.name))"
                                : "the key that is offered for \(contact.name) is revoked: sotto contact keep-key \(shellWord(contact.name))"
                    )
                }
            case .unknown, .offered, .forked, .refused, .own:
                if let failure = outcome.failure { throw failure }
            }
        }
    }

    /// Returns the one card in the input with an account that the account's own key signed: a card can have the id of an
    /// account of another person.
    private func provenCard(_ account: String) throws -> Card {
        let cards = try RecipientArgument.list(in: card ?? "-").recipients.compactMap {
            try? $0.card()
        }
        let proven = cards.filter { (try? $0.profiles())?.contain(Pasted.text(account)) == true }
        guard let first = proven.first, Set(proven.map(\.id)).count == 1 else {
            guard proven.isEmpty else {
                throw Failure(
                    .untrusted,
                    "\(proven.count) cards have this account, because its id is not a key: \(proven.map { $0.id.short + "…" }.joined(separator: ", "))",
                    hint: "ask its owner for the id, then: sotto recv --card ID | sotto contact add"
                )
            }
            throw Failure(
                .untrusted, "no card has this account with a signature of the account's own key",
                hint: "ask its owner for a card made with sotto bridge card")
        }
        return first
    }

    private func add(_ card: Card, _ open: OpenBook) throws {
        // A refused card must not create the state.
        if try open.book.store() == nil, card.id != open.identity.id {
            _ = try ContactName.checked(name ?? card.name)
        }
        let outcome = try open.book.writableStore().transaction {
            try $0.introduce(card, as: name, accounts: open.book.accounts)
        }
        try Self.report(outcome, givenName: name, what: "card", open, options)
    }

    /// Adds an account of which only the id is known.
    private func add(_ account: WhisperID) throws {
        let name = try ContactName.checked(name ?? "")
        warn(of: account, options)
        let open = try options.open()
        let outcome = try open.book.writableStore().transaction {
            try $0.introduce(account, as: name)
        }
        try Self.report(outcome, givenName: name, what: "account", open, options)
    }

    private func add(_ account: Account, _ open: OpenBook) throws {
        if try open.book.store() == nil {
            _ = try ContactName.checked(name ?? account.name)
        }
        if case .mercurio(let bundle) = account, bundle.signature == nil {
            options.note(
                "this RSA key is not signed, so the directory may have replaced it; ask its owner")
        }
        if case .whisper2(let contact) = account { warn(of: contact.id, options) }
        let outcome = try open.book.writableStore().transaction {
            try $0.introduce(account, as: name)
        }
        try Self.report(outcome, givenName: name, what: "account", open, options)
    }

    /// Reports the result of adding a card or an account; `what` is the noun. Throws a failure with status 12 for a
    /// changed key.
    static func report(
        _ outcome: Introduction, givenName: String?, what: String, _ open: OpenBook,
        _ options: ContactOptions
    ) throws {
        switch outcome {
        case .added(let contact, let others):
            options.note(contact.additionNote)
            others.forEach { options.note($0.keptKeyNote) }
            try open.book.nameNotes(of: contact).forEach(options.note)
            if !contact.isBlocked { try sayWhatWaits(contact, open, options) }
        case .completed(let contact):
            options.note("stored the new \(what) of \(contact.name) (\(contact.shownID))")
            sayWhatIsIntroduced(contact, options)
            sayTheirName(contact, givenName, options)
            if contact.isKeyless {
                options.note("\(contact.name) is a contact \(contact.keylessNote)")
            }
            if what == "account", !contact.isBlocked { try sayWhatWaits(contact, open, options) }
        case .outdated(let contact):
            let kept = contact.card?.issued.map { ", of \($0)" } ?? ""
            options.note(
                "this card of \(contact.name) is older than the stored one\(kept); nothing was changed"
            )
        case .known(let contact):
            options.note("\(contact.name) (\(contact.shownID)) is already a contact")
            sayTheirName(contact, givenName, options)
        case .changed(let contact, let replaced):
            throw Failure.changedKey(of: contact, replaced: replaced)
        }
    }

    /// Reports the accounts that only a code or a file binds to a contact.
    private static func sayWhatIsIntroduced(_ contact: Contact, _ options: ContactOptions) {
        for name in contact.introducedAccounts {
            options.note(
                "the \(name) is not signed by \(contact.name) and is used only with sotto encrypt --trust any"
            )
        }
    }

    private static func sayTheirName(
        _ contact: Contact, _ given: String?, _ options: ContactOptions
    ) {
        if let given, given != contact.name {
            let command = "sotto contact rename \(shellWord(contact.name)) \(shellWord(given))"
            options.note("the name remains \(contact.name); to change it: \(command)")
        }
        if contact.changed != nil {
            options.note(
                "another key is still offered for \(contact.name): sotto contact show \(shellWord(contact.name))"
            )
        }
    }

    static func sayWhatWaits(
        _ contact: Contact, _ open: OpenBook, _ options: ContactOptions
    ) throws {
        let waiting = try open.waiting(from: contact)
        let count = waiting.count
        guard count > 0, contact.profiles.whisperID == nil else { return }
        options.note(
            "\(counted(count, "message")) of \(contact.name) wait\(count == 1 ? "s" : ""): "
                + "sotto contact accept \(shellWord(contact.name)) | \(opener(of: waiting))")
    }
}

extension WhisperID: ExpressibleByArgument {
    /// Parses the text of an option.
    public init?(argument: String) { self.init(argument) }
}

/// Warns of a WhisperID with a wrong checksum.
func warn(of account: WhisperID, _ options: ContactOptions) {
    guard !account.isChecksumValid, !options.quiet else { return }
    Terminal.say(
        "\(ContactTool.toolName): warning: the checksum of \(account) is wrong; it may be mistyped")
}

extension Contact {
    /// The names of the accounts that only an introduction binds to the contact.
    var introducedAccounts: [String] {
        var names: [String] = []
        if let account = profiles.whisper2, binding(of: account) == .introduced {
            names.append("whisper2 account \(account.id)")
        }
        if let bundle = profiles.mercurio, binding(of: bundle) == .introduced {
            names.append("mercurio account \(bundle.id.short)…")
        }
        return names
    }

    /// The names of the accounts that neither a comparison nor a signature of the contact covers.
    var uncomparedAccounts: [String] {
        var names: [String] = []
        if let id = profiles.kecalek, vouchedProfiles.kecalek == nil {
            names.append("kecalek user id \(id)")
        }
        if let account = profiles.whisper2, binding(of: account) < .compared {
            names.append("whisper2 account \(account.id)")
        }
        if let bundle = profiles.mercurio, binding(of: bundle) < .compared {
            names.append("mercurio account \(bundle.id.short)…")
        }
        return names
    }

    /// The next step towards a verified key: the comparison, or first the signed card.
    private var comparison: String {
        if let card, card.record == nil {
            return "; get the signed card: \(cardLookupCommand(id, name: name, relay: card.relay))"
        }
        return learned.whisper2 == nil
            ? "; compare the safety number: sotto contact show \(shellWord(name))" : ""
    }

    /// The note about an added contact.
    var additionNote: String {
        let next =
            isBlocked
            ? "still blocked; to unblock: sotto contact unblock \(shellWord(name))"
            : isKeyless
                ? keylessNote
                : "trusted on first use"
                    + comparison
        return "added \(name) (\(shownID)), \(next)"
    }

    /// The note about a contact whose offered key is of another person.
    var keptKeyNote: String { "\(name) keeps the key \(id.short)…, \(trust.rawValue)" }

    /// The missing part of a contact without a signing key, and the command that adds it.
    var keylessNote: String {
        profiles.whisperID == nil
            ? "whose messages are not authenticated; to add the signing key: sotto contact add --name \(shellWord(name)) URL"
            : "who cannot be written to; to add the key: sotto contact add --name \(shellWord(name)) URL"
    }
}
