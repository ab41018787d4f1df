import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

struct KeepKeyCommand: Program {
    static let configuration = CommandConfiguration(
        name: "keep-key",
        abstract: "Reject the changed key of a contact, and keep the old one.")

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "The whole name, or an id.")
    var name: String

    func execute() throws {
        let contact = try options.open().change(name) { contact, _ in
            guard contact.changed != nil else { throw Failure.noChangedKey(of: contact) }
            contact.changed = nil
        }
        options.note(contact.keptKeyNote)
    }
}
