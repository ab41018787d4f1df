import Arguments
import Glibc
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `history [WHO]`: a page of messages.
struct PageCommand: Program {
    static let configuration = CommandConfiguration(
        name: "page",
        abstract: "Print the newest messages, or those before a number.",
        usage: """
            sotto history [WHO] [--limit N] [--before N|TIME | --after N|TIME] [--text | --json] [-q]
            sotto history [WHO] --changed-since TIME | --pinned | --unread | --expiring | --raw | --follow [--changes]
            sotto history [WHO] --as NAME [--from-start | --from-now] [--follow] [--exec CMD] [--raw]
            """)

    @Option("--limit", value: "number", help: "Print at most this many messages. Default: 50.")
    var limit: Int?

    @Option(
        "--before", value: "when",
        help: "Print messages before the one with this number, or stored before this time.")
    var before: IdentityStore.Point?

    @Option(
        "--after", value: "when",
        help:
            "Print the first messages after the one with this number, or the newest of those stored at this time or later."
    )
    var after: IdentityStore.Point?

    @Option(
        "--changed-since", value: "time",
        help:
            "Print messages that were stored, edited, deleted, pinned or answered with a reaction since."
    )
    var changedSince: Timestamp?

    @Flag("--pinned", help: "Print the pinned messages.")
    var pinned = false

    @Flag("--unread", help: "Print the received messages that are not marked as read, all of them.")
    var unread = false

    @Flag(
        "--expiring",
        help: "Print the received messages with a file that the relay deletes within two days.")
    var expiring = false

    @Flag(
        "--raw", help: "Print the stored records, with edits, reactions and receipts by themselves."
    )
    var raw = false

    @Flag("--follow", help: "Then wait for new messages, and print each once.")
    var follow = false

    @Flag(
        "--changes",
        help: "With --follow: also print a record when contacts, groups or other lists changed.")
    var changes = false

    @Option(
        "--as", value: "name",
        help: "Print the received messages that the reader NAME has not acknowledged, oldest first."
    )
    var reader: ReaderName?

    @Flag(
        "--from-start",
        help: "A new reader begins with the first message; no effect on one that exists.")
    var fromStart = false

    @Flag(
        "--from-now",
        help: "A new reader begins with the next message; no effect on one that exists.")
    var fromNow = false

    @Option(
        "--exec", value: "cmd",
        help:
            "Run CMD for each message, with the record on its stdin; exit status 0 acknowledges it."
    )
    var exec: String?

    @OptionGroup var form: OutputForm

    @OptionGroup var options: HistoryOptions

    @Argument("who", help: "A contact, an id, me, or the name of a chat. Default: all.")
    var who: String?

    func validate() throws {
        guard limit.map((1...1_000_000).contains) ?? true else {
            throw UsageError("--limit must be from 1 to 1000000")
        }
        guard exec == nil || reader != nil else { throw UsageError("--exec requires --as") }
        guard !fromStart && !fromNow || reader != nil else {
            throw UsageError("--from-start and --from-now require --as")
        }
        guard !fromStart || !fromNow else {
            throw UsageError("--from-start and --from-now cannot be combined")
        }
        guard exec == nil || !form.text else {
            throw UsageError("--exec and --text cannot be combined")
        }
        guard
            reader == nil
                || after == nil && changedSince == nil && !pinned && !expiring && before == nil
        else {
            throw UsageError(
                "--as cannot be combined with --before, --after, --changed-since, --expiring or --pinned"
            )
        }
        guard !unread || reader == nil && limit == nil && !follow && !raw else {
            throw UsageError(
                "--unread cannot be combined with --as, --limit, --follow or --raw")
        }
        guard !changes || follow && reader == nil && !form.text else {
            throw UsageError("--changes requires --follow, and no --as or --text")
        }
        guard !raw || !form.text else { throw UsageError("--raw and --text cannot be combined") }
        guard
            [after != nil, changedSince != nil, pinned, unread, expiring, before != nil]
                .count(where: { $0 }) <= 1
        else {
            throw UsageError(
                "only one of --before, --after, --changed-since, --expiring, --pinned and --unread can be used"
            )
        }
        guard !follow || !pinned && !expiring && before == nil && changedSince == nil else {
            throw UsageError(
                "--follow cannot be combined with --before, --changed-since, --expiring or --pinned"
            )
        }
        guard !raw || !pinned && !expiring && changedSince == nil else {
            throw UsageError(
                "--raw cannot be combined with --changed-since, --expiring or --pinned")
        }
    }

