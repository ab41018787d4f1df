import Arguments
import Glibc
import Sotto
import SottoContacts
import SottoMessages
import SottoDatabase
import SottoState
import SottoTool

/// The name of a reader on the command line.
struct ReaderName: ExpressibleByArgument {
    let name: String

    init?(argument: String) {
        guard (1...IdentityStore.readerNameLimit).contains(argument.utf8.count),
            !argument.unicodeScalars.contains(where: \.isInvisible)
        else { return nil }
        name = argument
    }
}

/// The message with which a new reader begins.
enum ReaderStart: String {
    /// The first message of the history.
    case first = "--from-start"
    /// The next message that is stored.
    case next = "--from-now"
}

/// `history --as NAME`: prints or handles what a reader has not acknowledged.
struct Reader {
    let name: String
    /// The beginning of a new reader, or `nil` if the command does not give it.
    let start: ReaderStart?
    let history: OpenHistory
    let conversation: Conversation?
    let showing: MessageShowing
    /// Whether the reader gets all records of both directions, with the events.
    let showsEvents: Bool
    /// The maximum number of messages, or `nil`.
    let limit: Int?

    private static let block = 256

    func run(_ command: String?, follow: Bool) throws {
        var last = try begin()
        var lock: FileLock?
        if command != nil {
            lock = try takeLock()
        }
        defer { lock?.unlock() }
        let watch = follow ? history.store.watch() : nil
        let handler = command.map { ShellCommand($0, tool: HistoryTool.toolName) }
        var count = 0
        while limit.map({ count < $0 }) ?? true {
            let new = try history.store.history(after: last, limit: Self.block)
            let wanted = new.filter(isWanted).prefix((limit ?? .max) - count)
            if let handler {
                for entry in wanted { try handle(entry, handler, follow: follow) }
            } else {
                try print(Array(wanted))
            }
            count += wanted.count
            if let end = new.last {
                last = end.number
                continue
            }
            guard let watch else { break }
            try watch.wait()
        }
        guard count > 0 else { throw history.nothing("no message") }
    }

    /// Returns the number up to which the reader has acknowledged messages, and makes a new reader.
    private func begin() throws -> Int64 {
        if let number = try history.store.acknowledged(by: name) { return number }
        guard let start else {
            let startCommand = Self.command(with: .first)
            let nowCommand = Self.command(with: .next)
            throw Failure(
                .usage, "the reader \(name) is new, and the command does not say where it begins",
                hint:
                    "with the first message: \(startCommand), or with the next one: \(nowCommand)")
        }
        return try history.store.transaction {
            try $0.begin(reader: name, withNext: start == .next)
        }
    }

    /// Returns the command line of this process with one more option.
    private static func command(with start: ReaderStart) -> String {
        let words = Array(CommandLine.arguments.dropFirst())
        let end = words.firstIndex(of: "--") ?? words.endIndex
        let options = words[..<end].map(shellWord)
        let rest = words[end...].map(shellWord)
        return (["sotto", "history"] + options + [start.rawValue] + rest).joined(separator: " ")
    }

    private func isWanted(_ entry: HistoryEntry) -> Bool {
        guard conversation == nil || entry.conversation == conversation, !entry.isGone,
            !entry.isImported
        else { return false }
        return showsEvents
            ? entry.kind != .copy
            : entry.kind == .content && entry.direction == .received && !entry.isSystem
    }

    private func print(_ entries: [HistoryEntry]) throws {
        guard !showsEvents else { return try showing.print(raw: entries) }
        try showing.print(history.store.views(of: entries))
    }

    /// Runs the command for a message and acknowledges it. With `follow` a failure is tried again until the command
    /// succeeds, so that the order is kept.
    private func handle(_ entry: HistoryEntry, _ handler: ShellCommand, follow: Bool) throws {
        var delay: UInt32 = 1
        while true {
            // Another process may have acknowledged it, and its lifetime may end.
            guard try history.store.acknowledged(by: name) ?? 0 < entry.number,
                let present = try history.store.historyEntry(number: entry.number), !present.isGone
            else { return }
            let view = try history.store.views(of: [present])[0]
            guard showsEvents || view.body != nil else { break }
            let record =
                try showsEvents ? showing.record(raw: present) : showing.record(of: view)
            if try handler.run(record.serialized()) { break }
            guard follow else {
                throw Failure(
                    .tryAgain, "the command failed for message \(entry.number)",
                    hint: "pass over it: sotto history ack --as \(shellWord(name)) \(entry.number)")
            }
            sleep(delay)
            delay = min(delay * 2, 60)
        }
        _ = try history.store.transaction { try $0.acknowledge(entry.number, by: name) }
    }

    /// Takes the lock of the reader, so that no two processes run a command for the same message.
    private func takeLock() throws -> FileLock {
        let lock = try FileLock(path: history.store.lockPath(ofReader: name))
        guard lock.tryLock() else {
            throw Failure(
                .tryAgain, "another process runs a command for the reader \(name)")
        }
        return lock
    }
}

/// `history ack`: acknowledges messages for a reader.
struct AckCommand: Program {
    static let configuration = CommandConfiguration(
        name: "ack",
        abstract: "Acknowledge the messages up to a number for a reader.",
        usage: """
            sotto history ack --as NAME NUMBER|last
            sotto history ack --as NAME --remove
            """,
        discussion: """
            The reader NAME gets only messages with higher numbers then. It is made if it does not exist. An \
            acknowledgement is never taken back.
            """)

    @Option("--as", value: "name", help: "The reader.")
    var reader: ReaderName?

    @Flag("--remove", help: "Remove the reader. Later it is a new one.")
    var remove = false

    @OptionGroup var options: HistoryOptions

    @Argument("number", help: "The number of a message, or last.")
    var number: String?

    func validate() throws {
        guard reader != nil else { throw UsageError("--as is required") }
        guard remove == (number == nil) else {
            throw UsageError(remove ? "--remove takes no number" : "no number is given")
        }
        guard let number, number != "last" else { return }
        guard let value = Int64(number), value >= 0 else {
            throw UsageError("\(number) is not a number of a message")
        }
    }

    func execute() throws {
        let history = try options.open()
        let name = reader?.name ?? ""
        if remove {
            guard try history.store.transaction({ try $0.remove(reader: name) }) else {
                throw history.nothing("no reader has the name \(name)")
            }
            return
        }
        let last = try history.store.lastNumber()
        let number = number.flatMap { Int64($0) } ?? last
        guard number <= last else {
            throw Failure(
                .usage, "no message has the number \(number); the last one is \(last)")
        }
        let now = try history.store.transaction { try $0.acknowledge(number, by: name) }
        if now > number, !options.quiet {
            Terminal.say("history: note: \(name) has acknowledged up to \(now) before")
        }
    }
}

/// `history readers`: the readers.
struct ReadersCommand: Program {
    static let configuration = CommandConfiguration(
        name: "readers",
        abstract: "List the readers and the numbers up to which they have acknowledged messages.",
        usage: "sotto history readers [--text | --json] [-q]")

    @OptionGroup var form: OutputForm

    @OptionGroup var options: HistoryOptions

    func execute() throws {
        let history = try options.open()
        let readers = try history.store.readers()
        guard !readers.isEmpty else { throw history.nothing("there are no readers") }
        let output = try Output(path: "-", content: .text)
        var table = Table()
        for reader in readers {
            if form.isText {
                table.add([reader.name, "\(reader.acknowledged)"])
            } else {
                try output.writeRecord(reader.record)
            }
        }
        if form.isText { try output.writeText(table.text) }
        try output.finish()
    }
}
