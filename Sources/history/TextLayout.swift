import Glibc
import Sotto
import SottoContacts
import SottoMessages
import SottoState
import SottoTool

/// Messages for people: `17  09:30 bob  text` with the number of the message, and with the date before the first message of a day.
///
/// The sender's name is printed once for messages that follow within 60 seconds. Colours and the terminal's width apply only
/// on a terminal. Control characters are escaped everywhere: a text must not imitate a line of another sender.
struct TextLayout {
    private let output: Output
    private let isColoured: Bool
    private var nameWidth = 0
    private var numberWidth = 1
    private var last: (conversation: Conversation, name: String, time: Int64)?
    private var day = ""

    /// The maximum width of the column of names.
    private static let maximalNameWidth = 16
    private static let together: Int64 = 60

    init(_ output: Output) {
        self.output = output
        let isDumb =
            getenv("NO_COLOR") != nil || getenv("TERM").map { String(cString: $0) } == "dumb"
        isColoured = output.isTerminal && !isDumb
    }

    /// Sets the widths of the columns of numbers and names for the next messages.
    mutating func prepare(_ names: [String], numbers: [Int64]) {
        numberWidth = max(numberWidth, numbers.map { "\($0)".count }.max() ?? 0)
        let widest = names.map { Table.width(Self.oneLine($0)) }.max() ?? 0
        nameWidth = min(max(nameWidth, widest), Self.maximalNameWidth)
    }

    mutating func print(
        _ view: MessageView, name: String, reactions: [(emoji: String, name: String)],
        forwarded: String?, answering: Int?,
        quotation: Quotation?, about target: String, group: String?, departure: String?
    ) throws {
        let entry = view.entry
        let time = entry.shownTime
        let clock = try clock(time)
        let seconds = time?.seconds ?? 0
        let isSame =
            last.map {
                $0.name == name && $0.conversation == entry.conversation
                    && abs(seconds - $0.time) < Self.together
            } ?? false
        last = (entry.conversation, name, seconds)
        let shown = isSame ? "" : Table.cut(Self.oneLine(name), to: Self.maximalNameWidth)
        let gap = String(repeating: " ", count: max(0, nameWidth - Table.width(shown)))
        let head = head("\(entry.number)", clock)
        let width = head.count + nameWidth + 2
        let quoted = quotation.map { [self.line(of: $0, indent: width)] } ?? []
        let lines = quoted + lines(of: view, about: target, indent: width)
        let isOwn = entry.direction == .sent
        let beginning =
            coloured(head, .faint) + coloured(shown, isOwn ? .own : .other) + gap + "  "
        let space = "\n" + String(repeating: " ", count: width)
        let place = group.map { ["[in \(Self.oneLine($0))]"] } ?? []
        let marks =
            place + Self.marks(view, reactions, forwarded, answering, isRepeated: departure != nil)
            + (departure.map { ["[\(Self.oneLine($0))]"] } ?? [])
        func columns() -> Int {
            marks.reduce(width + Table.width(lines.last ?? "")) { $0 + 2 + Table.width($1) }
        }
        let isWide = output.isTerminal && output.terminalWidth.map { columns() > $0 } == true
        let shownMarks = marks.map { coloured($0, .faint) }.joined(separator: "  ")
        let end = marks.isEmpty ? "" : (isWide ? space : "  ") + shownMarks
        try output.write(utf8: beginning + lines.joined(separator: space) + end + "\n")
    }

    /// Prints earlier versions of the message that was printed last, the oldest first.
    mutating func print(versions: ArraySlice<MessageView.Version>) throws {
        last = nil
        for (index, version) in versions.enumerated() {
            let head = head("", try clock(version.time))
            let width = head.count + nameWidth + 2
            let space = "\n" + String(repeating: " ", count: width)
            let lines = lines(of: version.body, indent: width)
            let start = coloured(head, .faint) + String(repeating: " ", count: nameWidth + 2)
            let mark = coloured("[version \(index + 1)]", .faint)
            try output.write(
                Array((start + lines.joined(separator: space) + "  " + mark + "\n").utf8))
        }
    }

