import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

struct RemoveCommand: Program {
    static let configuration = CommandConfiguration(
        name: "remove", abstract: "Remove a contact; sessions and opened messages stay.")

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "The whole name, or an id.")
    var name: String

    func execute() throws {
        let open = try options.open()
        let contact: Contact
        do {
            contact = try open.contact(name)
        } catch StateError.unsealable {
            // The whole name, or the id, of a contact that cannot be read.
            try open.book.writableStore().transaction { try $0.remove(unreadable: name) }
            options.note("removed \(name), which could not be read")
            return
        }
        try open.book.writableStore().transaction { try $0.remove(id: contact.id) }
        let who = contact.name.isEmpty ? contact.id.short + "…" : contact.name
        options.note("removed \(who); sessions and opened messages are kept")
        if contact.isBlocked { options.note("the contact is no longer blocked") }
    }
}
