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
        let open = try options.open()
        let id = try open.contact(old).id
        try open.book.rename(id, named: old, to: name).forEach(options.note)
    }
}
