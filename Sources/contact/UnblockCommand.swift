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
        let id = try open.contact(name).id
        let before = try open.book.writableStore().transaction { transaction in
            guard var contact = try transaction.contact(id: id) else {
                throw Failure.noContact(name)
            }
            let before = contact
            contact.isBlocked = false
            if contact.name.isEmpty {
                // The entry existed only for the block.
                try transaction.remove(id: id)
            } else if before.isBlocked {
                try transaction.save(contact)
            }
            return before
        }
        let who = before.name.isEmpty ? before.shownID : before.name
        options.note("\(who) is \(before.isBlocked ? "no longer" : "not") blocked")
    }
}