    func execute() throws {
        let history = try options.open()
        let conversation = try who.map { try self.conversation($0, history) }
        let output = try Output(path: "-", content: .text)
        let showing = MessageShowing(
            history, output, text: form.isText && !raw, isMixed: conversation == nil)
        if let reader {
            try Reader(
                name: reader.name, start: fromStart ? .first : fromNow ? .next : nil,
                history: history, conversation: conversation, showing: showing, showsEvents: raw,
                limit: limit
            ).run(exec, follow: follow)
            return try output.finish()
        }
        let store = history.store
        let limit = limit ?? 50
        // Messages that arrive while the page is printed are left to --follow.
        let watch = follow ? store.watch() : nil
        let lists = changes ? try store.listValues() : nil
        let last = try store.lastNumber()
        let entries =
            if let changedSince {
                try store.changed(since: changedSince, in: conversation, limit: limit)
            } else if pinned {
                try store.pinned(in: conversation, limit: limit)
            } else if unread {
                try self.unread(in: conversation, store)
            } else if expiring {
                try self.expiring(in: conversation, store, limit: limit)
            } else if let after {
                switch after {
                case .number:
                    try store.history(
                        from: store.place(after: after), in: conversation, limit: limit, events: raw
                    )
                case .time(let time):
                    try store.history(since: time, in: conversation, limit: limit, events: raw)
                }
            } else {
                try store.history(
                    conversation: conversation,
                    before: before.map { try store.place(of: $0) } ?? .end, limit: limit,
                    events: raw)
            }
        let page = entries.filter { $0.number <= last }
        let changes = try self.changes(among: page, in: conversation, limit: limit, history)
        let count = try print(page, among: changes, showing, store)
        if let watch { try wait(watch, after: last, lists, conversation, output, showing, store) }
        try output.finish()
        guard count > 0 else { throw history.nothing("no message") }
    }

    /// Returns the conversation with `who`. A word that names none can be a misspelled command.
    private func conversation(_ who: String, _ history: OpenHistory) throws -> Conversation {
        do {
            return try history.conversation(who, for: .reading)
        } catch let failure as Failure where failure.status == .noInput {
            let commands = HistoryTool.configuration.subcommands.map { $0.configuration.name }
            throw Failure(
                .noInput, failure.message + suggestion(for: who, among: commands),
                hint: failure.hint)
        }
    }

    /// Returns the unread messages of a conversation, or of all of them.
    private func unread(
        in conversation: Conversation?, _ store: IdentityStore
    ) throws -> [HistoryEntry] {
        let conversations =
            try conversation.map { [$0] }
            ?? store.conversations().filter { $0.unread > 0 }.map(\.conversation)
        return try conversations.flatMap { try store.unread(in: $0) }
    }

    /// Returns the changes of a group that stand among the messages of a page, or `nil`.
    private func changes(
        among page: [HistoryEntry], in conversation: Conversation?, limit: Int,
        _ history: OpenHistory
    ) throws -> ShownChanges? {
        guard !raw, !pinned, !unread, !expiring, changedSince == nil, let conversation,
            conversation.group != nil
        else { return nil }
        guard let first = page.first, let last = page.last else {
            return before == nil && after == nil ? try ShownChanges(history, conversation) : nil
        }
        // A page without further messages in its direction has all changes there.
        let isWhole =
            after == nil
            ? try history.store.history(
                conversation: conversation, before: first.place, limit: 1
            ).isEmpty : page.count < limit
        var start: HistoryPlace = after == nil && isWhole ? .start : first.place
        // The page before ended with the last message, and had no changes after it.
        if let after, case .number = after { start = try history.store.place(after: after) }
        var end = try before.map { try history.store.place(of: $0) } ?? .end
        if after != nil, !isWhole { end = last.place }
        return try ShownChanges(history, conversation, from: start, before: end)
    }

    /// Returns the first messages of a conversation, or of all of them, whose files end soon.
    private func expiring(
        in conversation: Conversation?, _ store: IdentityStore, limit: Int
    ) throws -> [HistoryEntry] {
        let entries = try store.expiringFiles().map(\.entry)
        return Array(
            entries.filter { conversation == nil || $0.conversation == conversation }
                .prefix(limit))
    }

    /// Prints messages, with the changes of their group. Returns the number of messages and changes.
    @discardableResult
    private func print(
        _ entries: [HistoryEntry], among changes: ShownChanges? = nil, _ showing: MessageShowing,
        _ store: IdentityStore
    ) throws -> Int {
        guard !raw else {
            try showing.print(raw: entries)
            return entries.count
        }
        var views = try store.views(of: entries)
        if pinned { views.removeAll { $0.pin == nil } }
        guard var changes else {
            try showing.print(views)
            return views.count
        }
        let count = views.count + changes.count
        try showing.print(views, among: &changes)
        try showing.print(changes.next(before: .end))
        return count
    }

    /// Prints new messages until the program is ended, each once. Events are printed only with `--raw`. If `lists` is given, prints
    /// which of them changed since they had these values.
    private func wait(
        _ watch: StateWatch, after number: Int64, _ lists: [StateList: Int]?,
        _ conversation: Conversation?, _ output: Output, _ showing: MessageShowing,
        _ store: IdentityStore
    ) throws -> Never {
        var (last, lists) = (number, lists)
        while true {
            let new = try store.history(after: last, limit: 256)
            guard let end = new.last else {
                if let known = lists {
                    let values = try store.listValues()
                    lists = values
                    try printChanges(StateList.allCases.filter { values[$0] != known[$0] }, output)
                }
                try watch.wait()
                continue
            }
            last = end.number
            try print(
                new.filter { entry in
                    (conversation == nil || entry.conversation == conversation)
                        && (raw ? entry.kind != .copy : entry.kind == .content)
                }, showing, store)
        }
    }

    private func printChanges(_ lists: [StateList], _ output: Output) throws {
        guard !lists.isEmpty else { return }
        try output.writeLine([
            "v": .integer(1), "type": .string("changes"),
            "lists": .array(lists.map { .string($0.rawValue) }),
        ])
    }
}
