import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `device sync`: asks `encrypt` for what the other devices lack.
struct SyncCommand: Program {
    static let configuration = CommandConfiguration(
        name: "sync",
        abstract: "Print the record with which encrypt tells your other devices what changed here.",
        usage: "sotto device sync [--again DEVICE] [--json] [--send]",
        discussion: """
            What you send, read and decide here waits for your other devices. Each run of encrypt adds it to its output; with \
            this command it goes at once. It is already told if nothing is printed.
            """)

    @Option(
        "--again", value: "device",
        help:
            "Tell this device, which lost its state, again the messages of the last 30 days from here, and the decisions. Machine one has the name \"machine one\"."
    )
    var again: String?

    @OptionGroup var records: RecordOutput

    @OptionGroup var options: DeviceOptions

    func execute() throws {
        try records.check()
        let book = options.book()
        if let again { try tell(again, book) }
        guard let store = try book.store(), try store.preview({ try $0.hasDueItems() }) else {
            options.note("your other devices lack nothing that is known here")
            return
        }
        let record = ComposedMessage(to: store.owner.id, MessageBody(.other(.sync))).record
        try Announcement(store: store).print([record])
    }

    private func tell(_ name: String, _ book: AddressBook) throws {
        try book.writableStore().transaction { transaction in
            let others = try transaction.otherDevices()
            let id: KeyID
            if isFirst(name) {
                id = transaction.owner.id
            } else {
                id = try DeviceList.device(
                    named: name, in: transaction.devices(of: transaction.owner.id)
                ).id
            }
            guard let device = others.first(where: { $0.id == id }) else {
                throw Failure(.usage, "this is the machine \(name)")
            }
            try transaction.tellAgain(device)
        }
    }
}
