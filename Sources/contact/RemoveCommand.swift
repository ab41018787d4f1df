import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

struct RemoveCommand: Program {
    static let configuration = CommandConfiguration(
        name: "remove", abstract: "Remove a contact; sessions and opened messages stay.")

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "The whole name, an id, or the beginning of an id.")
    var name: String

    func execute() throws {
        let open = try options.open()
        let contact = try open.contact(name)
        // What was verified is lost with them: a slip of the finger is not enough.
        guard contact.name.lowercased() == name.lowercased() || ContactName.looksLikeID(name) else {
            throw Failure(
                .usage, "to remove somebody, write the whole name",
                hint: "contact remove \(shellWord(contact.name))")
        }
        try open.book.writableStore().transaction { try $0.remove(id: contact.id) }
        let who = contact.name.isEmpty ? contact.id.short + "…" : contact.name
        options.note("removed \(who); sessions with them, and what was opened, stay")
        if contact.isBlocked { options.note("they are no longer blocked") }
    }
}
