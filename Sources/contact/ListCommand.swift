import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

struct ListCommand: Program {
    static let configuration = CommandConfiguration(
        name: "list",
        abstract: "List the contacts: name, trust, id, suite, and what is amiss.")

    @Flag("--json", help: "Print records, one JSON object a line.")
    var json = false

    @OptionGroup var options: ContactOptions

    func execute() throws {
        let contacts = try options.open().book.store()?.contacts() ?? []
        guard !contacts.isEmpty else {
            throw Failure(
                .no, options.quiet ? "" : "there are no contacts",
                hint: options.quiet ? nil : "add one: contact add CARD")
        }
        let output = try Output(path: "-", content: .text)
        if json {
            for contact in contacts { try output.writeRecord(contact.shownRecord) }
        } else {
            var table = Table()
            for contact in contacts { table.add(Self.row(contact)) }
            try output.writeText(table.text)
        }
        try output.finish()
    }

    private static func row(_ contact: Contact) -> [String] {
        let isNameless = contact.name.isEmpty
        var marks: [String] = []
        if contact.isBlocked { marks.append("blocked") }
        if contact.changed != nil { marks.append("changed key") }
        if contact.card == nil, !isNameless { marks.append("no card") }
        let profiles = contact.profiles
        if profiles.kecalek != nil { marks.append(Profile.kecalek.rawValue) }
        if profiles.whisper2 != nil { marks.append(Profile.whisper2.rawValue) }
        if profiles.mercurio != nil { marks.append(Profile.mercurio.rawValue) }
        return [
            isNameless ? "-" : Table.cut(contact.name, to: Table.nameWidth),
            isNameless ? "-" : contact.trust.rawValue, contact.id.short,
            isNameless ? "-" : contact.suite?.rawValue ?? "auto", marks.joined(separator: ", "),
        ]
    }
}
