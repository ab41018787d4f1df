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
        var found: Set<Int64> = []
        var printed: Set<Int64> = []
        let store = history.store
        // A message is found at its own place, as it stands now. An edit is behind the message that it changes, so what
        // matches only with an edit waits until the search comes to its place.
        var edited: [HistoryEntry] = []
        let first = try after.map { try store.place(after: $0) }
        let end = try before.map { try store.place(of: $0) } ?? .end
        /// Prints a message if it matches. Returns whether the search goes on.
        func take(_ entry: HistoryEntry) throws -> Bool {
            guard entry.place >= first ?? .start, entry.place < end,
                !found.contains(entry.number)
            else { return true }
            let view = try store.views(of: [entry])[0]
            guard let body = view.body, SearchText(wanted).occurs(in: body) else { return true }
            found.insert(entry.number)
            let page = try around(entry, store)
            let new = page.filter { printed.insert($0.number).inserted }
            try showing.print(store.views(of: new))
            return found.count < limit
        }
        /// Prints the edited messages whose places the search has passed.
        func takeEdited(passedAt place: HistoryPlace?) throws -> Bool {
            func isPassed(_ entry: HistoryEntry) -> Bool {
                guard let place else { return true }
                return first == nil ? entry.place > place : entry.place < place
            }
            let passed = edited.filter(isPassed).sorted { a, b in
                first == nil ? a.place > b.place : a.place < b.place
            }
            edited.removeAll(where: isPassed)
            return try passed.allSatisfy(take)
        }
        func note(_ edit: HistoryEntry) throws {
            if let entry = try target(of: edit, store) { edited.append(entry) }
        }
        if let first {
            try store.search(wanted, in: conversation, .from(first), of: .events) {
                try note($0)
                return true
            }
        } else if before != nil {
            try store.search(wanted, in: conversation, of: .events) {
                guard $0.place >= end else { return false }
                try note($0)
                return true
            }
        }
        var goesOn = true
        try store.search(
            wanted, in: conversation, first.map { SearchStart.from($0) } ?? .before(end),
            of: first == nil ? .all : .contents
        ) { candidate in
            guard candidate.kind == .content else {
                try note(candidate)
                return true
            }
            goesOn = try takeEdited(passedAt: candidate.place) && take(candidate)
            return goesOn
        }
        if goesOn { _ = try takeEdited(passedAt: nil) }
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

    /// Returns the message that an edit changes.
    private func target(of edit: HistoryEntry, _ store: IdentityStore) throws -> HistoryEntry? {
        guard let id = edit.body?.target?.id else { return nil }
        let author = edit.author(store.owner.id)
        return try store.historyEntries(id: id, in: edit.conversation).first {
            $0.author(store.owner.id) == author
        }
    }
}
