import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `contact set`: the settings of a contact.
struct SetCommand: Program {
    static let configuration = CommandConfiguration(
        name: "set",
        abstract:
            "Set the suite of messages to a contact, and what the contact gets: receipts, signals, details.",
        usage: """
            sotto contact set NAME [--suite SUITE] [SETTING=on|off ...] [repair=auto|ask]
            sotto contact set --all [--suite SUITE] [SETTING=on|off ...] [repair=auto|ask]
            """,
        discussion: """
            With receipts=on the contact learns which messages were decrypted and read here: decrypt --receipts and \
            history read write receipts. With typing=on and presence=on, compose typing and compose presence write \
            signals. With phone=on and location=on, the contact sees these parts of your profile; contact profile send \
            tells the contact. With repair=auto, history repeat sends messages again without a question after the contact lost a \
            state; a changed key and a new device end that. All are off by default. --all changes the present contacts, and \
            none that is added later.
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
        case phoneOn = "phone=on"
        case phoneOff = "phone=off"
        case locationOn = "location=on"
        case locationOff = "location=off"
        case repairAuto = "repair=auto"
        case repairAsk = "repair=ask"

        func apply(to contact: inout Contact) {
            switch self {
            case .receiptsOn: contact.getsReceipts = true
            case .receiptsOff: contact.getsReceipts = false
            case .typingOn: contact.getsTyping = true
            case .typingOff: contact.getsTyping = false
            case .presenceOn: contact.getsPresence = true
            case .presenceOff: contact.getsPresence = false
            case .phoneOn: contact.seenDetails.insert(.phone)
            case .phoneOff: contact.seenDetails.remove(.phone)
            case .locationOn: contact.seenDetails.insert(.location)
            case .locationOff: contact.seenDetails.remove(.location)
            case .repairAuto: contact.getsRepeats = true
            case .repairAsk: contact.getsRepeats = false
            }
        }
    }

    @Option(
        "--suite", value: "suite", help: "sealed, ratchet, or auto: the best that is available.")
    var suite: Choice?

    @Flag("--all", help: "Change all contacts that are not blocked.")
    var all = false

    @OptionGroup var options: ContactOptions

    @Argument("name", help: "The whole name, or an id; not with --all.")
    var name: String?

    @Argument(
        "setting",
        help:
            "receipts=on, typing=on, presence=on, phone=on, location=on, one of them with off, repair=auto or repair=ask."
    )
    var others: [Setting] = []

    /// The settings. With `--all` no name precedes them.
    private var settings: [Setting] {
        (all ? name.flatMap { Setting(rawValue: $0) }.map { [$0] } ?? [] : []) + others
    }

    func validate() throws {
        guard all ? name.map({ Setting(rawValue: $0) != nil }) ?? true : name != nil else {
            throw UsageError(
                all ? "--all and a name cannot be combined" : "a name is required, or --all")
        }
        guard suite != nil || !settings.isEmpty else {
            throw UsageError("no setting is given: --suite, receipts=on or typing=on")
        }
        let names = settings.map { $0.rawValue.prefix { $0 != "=" } }
        guard Set(names).count == names.count else {
            throw UsageError("a setting is given twice")
        }
    }

    func execute() throws {
        let book = try options.open()
        let who: String
        if let name, !all {
            who = try book.change(name) { contact, _ in apply(to: &contact) }.name
        } else {
            who = counted(try changeAll(book), "contact")
        }
        if let suite { options.note("messages to \(who) use \(suite.rawValue)") }
        for setting in settings { options.note("\(who): \(setting.rawValue)") }
    }

    private func apply(to contact: inout Contact) {
        switch suite {
        case .sealed: contact.suite = .sealed
        case .ratchet: contact.suite = .ratchet
        case .auto: contact.suite = nil
        case nil: break
        }
        for setting in settings { setting.apply(to: &contact) }
    }

    /// Changes all contacts in one transaction. Returns their number.
    private func changeAll(_ book: OpenBook) throws -> Int {
        try book.book.writableStore().transaction { transaction in
            let contacts = try transaction.allContacts().filter {
                !$0.name.isEmpty && !$0.isBlocked
            }
            for var contact in contacts {
                let before = contact
                apply(to: &contact)
                if contact != before { try transaction.save(contact, formerID: before.id) }
            }
            return contacts.count
        }
    }
}
