import Sotto

/// The screen.
extension ChatState {
    private static let prompt = "> "

    /// Returns the present screen.
    package func screen() -> Screen {
        let (columns, height) = (options.columns, options.rows)
        var rows: [[Screen.Span]]
        var cursor: Screen.Place?
        var shown = Screen.Shown()
        if let lock {
            (rows, cursor) = lockRows(lock)
        } else {
            let (input, question, below) = (inputRows, questionRows, statusRows)
            rows = [header]
            let middle = middleRows(
                viewHeight(above: input.rows.count + question.rows.count + below.count))
            rows += middle.rows
            shown.messages = middle.messages
            rows += question.rows
            let isWhole = question.isWhole && question.rows.count + input.rows.count <= height
            shown.question = isWhole ? questions.first : nil
            if conversation == nil, overlay == nil { shown.items = shownItems.map(\.id) }
            rows += below
            if overlay == nil {
                cursor = Screen.Place(
                    row: rows.count + input.cursor.row, column: input.cursor.column)
            }
            rows += input.rows
            // The typed text and the question have precedence over the rest.
            let excess = max(0, rows.count - height)
            rows.removeFirst(excess)
            if let place = cursor { cursor?.row = max(0, place.row - excess) }
        }
        rows = Array(rows.prefix(height)).map { fit($0, columns) }
        rows += Array(repeating: [], count: max(0, height - rows.count))
        if let place = cursor {
            cursor = Screen.Place(
                row: min(place.row, height - 1), column: min(place.column, columns - 1))
        }
        var screen = Screen(columns: columns, rows: rows, cursor: cursor)
        screen.shown = shown
        return screen
    }

    /// Cuts a row that is too wide.
    private func fit(_ row: [Screen.Span], _ columns: Int) -> [Screen.Span] {
        var (out, left) = ([Screen.Span](), columns)
        for span in row where left > 0 && !span.text.isEmpty {
            let text = Cells.cut(span.text, to: left)
            left -= Cells.width(text)
            out.append(Screen.Span(text, span.style))
        }
        return out
    }

    // MARK: Sizes

    var editorWidth: Int { max(1, options.columns - Self.prompt.count - 1) }

    private var inputRows: (rows: [[Screen.Span]], cursor: Screen.Place) {
        let limit = max(1, options.rows / 3)
        let (lines, place) = editor.visible(width: editorWidth, height: limit)
        let rows = lines.enumerated().map { index, text in
            [
                Screen.Span(index == 0 ? Self.prompt : MessageRows.spaces(2), .bold),
                Screen.Span(text),
            ]
        }
        return (rows, Screen.Place(row: place.row, column: place.column + Self.prompt.count))
    }

    /// The rows between the header and what is below the messages.
    var viewHeight: Int {
        viewHeight(above: inputRows.rows.count + questionRows.rows.count + statusRows.count)
    }

    private func viewHeight(above rows: Int) -> Int { max(0, options.rows - 1 - rows) }

    var layout: MessageRows {
        let people = Dictionary(
            (list.contacts.map { ($0.id, $0.name) } + members.map { ($0.id, $0.name) }),
            uniquingKeysWith: { $1 }
        ).merging(list.contacts.isEmpty ? conversation?.names ?? [:] : [:]) { known, _ in known }
        let own = ownID
        return MessageRows(
            width: options.columns, localTime: options.localTime,
            name: { Self.name(of: $0, own: own, known: people[$0]) },
            now: now, today: options.localTime(now), pictures: previews.pictures,
            lacksReaders: lacksReaders)
    }

    // MARK: The middle

    /// The rows of the middle, and the messages that they show.
    private func middleRows(_ height: Int) -> (
        rows: [[Screen.Span]], messages: Screen.Messages?
    ) {
        if let overlay { return (rows(of: overlay, height), nil) }
        guard let open = conversation else { return (listRows(height), nil) }
        let view = open.view(layout, height: height)
        var rows = view.rows
        if open.isLoaded, rows.isEmpty { rows = [[Screen.Span(emptyWords(of: open.key), .dim)]] }
        rows = Array(repeating: [], count: max(0, height - rows.count)) + rows
        return (rows, Screen.Messages(key: open.key, numbers: view.numbers))
    }

    private func emptyWords(of key: ConversationKey) -> String {
        guard case .group(let id) = key, let group = list.group(id), group.standing != "member"
        else {
            return "no messages yet; type one"
        }
        return group.standing == "invited"
            ? "you are invited and have not joined; /questions asks"
            : "you are not a member of the group"
    }

    func overlayRows(_ overlay: Overlay) -> [String] {
        let width = options.columns
        return overlay.lines.flatMap { line in
            // The rows after the first are below the last column of a table.
            // If this leaves too little room, they are below the first column.
            let column = Self.lastColumn(line)
            let indent = column <= width / 3 ? column : 2
            let rows = Cells.wrap(line, first: width, width: width - indent, limit: 500).rows
            return rows.prefix(1) + rows.dropFirst().map { MessageRows.spaces(indent) + $0 }
        }
    }

    /// Returns the column after the last run of two spaces, or 0.
    private static func lastColumn(_ line: String) -> Int {
        var (column, spaces, last) = (0, 0, 0)
        for character in line {
            if character == " " {
                spaces += 1
            } else {
                if spaces > 1 { last = column }
                spaces = 0
            }
            column += Cells.width(character)
        }
        return last
    }

    /// Returns the rows of a list of messages: a row for each.
    private func rows(ofMessages list: Overlay, _ height: Int) -> [[Screen.Span]] {
        let room = max(1, height - 1)
        let first = max(0, min(list.chosen - room / 2, list.messages.count - room))
        let places = first..<min(list.messages.count, first + room)
        let title = [Screen.Span("── \(list.title) ──  Enter: show, Esc: back", .dim)]
        let rows = places.map { place -> [Screen.Span] in
            let (message, isChosen) = (list.messages[place], place == list.chosen)
            var style = Screen.Style.bold
            style.isReversed = isChosen
            let time = Words.moment(options.localTime(message.time))
            return [
                Screen.Span(isChosen ? "> " : "  "), Screen.Span(time + " ", .dim),
                Screen.Span(message.name, style),
                Screen.Span("  " + message.excerpt(with: list.wanted)),
            ]
        }
        return [title] + rows + Array(repeating: [], count: max(0, room - rows.count))
    }

    private func rows(of overlay: Overlay, _ height: Int) -> [[Screen.Span]] {
        if !overlay.messages.isEmpty { return rows(ofMessages: overlay, height) }
        let lines = overlay.isLoading ? ["reading…"] : overlayRows(overlay)
        let shown = lines.dropFirst(overlay.top).prefix(max(1, height - 1))
        let more = lines.count > overlay.top + shown.count ? "  PageDown: more" : ""
        let title = [Screen.Span("── \(overlay.title) ──  Esc: back\(more)", .dim)]
        let rows = [title] + shown.map { [Screen.Span($0)] }
        return rows + Array(repeating: [], count: max(0, height - rows.count))
    }
}
