import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

struct RenameCommand: Program {
    static let configuration = CommandConfiguration(
        name: "rename", abstract: "Rename a contact.")

    @OptionGroup var options: ContactOptions

    @Argument("old", help: "The whole current name, or an id.")
    var old: String

    @Argument("new", help: "The new name.")
    var new: String

    func execute() throws {
        let name = try ContactName.checked(new)
        var former = ""
        let open = try options.open()
        let contact = try open.change(old) { contact, _ in
            former = contact.name
            contact.name = name
        }
        options.note("\(former.isEmpty ? "the contact" : former) is now called \(name)")
        try open.nameNotes(of: contact).forEach(options.note)
    }
}
