import Sotto
import SottoMedia

/// The rows of a conversation's entries.
struct MessageRows {
    /// The most rows of one text.
    static let textLimit = 40
    /// The most rows of one message's reactions.
    private static let reactionLimit = 3

    let width: Int
    let localTime: @Sendable (Timestamp) -> ChatOptions.LocalTime
    /// The names of people by id.
    let name: (String) -> String
    let now: Timestamp
    let today: ChatOptions.LocalTime
    /// The previews of pictures by the number of their message.
    var pictures: [Int64: PicturePreview] = [:]
    /// Whether no member of the group reads the messages of the user.
    var lacksReaders = false

    /// The columns before a text.
    private var indent: Int { min(6, width / 4) }
    private var room: Int { max(4, width - indent) }

    typealias Row = [Screen.Span]

    /// Returns the rows of the entry at an index, with the line of its day and the line of unread messages above it.
    func rows(of conversation: Conversation, at index: Int) -> [Row] {
        let entry = conversation.entries[index]
        var rows: [Row] = []
        let day = localTime(entry.time)
        let before = index > 0 ? localTime(conversation.entries[index - 1].time) : nil
        if before.map({ ($0.year, $0.month, $0.day) != (day.year, day.month, day.day) }) ?? true {
            rows.append(rule(Self.words(day, today: today), .dim))
        }
        switch entry.content {
        case .notice(let notice): rows += self.rows(ofLine: notice.text)
        case .change(let change): rows += self.rows(ofLine: change.text)
        case .pending(let text):
            rows += self.rows(of: text, isSelected: conversation.selection == entry.id)
        case .message(let message):
            if let line = conversation.unreadLine, line.number == message.number {
                rows.append(rule("\(line.count) unread", .alert))
            }
            let isSelected = [conversation.selection, conversation.found].contains(entry.id)
            rows += self.rows(
                of: message, quoting: conversation.quotation(in: message), isSelected: isSelected)
        }
        return rows
    }

