import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `history repeat`: prints own messages that are sent again.
struct RepeatCommand: Program {
    static let configuration = CommandConfiguration(
        name: "repeat",
        abstract: "Print own messages again as records for encrypt.",
        usage: "sotto history repeat [-q] WHO ... | ID ...",
        discussion: """
            WHO prints the messages of the last 30 days that were not sent, see history unsent. ID prints one message with its \
            edits, whatever became of it. A reader who has a message already does not see it twice. Deleted and ended \
            messages are left out, and those that wait in the outbox or are less than a minute old. \
            To send them: sotto history repeat bob --send
            """)

    @OptionGroup var form: RecordOutput

    @OptionGroup var options: HistoryOptions

    @Argument(
        "who",
        help: "A contact, an id, me, the name of a group, or the id or the number of a message.")
    var who: [String]

    /// The most bytes of messages in a record. One longer message has a record for itself.
    private static let recordBytes = 20 << 10

    func execute() throws {
        let history = try options.open()
        let output = try Output(path: "-", content: .text)
        var entries: [HistoryEntry] = []
        for text in who {
            entries += try chosen(text, history).filter { entry in
                !entries.contains { $0.number == entry.number }
            }
        }
        let (settled, waiting) = try history.ready(entries)
        let withoutFile = try Self.withoutFile(settled, history.store)
        let ready = settled.filter { !withoutFile.contains($0.number) }
        var messages: [(conversation: Conversation, message: EarlierMessage)] = []
        var (gone, hidden) = (0, 0)
        let found = try history.store.preview { transaction in
            var lastUnread: [GroupID: HistoryPlace?] = [:]
            return try ready.map { try transaction.earlier($0, &lastUnread) }
        }
        for (entry, message) in zip(ready, found) {
            switch message {
            case .ready(let message): messages.append((entry.conversation, message))
            case .gone: gone += 1
            case .hidden: hidden += 1
            }
        }
        if !messages.isEmpty { try form.check() }
        for message in Self.records(messages) { try output.writeRecord(message.record) }
        try output.finish()
        guard !options.quiet else { return }
        if waiting > 0 {
            Terminal.say(
                "history: \(counted(waiting, "message")) left out: less than a minute old, or in the outbox, see sotto send --list"
            )
        }
        if gone > 0 {
            Terminal.say("history: \(counted(gone, "message")) left out: the content is gone")
        }
        if hidden > 0 {
            Terminal.say(
                "history: \(counted(hidden, "message")) left out: a present member could not read your messages then"
            )
        }
        if !withoutFile.isEmpty {
            Terminal.say(
                "history: \(counted(withoutFile.count, "message")) left out: the relay deleted the file, and it is not kept here; attach it to a new message"
            )
        }
        if messages.isEmpty { Terminal.say("history: nothing to send again") }
    }

    /// Returns the numbers of the messages whose files are neither at a relay nor here.
    private static func withoutFile(
        _ entries: [HistoryEntry], _ store: IdentityStore
    ) throws -> Set<Int64> {
        let files = entries.filter { $0.file?.place != nil }
        guard !files.isEmpty else { return [] }
        let folder = try BlobFolder(directory: .standard())
        let now = Timestamp.now()
        let lost = try store.views(of: files).filter { view in
            guard let end = view.fileEnd, end <= now, let file = view.entry.file else {
                return false
            }
            return !folder.keeps(file)
        }
        return Set(lost.map(\.entry.number))
    }

    /// Returns the messages that an argument means.
    private func chosen(_ text: String, _ history: OpenHistory) throws -> [HistoryEntry] {
        if try history.book.lookUp(text, for: .acting) == nil,
            case .found(let entry) = try history.store.historyEntry(named: text)
        {
            guard entry.direction == .sent else {
                throw Failure(
                    .usage, "message \(text) is of another person; only own messages are sent again"
                )
            }
            guard let id = entry.id else { return [entry] }
            let edits = try history.store.events(on: id, in: entry.conversation).filter {
                guard case .edit? = $0.body?.kind else { return false }
                return $0.direction == .sent
            }
            return [entry] + edits
        }
        return try history.unsent(
            in: history.conversation(text, for: .acting), handedOn: false)
    }

    /// Returns the records: one for the messages of a conversation, or several if they are long. A file has a record for itself,
    /// because `encrypt` names one blob on the line of an envelope.
    private static func records(
        _ messages: [(conversation: Conversation, message: EarlierMessage)]
    ) -> [ComposedMessage] {
        var parts: [(conversation: Conversation, messages: [JSONObject], bytes: Int)] = []
        var isAfterFile = false
        for (conversation, message) in messages {
            let object = message.object
            let isFile = message.body["type"]?.string == "file"
            defer { isAfterFile = isFile }
            let count = object.serialized().count
            if !isFile, !isAfterFile, let last = parts.last, last.conversation == conversation,
                last.messages.count < RepeatedMessages.most, last.bytes + count <= recordBytes
            {
                parts[parts.count - 1].messages.append(object)
                parts[parts.count - 1].bytes += count
            } else {
                parts.append((conversation, [object], count))
            }
        }
        return parts.map {
            ComposedMessage(
                in: $0.conversation, MessageBody(.history(RepeatedMessages($0.messages))))
        }
    }
}

extension OpenHistory {
    /// Returns the messages of some that are sent again now, and the number of those that wait in the outbox or can still be on
    /// their way to it.
    fileprivate func ready(
        _ entries: [HistoryEntry]
    ) throws -> (ready: [HistoryEntry], waiting: Int) {
        let ways = try departures(of: entries)
        let ready = entries.filter { entry in
            switch ways[entry.number] {
            case .queued, .unsent(isRecent: true): false
            case .unsent(isRecent: false), .handedOn, nil: true
            }
        }
        return (ready, entries.count - ready.count)
    }
}