    /// Prints a change of a group, which has no number and no author in the columns.
    mutating func print(_ change: ShownChange) throws {
        let head = head("", try clock(change.time))
        last = nil
        let width = head.count + nameWidth + 2
        let lines = lines(of: change.body, indent: width)
        let gap = String(repeating: " ", count: nameWidth + 2)
        let space = "\n" + String(repeating: " ", count: width)
        let line = coloured(head, .faint) + gap + lines.joined(separator: space) + "\n"
        try output.write(Array(line.utf8))
    }

    /// Returns the columns of the number and the time.
    private func head(_ number: String, _ clock: String?) -> String {
        let space = String(repeating: " ", count: max(0, numberWidth - number.count))
        return "\(space)\(number)  \(clock ?? "--:--") "
    }

    /// Returns the local hour and minute of a time. Prints the day first if it is not that of the message before.
    private mutating func clock(_ time: Timestamp?) throws -> String? {
        guard let clock = time?.local else { return nil }
        if clock.day != day {
            day = clock.day
            last = nil
            try output.write(Array((coloured("-- \(day) --", .faint) + "\n").utf8))
        }
        return clock.minute
    }

    // MARK: Content

    /// Returns the beginning of what a reply quotes, on one line.
    private func line(of quotation: Quotation, indent: Int) -> String {
        let (text, note) = quotation.shown
        let end = note.map { " [\($0)]" } ?? ""
        let width = max(24, (output.terminalWidth ?? 80) - indent)
        let room = max(8, width - Table.width(end) - 2)
        return coloured("> " + Table.cut(TargetWords.firstLine(of: text), to: room) + end, .faint)
    }

    private func lines(
        of view: MessageView, about target: String, indent: Int
    ) -> [String] {
        guard view.body != nil else {
            return [coloured("[\(view.placeholder)]", .faint)]
        }
        return lines(of: Quotation.text(of: view, about: target), indent: indent)
    }

    private func lines(of body: JSONObject, indent: Int) -> [String] {
        lines(of: Quotation.text(of: body), indent: indent)
    }

    private func lines(of text: String, indent: Int) -> [String] {
        guard output.isTerminal else { return TerminalParagraph.escapedLines(of: text) }
        let width = output.terminalWidth.map { max(24, $0 - indent) }
        let lines = TerminalParagraph.show(text, width: width)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let limit = TerminalParagraph.lineLimit
        guard lines.count > limit else { return lines }
        let rest = lines.count - limit
        return lines.prefix(limit) + [coloured("[\(rest) more lines]", .faint)]
    }

    /// Returns the marks after the text.
    private static func marks(
        _ view: MessageView, _ reactions: [(emoji: String, name: String)], _ forwarded: String?,
        _ answering: Int?, isRepeated: Bool
    ) -> [String] {
        let cut = reactions.map { ($0.emoji, Table.cut($0.name, to: maximalNameWidth)) }
        return view.marks(
            cut, forwarded: forwarded, answering: answering, isRepeated: isRepeated
        ).map { "[\(oneLine($0))]" }
    }

    /// Returns a name on one line, without characters that a terminal interprets.
    private static func oneLine(_ name: String) -> String {
        guard name.unicodeScalars.contains(where: \.isInvisible) else { return name }
        let plain = name.unicodeScalars.map { scalar -> Unicode.Scalar in
            scalar.isInvisible ? "\u{FFFD}" : scalar
        }
        return String(String.UnicodeScalarView(plain))
    }

    // MARK: Colours and time

    private enum Colour: String {
        case faint = "2"
        case own = "36"
        case other = "33"
    }

    private func coloured(_ text: String, _ colour: Colour) -> String {
        isColoured && !text.isEmpty ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
    }
}
