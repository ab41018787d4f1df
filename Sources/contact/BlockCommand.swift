import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoMessengers
import SottoState
import SottoTool

struct BlockCommand: Program {
    static let configuration = CommandConfiguration(
        name: "block", abstract: "Block a sender: drop new messages and the waiting requests.")

    @OptionGroup var options: ContactOptions

    @Argument(
        "name",
        help: "A contact, an id or its beginning (16 characters or more), a WhisperID, or a card.")
    var name: String

    func execute() throws {
        let open = try options.open()
        let person = try open.person(name)
        guard person.id != open.identity.id else {
            throw Failure(.usage, "this is your own id")
        }
        let (contact, waiting) = try open.book.writableStore().transaction { transaction in
            let known = try transaction.contact(id: person.id)
            var contact = known ?? Contact(name: "", id: person.id, card: nil)
            if known == nil, let account = person.profiles.whisperID {
                (contact.learned.whisperID, contact.trust) = (account, .unverified)
            }
            if !contact.isBlocked {
                contact.isBlocked = true
                try transaction.save(contact)
            }
            let waiting = try contact.waitingIDs.map { try transaction.forgetRequests(from: $0) }
            return (contact, waiting.reduce(0, +))
        }
        let who = contact.name.isEmpty ? contact.shownID : contact.name
        let dropped =
            waiting > 0 ? "; dropped \(counted(waiting, "message")) from the requests" : ""
        options.note("\(who) is blocked\(dropped)")
    }
}
