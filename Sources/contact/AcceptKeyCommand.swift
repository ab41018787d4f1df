import ArgumentParser
import Sotto
import SottoContacts
import SottoState
import SottoTool

struct AcceptKeyCommand: Program {
    static let configuration = CommandConfiguration(
        commandName: "accept-key",
        abstract: "Take the changed key of a contact; it has to be verified anew.")

    @OptionGroup var options: ContactOptions

    @Argument(help: "A name, an id, or the beginning of one.")
    var name: String

    func execute() throws {
        let open = try options.open()
        var wasVerified = false
        let contact = try open.change(name) { contact, transaction in
            guard let card = contact.changed else { throw Failure.noChangedKey(of: contact) }
            if card.id != contact.id, let other = try transaction.contact(id: card.id) {
                throw Failure(
                    .cannotCreate,
                    other.name.isEmpty
                        ? "the key that was offered is blocked"
                        : "the key that was offered is that of \(other.name)",
                    hint: other.name.isEmpty
                        ? "contact unblock \(other.id.short)" : "remove one of the two first")
            }
            wasVerified = contact.trust == .verified
            var new = Contact(name: contact.name, id: card.id, card: card, added: contact.added)
            new.isBlocked = contact.isBlocked
            new.suite = contact.suite
            contact = new
        }
        let name = shellWord(contact.name)
        options.note("took the new key of \(contact.name) (\(contact.id.short)…)")
        if wasVerified {
            options.note("\(contact.name) is no longer verified until: contact verify \(name)")
        }
        let count = try open.waiting(from: contact.id)
        if count > 0 {
            options.note("\(counted(count, "message")) waited: contact accept \(name) | decrypt")
        }
    }
}

extension Failure {
    static func noChangedKey(of contact: Contact) -> Failure {
        Failure(.no, "no other key was offered for \(contact.name)")
    }
}
