import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

struct UnblockCommand: Program {
    static let configuration = CommandConfiguration(
        name: "unblock", abstract: "Unblock a sender.")

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "The whole name, or an id.")
    var name: String

    func execute() throws {
        let open = try options.open()
        let contact = try open.contact(name)
        if contact.name.isEmpty {
            // The entry existed only for the block.
            try open.book.writableStore().transaction { try $0.remove(id: contact.id) }
            options.note("\(contact.id.short)… is no longer blocked")
        } else {
            try open.change(contact.id.description) { contact, _ in contact.isBlocked = false }
            options.note("\(contact.name) is \(contact.isBlocked ? "no longer" : "not") blocked")
        }
    }
}
