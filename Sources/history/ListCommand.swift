import Arguments
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// `history list`: the conversations.
struct ListCommand: Program {
    static let configuration = CommandConfiguration(
        name: "list",
        abstract:
            "List the conversations: announcements first, then favourites, then by the newest message.",
        usage: "sotto history list [--text | --json] [-q]")

    @OptionGroup var form: OutputForm

    @OptionGroup var options: HistoryOptions

    func execute() throws {
        let history = try options.open()
        let conversations = try conversations(history)
        guard !conversations.isEmpty else { throw history.nothing("the history is empty") }
        let output = try Output(path: "-", content: .text)
        var table = Table()
        for conversation in conversations {
            if form.isText {
                table.add(try row(conversation, history))
            } else {
                try output.writeRecord(try record(conversation, history))
            }
        }
        if form.isText { try output.writeText(table.text) }
        try output.finish()
    }

    /// A conversation with what the list adds.
    private struct Listed {
        let summary: ConversationSummary
        /// The group, or `nil`. Its log is not read.
        let group: GroupHeader?
        /// The last message, or `nil` without one.
        let last: HistoryEntry?
        let pinned: Int

        var isAnnouncements: Bool { group?.isAnnouncements ?? false }
    }

    /// Returns the conversations in the order of the list.
    private func conversations(_ history: OpenHistory) throws -> [Listed] {
        let summaries = try history.store.conversations()
        let groups = try history.store.preview { transaction in
            try summaries.map { summary in
                try summary.conversation.group.flatMap { try transaction.groupHeader($0) }
            }
        }
        // The invitation to a group that was forgotten is no message.
        let shown = zip(summaries, groups).filter { summary, group in
            summary.last > 0 || group != nil || summary.conversation.group == nil
        }
        let listed = try shown.compactMap { summary, group -> Listed? in
            let last = try history.store.historyEntry(number: summary.last)
            guard
                try last?.state != .deleted
                    || history.store.hasMessages(in: summary.conversation)
            else { return nil }
            return Listed(
                summary: summary, group: group, last: last,
                pinned: try history.store.pinnedCount(in: summary.conversation))
        }
        return listed.filter(\.isAnnouncements) + listed.filter { !$0.isAnnouncements }
    }

    private func record(_ listed: Listed, _ history: OpenHistory) throws -> JSONObject {
        let summary = listed.summary
        var record = try summary.record(name: history.name(of: summary))
        record["members"] = listed.group.map { .integer(Int64($0.memberCount)) }
        record["announcements"] = listed.isAnnouncements ? .bool(true) : nil
        record["pinned"] = .integer(Int64(listed.pinned))
        if let last = listed.last {
            let view = try history.store.views(of: [last])[0]
            record["last"] = .object(
                JSONObject([
                    ("number", .integer(last.number)), ("id", last.id.map { .string($0) }),
                    ("direction", .string(last.direction.name)),
                    ("time", last.time.map { .string($0.description) }),
                    ("body", view.body.map { .object($0) }),
                    ("deleted", view.body == nil ? .bool(true) : nil),
                    ("imported", last.isImported ? .bool(true) : nil),
                ]))
        }
        return record
    }

    private func row(_ listed: Listed, _ history: OpenHistory) throws -> [String] {
        let summary = listed.summary
        let view = try listed.last.map { try history.store.views(of: [$0])[0] }
        let text =
            view.map { $0.body.map { Quotation.text(of: $0) } ?? "[\($0.placeholder)]" } ?? "-"
        let line = text.split(whereSeparator: \.isNewline).first.map(String.init) ?? "-"
        return [
            try name(of: summary, history),
            summary.unread > 0 ? "\(summary.unread) new" : "",
            summary.time.map { "\($0.local.day) \($0.local.minute)" } ?? "-",
            Table.cut(line, to: 40),
            marks(listed).joined(separator: ", "),
        ]
    }

    /// Returns a name that `history` accepts: a long id is cut to the length that is enough.
    private func name(of summary: ConversationSummary, _ history: OpenHistory) throws -> String {
        let name = try history.name(of: summary)
        guard let peer = summary.conversation.peer, name == peer.description else { return name }
        return peer.short
    }

    private func marks(_ listed: Listed) -> [String] {
        let settings = listed.summary.settings
        var marks: [String] = []
        // An import only claims the author of the last message.
        if listed.summary.isClaimed { marks.append("imported") }
        if listed.isAnnouncements { marks.append("announcements") }
        if settings.isFavourite { marks.append("favourite") }
        if settings.isMuted { marks.append("muted") }
        if let group = listed.group {
            marks.append(group.isLeft ? "left" : counted(group.memberCount, "member"))
        }
        if listed.pinned > 0 { marks.append("\(listed.pinned) pinned") }
        if settings.timer > 0 {
            marks.append("messages end after \(Lifetime(seconds: settings.timer))")
        }
        return marks
    }
}

/// `history unread`: the numbers of unread messages.
struct UnreadCommand: Program {
    static let configuration = CommandConfiguration(
        name: "unread",
        abstract: "Print the numbers of unread messages of the conversations.",
        usage: "sotto history unread [--text | --json] [-q]",
        discussion: """
            Text has a line with name and number for each conversation that is not muted; the last record has the number \
            of all messages. The exit status is 1 if no message is unread.
            """)

    @OptionGroup var form: OutputForm

    @OptionGroup var options: HistoryOptions

    func execute() throws {
        let history = try options.open()
        let unread = try history.store.conversations().filter {
            $0.unread > 0 && !(form.isText && $0.settings.isMuted)
        }
        let total = unread.reduce(0) { $0 + $1.unread }
        let output = try Output(path: "-", content: .text)
        if form.isText {
            var table = Table()
            for summary in unread {
                let name = Table.cut(try history.name(of: summary), to: Table.nameWidth)
                table.add([name, "\(summary.unread)"])
            }
            try output.writeText(table.text)
        } else {
            for summary in unread {
                try output.writeRecord(summary.record(name: history.name(of: summary)))
            }
            try output.writeRecord([
                "v": .integer(1), "type": .string("unread"), "unread": .integer(Int64(total)),
            ])
        }
        try output.finish()
        guard total > 0 else { throw Failure(.no, "") }
    }
}

extension ConversationSummary {
    /// The record `conversation`.
    func record(name: String) -> JSONObject {
        var record: JSONObject = ["v": .integer(1), "type": .string("conversation")]
        record.name(conversation)
        record["name"] = .string(name)
        record["unread"] = .integer(Int64(unread))
        record["read"] = .integer(read)
        record["favourite"] = .bool(settings.isFavourite)
        record["muted"] = .bool(settings.isMuted)
        record["timer"] = settings.timer > 0 ? .integer(settings.timer) : nil
        record["time"] = time.map { .string($0.description) }
        return record
    }
}