    static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ]

    /// Returns the words for a day.
    static func words(_ day: ChatOptions.LocalTime, today: ChatOptions.LocalTime) -> String {
        let days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
        let weekday = days.indices.contains(day.weekday) ? days[day.weekday] : ""
        let month = (1...12).contains(day.month) ? months[day.month - 1] : "\(day.month)"
        let year = day.year == today.year ? "" : " \(day.year)"
        return "\(weekday) \(day.day) \(month)\(year)"
    }

    private func rule(_ text: String, _ style: Screen.Style) -> Row {
        [Screen.Span(Cells.cut("── \(text) ──", to: width), style)]
    }

    private func rows(ofLine text: String) -> [Row] {
        let wrapped = Cells.wrap(text, width: room - 2, limit: 6).rows
        return wrapped.enumerated().map { index, text in
            let head = index == 0 ? Self.padded("  *", indent) : Self.spaces(indent)
            return [Screen.Span(head + text, .dim)]
        }
    }

    // MARK: Typed texts

    /// The most rows of a typed text, and of the reason why it was not sent.
    private static let (pendingLimit, failureLimit) = (6, 3)

    private func rows(of text: ChatState.Pending, isSelected: Bool) -> [Row] {
        var style = Screen.Style.own
        style.isReversed = isSelected
        let wrapped = Cells.wrap(
            Cells.plain(text.text), width: max(4, width - 12), limit: Self.pendingLimit
        ).rows
        var rows = wrapped.enumerated().map { index, row in
            [
                Screen.Span(Self.spaces(index == 0 ? 6 : 10)),
                Screen.Span(index == 0 ? "me  " : "", style), Screen.Span(row),
            ]
        }
        guard let failure = text.failure else {
            append([("…", .dim)], to: &rows)
            return rows
        }
        let words = Cells.wrap("[not sent: \(failure)]", width: room, limit: Self.failureLimit).rows
        return rows + words.map { [Screen.Span(Self.spaces(indent)), Screen.Span($0, .alert)] }
    }

    // MARK: Messages

    private func rows(
        of message: ChatMessage, quoting quotation: String?, isSelected: Bool
    ) -> [Row] {
        var style = message.isOwn ? Screen.Style.own : .other
        style.isReversed = isSelected
        var time = Screen.Style.dim
        time.isReversed = isSelected
        let clock = localTime(message.time)
        let clockText = "\(Words.padded(clock.hour)):\(Words.padded(clock.minute))"
        let isNarrow = width < 32
        let name = Self.name(of: message, width: max(4, min(24, width / 3)))
        let head = isNarrow ? name : clockText + " " + name
        let headWidth = Cells.width(head) + 2
        var rows: [Row] = []
        func begin(_ text: String, _ textStyle: Screen.Style) {
            let first =
                isNarrow
                ? [Screen.Span(name, style)]
                : [Screen.Span(clockText, time), .init(" "), .init(name, style)]
            rows.append(first + [Screen.Span("  "), Screen.Span(text, textStyle)])
        }
        func go(_ text: String, _ textStyle: Screen.Style) {
            rows.append([Screen.Span(Self.spaces(indent)), Screen.Span(text, textStyle)])
        }

        let (body, bodyStyle) = Self.body(message)
        if let quote = message.quote {
            let author = quote.from.isEmpty ? "" : self.name(quote.from) + ": "
            let doubt = quote.doubt.map { "[\($0)] " } ?? ""
            let text = "┃ " + doubt + author + (quotation ?? "a message")
            begin(Cells.cut(text, to: max(4, width - headWidth)), .dim)
        } else if let author = message.forwarded {
            let words = author.isEmpty ? "[forwarded]" : "[forwarded from \(self.name(author))]"
            begin(Cells.cut(words, to: max(4, width - headWidth)), .dim)
        }
        let isShort = width - headWidth < 8
        if isShort, rows.isEmpty { begin("", .plain) }
        let first = rows.isEmpty ? width - headWidth : room
        let wrapped = Cells.wrap(body, first: first, width: room, limit: Self.textLimit)
        for (index, row) in wrapped.rows.enumerated() {
            if index == 0, rows.isEmpty { begin(row, bodyStyle) } else { go(row, bodyStyle) }
        }
        if wrapped.isCut || message.isTextCut {
            go(Cells.cut("[more: /info \(message.number)]", to: room), .dim)
        }
        append(marks(of: message), to: &rows)
        if case .file = message.content, let picture = pictures[message.number],
            picture.width <= room
        {
            rows += picture.rows.map { [Screen.Span(Self.spaces(indent))] + $0 }
        }
        if !message.reactions.isEmpty { for row in reactions(message) { go(row, .plain) } }
        return rows
    }

    /// The name of an author. A nickname is cut before the id.
    private static func name(of message: ChatMessage, width: Int) -> String {
        let id = String(message.author.prefix(8))
        guard !message.hasName, message.name.hasSuffix(" " + id) else {
            return Cells.cut(message.name, to: width)
        }
        let nickname = String(message.name.dropLast(id.count + 1))
        return Cells.cut(nickname, to: max(1, width - id.count - 1)) + " " + id
    }

    static func spaces(_ count: Int) -> String { String(repeating: " ", count: max(0, count)) }

    static func padded(_ text: String, _ count: Int) -> String {
        text + spaces(count - Cells.width(text))
    }

    private static func body(_ message: ChatMessage) -> (String, Screen.Style) {
        switch message.content {
        case .text(let text): (text.isEmpty ? "[empty]" : Words.said(text), .plain)
        case .file(let name, let about, let text):
            (
                "[\(name)\(about.isEmpty ? "" : ", " + about)] /save \(message.number)"
                    + (text.isEmpty ? "" : "\n" + text), .plain
            )
        case .note(let note): ("[\(note)]", .dim)
        }
    }

    private func marks(of message: ChatMessage) -> [(String, Screen.Style)] {
        var marks: [(String, Screen.Style)] = []
        if message.isEdited, !message.isDeleted { marks.append(("[edited]", .dim)) }
        if message.isPinned { marks.append(("[pinned]", .dim)) }
        for mark in message.marks { marks.append(("[\(mark)]", .alert)) }
        if message.expires != nil { marks.append(("[ends]", .dim)) }
        guard message.isOwn, !message.isDeleted, !message.isLocal else { return marks }
        switch message.fate {
        case .unsent where message.isUnsent(at: now):
            marks.append(("[not sent]", .alert))
        case .unsent, .queued: marks.append(("…", .dim))
        case .handedOn: marks.append(("[handed on]", .dim))
        case .stored: marks.append(("✓", .dim))
        case .delivered: marks.append(("✓✓", .dim))
        case .read: marks.append(("✓✓ read", .good))
        case .failed: marks.append(("[not sent]", .alert))
        case nil where message.readers?.copies == 0 && lacksReaders:
            marks.append(("[nobody sees it yet]", .dim))
        case nil: break
        }
        if let readers = message.readers, readers.copies > 1, readers.delivered > 0,
            message.fate != .read
        {
            marks.append(
                ("\(readers.delivered)/\(readers.copies) got it, \(readers.read) read", .dim))
        }
        return marks
    }

    /// Appends marks to the last row, or below it if they do not fit.
    private func append(_ marks: [(String, Screen.Style)], to rows: inout [Row]) {
        for (mark, style) in marks {
            let text = Cells.cut(mark, to: room)
            let used = rows.last.map { row in row.reduce(0) { $0 + Cells.width($1.text) } } ?? 0
            if used + 1 + Cells.width(text) <= width, !rows.isEmpty {
                rows[rows.count - 1].append(contentsOf: [
                    Screen.Span(" "), Screen.Span(text, style),
                ])
            } else {
                rows.append([Screen.Span(Self.spaces(indent)), Screen.Span(text, style)])
            }
        }
    }

    private func reactions(_ message: ChatMessage) -> [String] {
        let parts = message.reactions.map { reaction in
            let names = reaction.people.prefix(3).map { Cells.cut(name($0), to: 16) }
            let more = reaction.people.count - names.count
            return reaction.emoji + " " + names.joined(separator: ", ")
                + (more > 0 ? " and \(more) more" : "")
        }
        return Cells.wrap(parts.joined(separator: "  "), width: room, limit: Self.reactionLimit)
            .rows
    }
}

extension Screen.Style {
    static let dim = style { $0.isDim = true }
    static let bold = style { $0.isBold = true }
    static let reversed = style { $0.isReversed = true }
    static let own = style {
        $0.isBold = true
        $0.color = .cyan
    }
    static let other = style {
        $0.isBold = true
        $0.color = .yellow
    }
    static let alert = style {
        $0.isBold = true
        $0.color = .red
    }
    static let good = style { $0.color = .green }

    private static func style(_ change: (inout Self) -> Void) -> Self {
        var style = Self()
        change(&style)
        return style
    }
}
