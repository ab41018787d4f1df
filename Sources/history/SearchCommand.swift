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
            With --after the search goes from there to the newest message, the oldest first. Upper and lower case are the same, and so are composed and decomposed characters. Deleted messages and earlier versions of edited messages are not found. The \
            exit status is 1 if no message contains the text.
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
        var found: Set<Int64> = []
        var printed: Set<Int64> = []
        let first = try after.map { try history.store.place(after: $0) }
        let end = try before.map { try history.store.place(of: $0) } ?? .end
        try history.store.search(
            wanted, in: conversation, first.map { SearchStart.from($0) } ?? .before(end)
        ) { candidate in
            // An edit after the place can change a message before it.
            guard let entry = try target(of: candidate, history.store),
                entry.place >= first ?? .start, !found.contains(entry.number)
            else { return true }
            let view = try history.store.views(of: [entry])[0]
            guard let body = view.body, SearchText(wanted).occurs(in: body) else { return true }
            found.insert(entry.number)
            let page = try around(entry, history.store)
            let new = page.filter { printed.insert($0.number).inserted }
            try showing.print(history.store.views(of: new))
            return found.count < limit
        }
        try output.finish()
        guard !found.isEmpty else { throw history.nothing("no message contains the text") }
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

    /// Returns the message itself, or the message that an edit changes.
    private func target(of found: HistoryEntry, _ store: IdentityStore) throws -> HistoryEntry? {
        guard found.kind == .event else { return found }
        guard let id = found.body?.target?.id else { return nil }
        let author = found.author(store.owner.id)
        return try store.historyEntries(id: id, in: found.conversation).first {
            $0.author(store.owner.id) == author
        }
    }
}
