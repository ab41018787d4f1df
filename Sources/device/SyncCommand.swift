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
        usage: "sotto device sync [--json] [--send]",
        discussion: """
            What you send, read and decide here waits for your other devices. Each run of encrypt adds it to its output; with \
            this command it goes at once. It is already told if nothing is printed.
            """)

    @OptionGroup var records: RecordOutput

    @OptionGroup var options: DeviceOptions

    func execute() throws {
        try records.check()
        let book = options.book()
        guard let store = try book.store(), try store.preview({ try $0.hasDueItems() }) else {
            options.note("your other devices lack nothing that is known here")
            return
        }
        let record = ComposedMessage(to: store.owner.id, MessageBody(.other(.sync))).record
        try Announcement(store: store).print([record])
    }
}
