import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

extension OpenHistory {
    /// Returns the message that an argument means: an id, the beginning of one, or a number.
    func message(_ text: String) throws -> HistoryEntry {
        switch try store.historyEntry(named: text) {
        case .found(let entry): return entry
        case .none:
            if let entry = try store.sentMessage(ofCopy: text) { return entry }
            throw Failure(
                .noInput, "the history has no message \(text)",
                hint: "list the messages with their ids: sotto history --limit 20")
        case .several:
            throw Failure(
                .usage, "\(text) is the beginning of several ids", hint: "write more of it")
        }
    }
}

/// `history show`: one message with its versions.
struct ShowCommand: Program {
    static let configuration = CommandConfiguration(
        name: "show",
        abstract: "Print one message with the earlier versions of an edit.",
        usage: "sotto history show [--raw | --text | --json] [-q] ID",
        discussion: "ID is an id, the beginning of one of a recent message, or a number.")

    @Flag("--raw", help: "Print the stored records: the message and what changed it.")
    var raw = false

    @OptionGroup var form: OutputForm

    @OptionGroup var options: HistoryOptions

    @Argument("id", help: "The message.")
    var id: String

    func validate() throws {
        guard !raw || !form.text else { throw UsageError("--raw and --text cannot be combined") }
    }

    func execute() throws {
        let history = try options.open()
        let entry = try history.message(id)
        let output = try Output(path: "-", content: .text)
        let showing = MessageShowing(history, output, text: form.isText, isMixed: true)
        if raw {
            let events = try entry.id.map {
                try history.store.events(on: $0, in: entry.conversation)
            }
            try showing.print(raw: [entry] + (events ?? []))
        } else {
            let view = try history.store.views(of: [entry])[0]
            try showing.print(withVersions: view)
        }
        try output.finish()
    }
}

/// `history delete`: deletes messages here.
struct DeleteCommand: Program {
    static let configuration = CommandConfiguration(
        name: "delete",
        abstract: "Delete messages from this history. Others keep their copies.",
        usage: """
            sotto history delete [-q] ID ...
            sotto history delete --all [-q] WHO
            """,
        discussion: """
            A deleted message leaves its number and a hash of its id, so that it is not stored again when its envelope is \
            repeated. Its content is overwritten.
            """)

    @Flag("--all", help: "Delete all messages of the conversation WHO.")
    var all = false

    @OptionGroup var options: HistoryOptions

    @Argument("id", help: "Messages, or the conversation of --all.")
    var ids: [String]

    func validate() throws {
        guard !all || ids.count == 1 else { throw UsageError("--all requires one WHO") }
    }

    func execute() throws {
        let history = try options.open()
        let count: Int
        if all {
            let conversation = try history.conversation(ids[0], for: .acting)
            count = try history.store.transaction { try $0.deleteAll(of: conversation) }
        } else {
            let entries = try ids.map { try history.message($0) }
            count = try history.store.transaction { try $0.deleteByOwner(entries) }
        }
        try history.store.compact()
        guard count > 0 else { throw history.nothing("nothing was deleted") }
        if !options.quiet { Terminal.say("history: deleted \(counted(count, "message"))") }
    }
}
