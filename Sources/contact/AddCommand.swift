import ArgumentParser
import Sotto
import SottoContacts
import SottoState
import SottoTool

struct AddCommand: Program {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add somebody's card, under a name of yours.",
        usage: "contact add [--name NAME] [CARD]")

    @Option(
        help: ArgumentHelp("What to call them. Default: the name on the card.", valueName: "name"))
    var name: String?

    @OptionGroup var options: ContactOptions

    @Argument(
        help: "Card file, sotto: URI, or `-` for stdin, the default; also what qr scan prints.")
    var card: String?

    func execute() throws {
        if let name { _ = try ContactName.checked(name) }
        let open = try options.open()
        let card = try readCard(card)
        // A card that is refused makes no state.
        if try open.book.store() == nil, card.id != open.identity.id {
            _ = try ContactName.checked(name ?? card.name)
        }
        let outcome = try open.book.writableStore().transaction {
            try $0.introduce(card, as: name)
        }
        try Self.report(outcome, givenName: name, card: card, open, options)
    }

    /// Says what came of a card. Throws a failure with status 12 for a changed key.
    static func report(
        _ outcome: Introduction, givenName: String?, card: Card, _ open: OpenBook,
        _ options: ContactOptions
    ) throws {
        switch outcome {
        case .added(let contact):
            options.note(contact.additionNote)
            if !contact.isBlocked { try sayWhatWaits(contact, open, options) }
        case .completed(let contact):
            options.note("kept the new card of \(contact.name) (\(contact.id.short)…)")
            sayTheirName(contact, givenName, options)
        case .known(let contact):
            options.note("\(contact.name) (\(contact.id.short)…) is there already")
            sayTheirName(contact, givenName, options)
        case .changed(let contact, let replaced):
            throw Failure.changedKey(of: contact, replaced: replaced)
        }
    }

    private static func sayTheirName(
        _ contact: Contact, _ given: String?, _ options: ContactOptions
    ) {
        if let given, given != contact.name {
            let command = "contact rename \(shellWord(contact.name)) \(shellWord(given))"
            options.note("the name stays \(contact.name); to change it: \(command)")
        }
        if contact.changed != nil {
            options.note(
                "another key is still offered for \(contact.name): contact show \(shellWord(contact.name))"
            )
        }
    }

    private static func sayWhatWaits(
        _ contact: Contact, _ open: OpenBook, _ options: ContactOptions
    ) throws {
        let count = try open.waiting(from: contact.id)
        guard count > 0 else { return }
        options.note(
            "\(counted(count, "message")) of \(contact.name) wait\(count == 1 ? "s" : ""): "
                + "contact accept \(shellWord(contact.name)) | decrypt")
    }
}

extension Contact {
    /// What is said when they were added.
    var additionNote: String {
        let next =
            isBlocked
            ? "still blocked until: contact unblock \(shellWord(name))"
            : "trusted on first use; compare: contact verify \(shellWord(name))"
        return "added \(name) (\(id.short)…), \(next)"
    }
}
