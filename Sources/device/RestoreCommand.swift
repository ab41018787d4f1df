import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

/// `device restore`: a recovered machine one.
struct RestoreCommand: Program {
    static let configuration = CommandConfiguration(
        name: "restore",
        abstract: "On a machine one that was recovered: take the list of devices on your own card.",
        usage: "sotto device restore [FILE]",
        discussion: """
            Reads what recv --card prints for your id, or device list --card on another device of yours, and keeps the list \
            unless a later one is known. A relay can serve an earlier card: remove each device that is not yours, or is lost. \
            sotto init --recover runs this command.

            EXAMPLES
              sotto recv --card ID | sotto device restore
              laptop$ sotto device list --card > card
              sotto device restore card
            """)

    @OptionGroup var options: DeviceOptions

    @Argument("file", help: "The card, instead of standard input.")
    var file: String?

    func execute() throws {
        let book = options.book()
        let owner = try book.identity()
        guard owner.owner == nil else {
            throw Failure(
                .usage, "another device gets the list from machine one",
                hint: "list your devices: sotto device list")
        }
        let text = try Input(path: file).readText(limit: 1 << 20)
        guard let card = Card.first(of: owner.id, in: text) else {
            throw Failure(.untrusted, "the input has no card that was signed by your key")
        }
        guard let list = card.devices else {
            throw Failure(.no, options.quiet ? "" : "your card has no list of devices")
        }
        switch try book.writableStore().transaction({ try $0.keep(list) }) {
        case .kept, .known: options.note("the list has \(list.devices.count) other devices")
        case .older: options.note("a later list of devices is known")
        case .fork:
            throw Failure(
                .untrusted,
                "your key signed two different lists of devices with one number: an attacker can have your words",
                hint: "compare the lists on your machines: sotto device list")
        }
    }
}
