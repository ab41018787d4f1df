import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `history export`: the history in a file.
struct ExportCommand: Program {
    static let configuration = CommandConfiguration(
        name: "export",
        abstract:
            "Write all messages as records, text, a mailbox or a web page, or an encrypted backup.",
        usage: """
            sotto history export [WHO] [--format ndjson|text|mbox|html] [-o FILE]
            sotto history export --backup [--passphrase SOURCE] [-o FILE]
            sotto history export --backup --device DEVICE [--last TIME] [-o FILE]
            """,
        discussion: """
            ndjson has the stored records, with edits and reactions by themselves, and history import reads it. The other \
            formats show each message as it stands now. A backup also has contacts, groups, conversations and readers, \
            and no session. Only --backup is encrypted. With --device it is for another device of yours, which reads it with \
            history import; the device must be full.
            """)

    @Option(
        "--format", value: "format", help: "ndjson, text, mbox or html. Default: ndjson.")
    var format: ExportFormat?

    @OptionGroup var backup: BackupOptions

    @Option("--device", value: "device", help: "Write the backup for a device of yours.")
    var device: String?

    @Option(
        "--last", value: "time",
        help: "With --device, only the messages of this time, such as 30d. Default: all.")
    var last: BackupTime?

    @OptionGroup var options: HistoryOptions

    @Argument("who", help: "A contact, an id, me, or the name of a chat. Default: all.")
    var who: String?

    func validate() throws {
        guard !backup.isBackup || who == nil else {
            throw UsageError("a backup contains all conversations and takes no name")
        }
        guard device == nil || backup.isBackup && backup.passphrase == nil else {
            throw UsageError("--device requires --backup without --passphrase")
        }
        guard last == nil || device != nil else {
            throw UsageError("--last requires --device")
        }
        guard !backup.isBackup || format == nil else {
            throw UsageError("--backup and --format cannot be combined")
        }
    }

    func execute() throws {
        try backup.checkOutput(options.identity)
        let history = try options.open()
        let isBackup = backup.isBackup
        let reader = try device.map { try Self.reader($0, history.store) }
        let output = try Output(path: backup.output, content: isBackup ? .binary : .text)
        var backup = Backup(history)
        let count: Int
        if isBackup {
            try backup.write(
                passphrase: self.backup.passphrase, for: reader,
                since: last.map { Timestamp(seconds: Timestamp.now().seconds - $0.seconds) },
                to: output)
            count = backup.messages
        } else {
            let conversation = try who.map { try history.conversation($0, for: .reading) }
            count = try (format ?? .ndjson).write(history, conversation, to: output)
        }
        guard count > 0 || isBackup else { throw history.nothing("no message") }
        // The writer of a backup has finished the output.
        if !isBackup { try output.finish() }
        if output.isFile, !options.quiet {
            let (messages, file) = (counted(count, "message"), shellWord(self.backup.output ?? "-"))
            Terminal.say(
                isBackup
                    ? "history: \(messages) saved; restore them\(reader.map { " on \($0.name)" } ?? ""): sotto history import \(file)"
                    : "history: \(messages) written to \(file)")
        }
        if let failure = backup.failure { throw failure }
    }
}

extension ExportCommand {
    /// Returns the device for which a backup is. Throws a failure with status 12 if it is new.
    private static func reader(
        _ name: String, _ store: IdentityStore
    ) throws -> DeviceList.Device {
        guard store.owner.owner == nil else {
            throw Failure(.usage, "only machine one writes backups for other devices")
        }
        let device = try DeviceList.device(
            named: name, in: store.preview { try $0.devices(of: $0.owner.id) })
        guard device.state == .full else {
            throw Failure(
                .untrusted, "\(device.name) is new, and gets no history before it is full",
                hint: "if it is yours: sotto device confirm --now \(shellWord(device.name)) --send")
        }
        return device
    }
}

/// A time in seconds, minutes, hours, days or weeks, such as `30d`.
struct BackupTime: ExpressibleByArgument {
    let seconds: Int64

    private static let limit: Int64 = 100 * 365 * 86_400

    /// Parses digits and a unit.
    init?(argument: String) {
        guard let seconds = TimeSpan.seconds(argument, in: 1...Self.limit) else { return nil }
        self.seconds = seconds
    }

    static var argumentForm: String { "a number with s, m, h, d or w, such as 30d" }

    var argument: String { TimeSpan.text(seconds) }
}

/// The format of an export.
enum ExportFormat: String, CaseIterable, ExpressibleByArgument {
    case ndjson, text, mbox, html

    /// Writes the messages of a conversation, or of all. Returns how many.
    func write(
        _ history: OpenHistory, _ conversation: Conversation?, to output: Output
    ) throws -> Int {
        switch self {
        case .ndjson: try RecordExport(history: history, output: output).write(conversation)
        case .text: try TextExport(history: history, output: output).write(conversation)
        case .mbox: try MailboxExport(history, output).write(conversation)
        case .html: try PageExport(history, output).write(conversation)
        }
    }
}

/// The stored records, one on each line.
private struct RecordExport {
    let history: OpenHistory
    let output: Output

    func write(_ conversation: Conversation?) throws -> Int {
        let showing = MessageShowing(history, output, text: false, isMixed: false)
        let lines = try HistoryLines(history.store, conversation) {
            try showing.known(of: $0)
        }
        var count = 0
        while let parts = try lines.read() {
            for part in parts {
                switch part {
                case .lines(let bytes, let number) where output.isTerminal:
                    // Some characters that JSON allows are escaped.
                    for line in bytes.split(separator: UInt8(ascii: "\n")) {
                        try output.writeRecord(JSON.object(parsing: Array(line)))
                    }
                    count += number
                case .lines(let bytes, let number):
                    try output.write(bytes)
                    count += number
                case .entry(let entry):
                    try output.writeRecord(showing.record(raw: entry))
                    count += 1
                }
            }
        }
        return count
    }
}

/// Lines for people.
private struct TextExport {
    let history: OpenHistory
    let output: Output

    func write(_ conversation: Conversation?) throws -> Int {
        var count = 0
        try history.forEachConversation(conversation) { conversation, nextBlock in
            let showing = MessageShowing(history, output, text: true, isMixed: false)
            var changes = try ShownChanges(history, conversation.conversation)
            var isFirst = true
            while let views = try nextBlock() {
                if isFirst {
                    let name = try history.name(of: conversation)
                    try output.writeText((count > 0 ? "\n" : "") + "== \(name) ==\n")
                    isFirst = false
                }
                count += views.count
                try showing.print(views, among: &changes)
            }
            if !isFirst { try showing.print(changes.next(before: .end)) }
        }
        return count
    }
}

extension OpenHistory {
    /// Calls `body` for a conversation, or for all in the order of `history list`, with its blocks of messages. `body` takes all
    /// blocks.
    func forEachConversation(
        _ conversation: Conversation?,
        _ body: (ConversationSummary, _ next: () throws -> [MessageView]?) throws -> Void
    ) throws {
        let summaries = try store.conversations().filter {
            conversation == nil || $0.conversation == conversation
        }
        let blocks = try ViewBlocks(store, summaries.map(\.conversation))
        for summary in summaries {
            try body(summary) { try blocks.next(of: summary.conversation) }
        }
    }
}
