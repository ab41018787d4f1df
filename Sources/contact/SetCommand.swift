import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

struct SetCommand: Program {
    static let configuration = CommandConfiguration(
        name: "set", abstract: "Set the encryption suite for messages to a contact.")

    /// The values of `--suite`.
    enum Choice: String, ExpressibleByArgument, CaseIterable {
        case sealed, ratchet, auto
    }

    @Option(
        "--suite", value: "suite", help: "sealed, ratchet, or auto: the best that is available.")
    var suite: Choice

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "A name, an id, or the beginning of one.")
    var name: String

    func execute() throws {
        let contact = try options.open().change(name) { contact, _ in
            switch suite {
            case .sealed: contact.suite = .sealed
            case .ratchet: contact.suite = .ratchet
            case .auto: contact.suite = nil
            }
        }
        options.note("messages to \(contact.name) use \(suite.rawValue)")
    }
}
