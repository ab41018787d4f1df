import Arguments
import Sotto
import SottoState
import SottoTool

struct UnverifyCommand: Program {
    static let configuration = CommandConfiguration(
        name: "unverify", abstract: "Mark a contact's key as not verified.")

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "The whole name, or an id.")
    var name: String

    func execute() throws {
        var was = false
        let contact = try options.open().change(name) { contact, transaction in
            was = contact.trust == .verified
            if was {
                contact.trust = .trusted
                try transaction.recordSystem(.unverified, about: contact.id)
            }
            contact.compared = ComparedKeys()
        }
        options.note("\(contact.name) is \(was ? "no longer" : "not") verified")
    }
}
