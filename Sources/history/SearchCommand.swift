import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `history search`: finds messages by their text.
struct SearchCommand: Program {
    static let configuration = CommandConfiguration(
        name: "search",
        abstract: "Find messages that contain a text, the newest first.",
        usage: """
            sotto history search [--before N|TIME | --after N|TIME] [--limit N] [-C N] [--text | --json] [-q] TEXT [WHO]
            """,
        discussion: """
            With --after the search goes from there to the newest message, the oldest first. Upper and lower case are the \
            same, and so are composed and decomposed characters. An edited message is found by its present text, at its own \
            place: --before, --after and --limit do not count the edit. Deleted messages and earlier versions are not \
            found. The exit status is 1 if no message contains the text.
            """)

    @Option("--limit", value: "number", help: "Print at most this many messages.")
    var limit = 50

    @Option(
        "-C", "--context", value: "number",
        help: "Print this many messages before and after each one too.")
    var context = 0

    @Option(
        "--before", value: "when",
        help: "Find messages before the one with this number, or stored before this time.")
    var before: IdentityStore.Point?

    @Option(
        "--after", value: "when",
        help:
            "Find messages after the one with this number, or stored at this time or later, the oldest first."
    )
    var after: IdentityStore.Point?

    @OptionGroup var form: OutputForm

    @OptionGroup var options: HistoryOptions

    @Argument("text", help: "The text to find.")
    var wanted: String

    @Argument("who", help: "A contact, an id, me, or the name of a chat. Default: all.")
    var who: String?

    func validate() throws {
        guard limit > 0 else { throw UsageError("--limit must be 1 or more") }
        guard (0...1_000).contains(context) else {
            throw UsageError("--context must be from 0 to 1000")
        }
        guard before == nil || after == nil else {
            throw UsageError("--before and --after cannot be combined")
        }
        guard !wanted.isEmpty else { throw UsageError("the text to find is empty") }
    }

    func execute() throws {
        let history = try options.open()
        let conversation = try who.map { try history.conversation($0, for: .reading) }
        let output = try Output(path: "-", content: .text)
        let showing = MessageShowing(
            history, output, text: form.isText, isMixed: conversation == nil)
        let store = history.store
        var search = try MessageSearch(
            wanted, in: conversation, after: after, before: before, store)
        var count = 0
        var printed: Set<Int64> = []
        try search.run { entry in
            count += 1
            let new = try around(entry, store).filter { printed.insert($0.number).inserted }
            try showing.print(store.views(of: new))
            return count < limit
        }
        try output.finish()
        guard count > 0 else { throw history.nothing("no message contains the text") }
    }

    /// Returns a message with those before and after it.
    private func around(_ entry: HistoryEntry, _ store: IdentityStore) throws -> [HistoryEntry] {
        guard context > 0 else { return [entry] }
        let before = try store.history(
            conversation: entry.conversation, before: entry.place, limit: context)
        let after = try store.history(
            conversation: entry.conversation, after: entry.place, limit: context)
        return before + [entry] + after
    }
}
