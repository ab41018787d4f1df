import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `history read`: marks messages as read, and prints receipts for them.
struct ReadCommand: Program {
    static let configuration = CommandConfiguration(
        name: "read",
        abstract: "Mark messages as read, and print receipts for contacts with receipts=on.",
        usage: "sotto history read [--upto N] [-q] WHO ... | ID ...",
        discussion: """
            ID marks the messages of its conversation up to that one. A mark never goes back, and each message gets \
            one receipt. The receipts are message records for encrypt: sotto history read bob | encrypt | send. \
            In a file they are not sent; a note names the command that sends them.
            """)

    @Option("--upto", value: "number", help: "Mark only messages up to this number.")
    var upTo: Int?

    @OptionGroup var records: RecordOutput

    @OptionGroup var options: HistoryOptions

    @Argument(
        "who",
        help: "A contact, an id, me, the name of a chat, or the id or the number of a message.")
    var who: [String]

    func validate() throws {
        guard upTo == nil || who.count == 1 else { throw UsageError("--upto requires one WHO") }
    }

    func execute() throws {
        let history = try options.open()
        let output = try Output(path: "-", content: .text)
        let marks = try who.map { try mark($0, history) }
        let numbers = try messages(toMark: marks, history.store)
        let entries = try history.store.transaction { transaction in
            try marks.flatMap { mark in
                try transaction.markRead(mark.conversation, upTo: mark.place, shown: numbers)
            }
        }
        // If the program ends before the output, the receipts are missing.
        var receipts = Receipts(.read, history.store)
        for entry in entries { try receipts.add(entry) }
        for message in receipts.messages { try output.writeRecord(message.record) }
        try output.finish()
        guard !options.quiet else { return }
        Terminal.say("history: \(counted(entries.count, "message")) marked as read")
        if !receipts.messages.isEmpty { noteUnsent(output) }
    }

    /// Says that receipts went into a file, or nowhere. Each message gets one receipt, so a later call prints none for it.
    private func noteUnsent(_ output: Output) {
        if output.isRegularFile {
            let file = RegularFile.path(of: 1).map { shellWord($0) } ?? "FILE"
            Terminal.note(
                "the receipts in the file are not sent; to send them: sotto encrypt \(file) --send")
        } else if output.isDevice {
            let names = who.map { shellWord($0) }.joined(separator: " ")
            Terminal.note(
                "the receipts are lost, and the senders are not told; next time: sotto history read \(names) --send"
            )
        }
    }

    private typealias Mark = (conversation: Conversation, place: HistoryPlace)

    /// Returns the numbers of the messages to mark as read, or `nil` for all. Throws a failure with status 64 if receipts are due
    /// that would be lost on a terminal: each message gets one.
    private func messages(
        toMark marks: [Mark], _ store: IdentityStore
    ) throws -> Set<Int64>? {
        var receipts = Receipts(.read, store)
        var numbers: Set<Int64> = []
        for mark in marks {
            for entry in try store.unread(in: mark.conversation) where entry.place <= mark.place {
                guard try !receipts.add(entry) else {
                    try records.check()
                    return nil
                }
                numbers.insert(entry.number)
            }
        }
        // A message that arrives from now on can have a receipt.
        return numbers
    }

    /// Returns the conversation and the last place that an argument means.
    private func mark(_ text: String, _ history: OpenHistory) throws -> Mark {
        if upTo == nil, try history.book.lookUp(text, for: .acting) == nil,
            case .found(let entry) = try history.store.historyEntry(named: text)
        {
            return (entry.conversation, entry.place)
        }
        return (
            try history.conversation(text, for: .acting),
            try upTo.map { try history.store.place(of: .number(Int64($0))) } ?? .end
        )
    }
}
