import Arguments
import Sotto
import SottoMessages
import SottoState
import SottoTool

/// `contact set`: the settings of a contact.
struct SetCommand: Program {
    static let configuration = CommandConfiguration(
        name: "set",
        abstract: "Set the suite of messages to a contact, and whether the contact gets receipts.",
        usage:
            "contact set NAME [--suite SUITE] [receipts=on|off] [typing=on|off] [presence=on|off]",
        discussion: """
            With receipts=on the contact learns which messages were decrypted and read here: decrypt --receipts and \
            history read write receipts. With typing=on and presence=on, compose typing and compose presence write \
            signals. All are off by default.
            """)

    /// The values of `--suite`.
    enum Choice: String, ExpressibleByArgument, CaseIterable {
        case sealed, ratchet, auto
    }

    /// A setting and its value.
    enum Setting: String, ExpressibleByArgument, CaseIterable {
        case receiptsOn = "receipts=on"
        case receiptsOff = "receipts=off"
        case typingOn = "typing=on"
        case typingOff = "typing=off"
        case presenceOn = "presence=on"
        case presenceOff = "presence=off"

        func apply(to contact: inout Contact) {
            switch self {
            case .receiptsOn: contact.getsReceipts = true
            case .receiptsOff: contact.getsReceipts = false
            case .typingOn: contact.getsTyping = true
            case .typingOff: contact.getsTyping = false
            case .presenceOn: contact.getsPresence = true
            case .presenceOff: contact.getsPresence = false
            }
        }
    }

    @Option(
        "--suite", value: "suite", help: "sealed, ratchet, or auto: the best that is available.")
    var suite: Choice?

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "The whole name, or an id.")
    var name: String

    @Argument("setting", help: "receipts=on, typing=on or presence=on, or one of them with off.")
    var settings: [Setting] = []

    func validate() throws {
        guard suite != nil || !settings.isEmpty else {
            throw UsageError("no setting is given: --suite, receipts=on or typing=on")
        }
        let names = settings.map { $0.rawValue.prefix { $0 != "=" } }
        guard Set(names).count == names.count else {
            throw UsageError("a setting is given twice")
        }
    }

    func execute() throws {
        let contact = try options.open().change(name) { contact, _ in
            switch suite {
            case .sealed: contact.suite = .sealed
            case .ratchet: contact.suite = .ratchet
            case .auto: contact.suite = nil
            case nil: break
            }
            for setting in settings { setting.apply(to: &contact) }
        }
        if let suite { options.note("messages to \(contact.name) use \(suite.rawValue)") }
        for setting in settings { options.note("\(contact.name): \(setting.rawValue)") }
    }
}
