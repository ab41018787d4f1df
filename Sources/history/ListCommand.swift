import Arguments
import Sotto
import SottoContacts
import SottoState
import SottoTool

/// `history list`: the conversations.
struct ListCommand: Program {
    static let configuration = CommandConfiguration(
        name: "list",
        abstract: "List the conversations: favourites first, then by the newest message.",
        usage: "history list [--text] [-q]")

    @Flag("--text", help: "Print lines for people instead of records.")
    var text = false

    @OptionGroup var options: HistoryOptions

    func execute() throws {
        let history = try options.open()
        let conversations = try history.store.conversations()
        guard !conversations.isEmpty else { throw history.nothing("the history is empty") }
        let output = try Output(path: "-", content: .text)
        var table = Table()
        for summary in conversations {
            if text {
                table.add(try row(summary, history))
            } else {
                try output.writeRecord(try record(summary, history))
            }
        }
        if text { try output.writeText(table.text) }
        try output.finish()
    }

    private func record(
        _ summary: ConversationSummary, _ history: OpenHistory
    ) throws -> JSONObject {
        var record = try summary.record(name: history.name(of: summary))
        if let last = try history.store.historyEntry(number: summary.last) {
            let view = try history.store.views(of: [last])[0]
            record["last"] = .object(
                JSONObject([
                    ("number", .integer(last.number)), ("id", last.id.map { .string($0) }),
                    ("direction", .string(last.direction.name)),
                    ("time", last.time.map { .string($0.description) }),
                    ("body", view.body.map { .object($0) }),
                    ("deleted", view.body == nil ? .bool(true) : nil),
                ]))
        }
        return record
    }

    private func row(
        _ summary: ConversationSummary, _ history: OpenHistory
    ) throws -> [String] {
        var marks: [String] = []
        if summary.settings.isFavourite { marks.append("favourite") }
        if summary.settings.isMuted { marks.append("muted") }
        if summary.settings.timer > 0 {
            marks.append("messages end after \(Lifetime(seconds: summary.settings.timer))")
        }
        let last = try history.store.historyEntry(number: summary.last)
        let view = try last.map { try history.store.views(of: [$0])[0] }
        let text = view?.body?["text"]?.string ?? ""
        let line = text.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        return [
            Table.cut(try history.name(of: summary), to: Table.nameWidth),
            summary.unread > 0 ? "\(summary.unread) new" : "",
            summary.time.map(TextLayout.local).map { "\($0.day) \($0.minute)" } ?? "-",
            Table.cut(line, to: 40),
            marks.joined(separator: ", "),
        ]
    }
}

/// `history unread`: the numbers of unread messages.
struct UnreadCommand: Program {
    static let configuration = CommandConfiguration(
        name: "unread",
        abstract: "Print the number of unread messages, in all and for each conversation.",
        usage: "history unread [--text] [-q]",
        discussion: "The exit status is 1 if no message is unread.")

    @Flag("--text", help: "Print only the number of all unread messages.")
    var text = false

    @OptionGroup var options: HistoryOptions

    func execute() throws {
        let history = try options.open()
        let unread = try history.store.conversations().filter { $0.unread > 0 }
        let total = unread.reduce(0) { $0 + $1.unread }
        let output = try Output(path: "-", content: .text)
        if text {
            try output.writeText("\(total)\n")
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
