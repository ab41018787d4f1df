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
            let (input, question) = (inputRows, questionRows)
            rows = [header]
            let middle = middleRows(viewHeight)
            rows += middle.rows
            shown.messages = middle.messages
            rows += question.rows
            let isWhole = question.isWhole && question.rows.count + input.rows.count <= height
            shown.question = isWhole ? questions.first : nil
            if conversation == nil, overlay == nil { shown.items = shownItems.map(\.id) }
            rows += statusRows
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
        let below = inputRows.rows.count + questionRows.rows.count + statusRows.count
        return max(0, options.rows - 1 - below)
    }

    var layout: MessageRows {
        let people = Dictionary(
            (list.contacts.map { ($0.id, $0.name) } + members.map { ($0.id, $0.name) }),
            uniquingKeysWith: { $1 }
        ).merging(list.contacts.isEmpty ? conversation?.names ?? [:] : [:]) { known, _ in known }
        let own = ownID
        return MessageRows(
            width: options.columns, localTime: options.localTime,
            name: { Self.name(of: $0, own: own, known: people[$0]) },
            today: options.localTime(now), pictures: previews.pictures)
    }

    // MARK: The header

    private var header: [Screen.Span] {
        let (left, facts) = conversation.map(headerOfConversation) ?? ("sotto chat", headerOfList)
        var style = Screen.Style.reversed
        style.isBold = true
        let trouble = self.trouble
        let right = rightOfHeader
        let end = trouble.map { " \($0) " } ?? ""
        let room = options.columns - Cells.width(right) - Cells.width(end)
        // Another person chooses the name of a group. The name has no two spaces before words that look like facts, and leaves room
        // for the facts.
        let words = facts.isEmpty ? "" : "  " + facts.joined(separator: " · ")
        let name = " " + left.split(separator: " ").joined(separator: " ")
        let nameRoom = max(8, min(room / 3, Cells.width(name)), room - Cells.width(words))
        let text = Cells.cut(Cells.cut(name, to: nameRoom) + words, to: max(8, room))
        let shown = MessageRows.padded(text, max(0, room))
        var alert = Screen.Style.alert
        alert.isReversed = true
        return [Screen.Span(shown, style), Screen.Span(end, alert), Screen.Span(right, style)]
    }

    private var headerOfList: [String] {
        let online =
            trouble != nil
            ? []
            : Set(signals.keys.filter { $0.kind == .presence }.map(\.id)).compactMap {
                list.contact($0)?.name
            }
        return online.isEmpty
            ? [] : ["online: " + online.sorted().prefix(5).joined(separator: ", ")]
    }

    private func headerOfConversation(_ open: Conversation) -> (String, [String]) {
        var (name, facts) = (open.name, [String]())
        switch open.key {
        case .person(let id):
            if id == ownID { return (name, ["notes to yourself"]) }
            guard let contact = list.contact(id) else {
                return (name, list.contacts.isEmpty ? [] : ["not a contact"])
            }
            facts.append(contact.isVerified ? "verified" : "not verified")
            if contact.hasChangedKey { facts.append("CHANGED KEY") }
            if contact.isBlocked { facts.append("blocked") }
            facts.append(contact.hasForwardSecrecy ? "forward secrecy" : "no forward secrecy yet")
            if isOn(.presence, id, nil), trouble == nil { facts.append("online") }
        case .group(let id):
            name = "# " + name
            guard let group = list.group(id) else { break }
            if group.isDeleted { return (name, ["deleted for all"]) }
            facts.append(Words.count(group.members, "member"))
            facts.append(group.standing == "member" ? "you: \(group.rank)" : "you are not a member")
            if group.isUnconfirmed { facts.append("unconfirmed") }
            if let timer = group.timer { facts.append("messages end after \(Words.time(timer))") }
        case .chat: facts.append("a phrase; authors are not authenticated")
        }
        if let timer = list.conversation(open.key)?.timer {
            facts.append("messages end after \(Words.time(timer))")
        }
        return (name, facts)
    }

    private func isOn(_ kind: Signal.Kind, _ id: String, _ key: ConversationKey?) -> Bool {
        signals[Signal(id: id, kind: kind, key: key)] != nil
    }

    /// The present trouble in a few words.
    private var trouble: String? {
        if isLocked { return "locked" }
        if news.restart != nil { return "history starts again" }
        if receptionTrouble != nil, isReconnecting { return "reconnecting" }
        if receptionTrouble ?? sendTrouble != nil { return "relay not reached" }
        if presentMailTrouble != nil { return "no mail is received" }
        if sender.restart != nil { return "send starts again" }
        if isRelaySilent { return "relay does not answer" }
        return nil
    }

    /// The reason why recv and decrypt do not run now.
    private var presentMailTrouble: String? { mail.id == nil ? mailTrouble : nil }

    private var rightOfHeader: String {
        (waiting > 0 ? " \(waiting) waiting " : "") + unreadElsewhere
    }

    private var unreadElsewhere: String {
        let (messages, conversations) = list.unread(besides: conversation?.key)
        guard messages > 0 else { return "" }
        if conversation == nil { return " \(messages) unread " }
        return options.columns < 60
            ? " +\(messages) " : " \(messages) unread in \(Words.count(conversations, "other")) "
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

    private func rows(of overlay: Overlay, _ height: Int) -> [[Screen.Span]] {
        let lines = overlay.isLoading ? ["reading…"] : overlayRows(overlay)
        let shown = lines.dropFirst(overlay.top).prefix(max(1, height - 1))
        let more = lines.count > overlay.top + shown.count ? "  PageDown: more" : ""
        let title = [Screen.Span("── \(overlay.title) ──  Esc: back\(more)", .dim)]
        let rows = [title] + shown.map { [Screen.Span($0)] }
        return rows + Array(repeating: [], count: max(0, height - rows.count))
    }

    // MARK: The list

    /// The items of the list that the typed text leaves.
    var shownItems: [ChatList.Item] { list.items(editor.text.hasPrefix("/") ? "" : filter) }

    private func listRows(_ height: Int) -> [[Screen.Span]] {
        let items = shownItems
        guard !items.isEmpty else {
            guard list.isLoaded else { return padded([[Screen.Span("reading…", .dim)]], height) }
            let words =
                filter.isEmpty
                ? "no conversations yet: add a contact with sotto add, or wait for a message"
                : "no name contains “\(Cells.line(filter, limit: 40))”"
            return padded(
                Cells.wrap(words, width: options.columns, limit: 3).rows.map {
                    [Screen.Span($0, .dim)]
                }, height)
        }
        // The first one is chosen at the next key if the chosen one has gone.
        let chosen = list.place(in: items) ?? (list.choice == .nothing ? -1 : 0)
        let first = max(0, min(chosen - height / 2, items.count - height))
        let shown = items[first..<min(items.count, first + height)]
        let digits = "\(items.count)".count
        let nameWidth = min(
            max(12, items.reduce(0) { max($0, Cells.width($1.name)) }),
            options.columns < 60 ? 14 : 24)
        return padded(
            shown.enumerated().map { offset, item in
                row(
                    of: item, number: first + offset + 1, digits, nameWidth,
                    isChosen: first + offset == chosen)
            }, height)
    }

    private func padded(_ rows: [[Screen.Span]], _ height: Int) -> [[Screen.Span]] {
        Array(rows.prefix(height)) + Array(repeating: [], count: max(0, height - rows.count))
    }

    private func row(
        of item: ChatList.Item, number: Int, _ digits: Int, _ nameWidth: Int, isChosen: Bool
    ) -> [Screen.Span] {
        var name = Screen.Style.bold
        name.isReversed = isChosen
        let numberText = MessageRows.spaces(digits - "\(number)".count) + "\(number) "
        var row = [Screen.Span(isChosen ? ">" : " "), Screen.Span(numberText, .dim)]
        func add(
            _ title: String, _ unread: Int, _ time: String, _ mark: String, _ last: String,
            _ style: Screen.Style
        ) {
            row.append(
                Screen.Span(MessageRows.padded(Cells.cut(title, to: nameWidth), nameWidth), name))
            let count = unread > 0 ? (unread > 999 ? "999+" : "\(unread)") : ""
            row.append(
                Screen.Span(
                    " " + MessageRows.spaces(4 - count.count) + count, unread > 0 ? .alert : .plain)
            )
            if options.columns >= 50 {
                row.append(Screen.Span(" " + MessageRows.padded(time, 6), .dim))
            }
            row.append(Screen.Span(" \(mark) "))
            row.append(Screen.Span(last, style))
        }
        switch item {
        case .request(let request):
            let claimed =
                request.claimedName.map { "“\($0)”" } ?? "\(request.id.prefix(16))…"
            add(claimed, request.count, "", "?", "message request; the name is only claimed", .dim)
        case .invitation(let group):
            add(
                group.name, 0, "", "?",
                "invitation of \(self.name(of: group.inviter)), \(Words.count(group.members, "member"))",
                .dim)
        case .silent(let key, let name): add(name, 0, "", mark(of: key), "no messages yet", .dim)
        case .conversation(let conversation):
            let author = conversation.lastIsOwn ? "me: " : ""
            let draft = drafts[conversation.key].map { "[draft] \(Cells.line($0, limit: 60))" }
            let isBlocked = list.contact(conversation.key.who)?.isBlocked == true
            let muted = isBlocked ? "[blocked] " : conversation.isMuted ? "[muted] " : ""
            add(
                conversation.name, isBlocked ? 0 : conversation.unread,
                shortTime(conversation.time),
                mark(of: conversation.key),
                muted + (draft ?? (conversation.last.isEmpty ? "" : author + conversation.last)),
                .plain)
        }
        return row
    }

    /// One column: verified, a group, or online.
    private func mark(of key: ConversationKey) -> String {
        switch key {
        case .group: return "#"
        case .chat: return "~"
        case .person(let id):
            if isOn(.presence, id, nil), trouble == nil { return "●" }
            return list.contact(id)?.isVerified == true ? "✓" : " "
        }
    }

    /// Returns the hour of today, else the day.
    private func shortTime(_ time: Timestamp?) -> String {
        guard let time else { return "" }
        let (then, today) = (options.localTime(time), options.localTime(now))
        if (then.year, then.month, then.day) == (today.year, today.month, today.day) {
            return "\(Words.padded(then.hour)):\(Words.padded(then.minute))"
        }
        return Words.day(then)
    }

    // MARK: Below the messages

    /// The rows of the first question, and whether they have the whole of it.
    private var questionRows: (rows: [[Screen.Span]], isWhole: Bool) {
        guard let question = questions.first else { return ([], false) }
        let count = questions.waiting.count > 1 ? "(1 of \(questions.waiting.count)) " : ""
        let later = question.isOwn ? "" : "  ^O later"
        let keys = "^Y \(question.yes)  ^N \(question.no)\(later)"
        let short = "^Y ^N" + (question.isOwn ? "" : " ^O")
        let columns = options.columns
        let wrapped = Cells.wrap(
            "? \(count)\(question.text)", width: columns, limit: max(1, options.rows - 2))
        var style = Screen.Style.alert
        style.color = .magenta
        var rows = wrapped.rows.map { [Screen.Span($0, style)] }
        let room = columns - Cells.width(wrapped.rows.last ?? "") - 2
        if let end = [keys, short].first(where: { Cells.width($0) <= room }) {
            rows[rows.count - 1] += [Screen.Span("  "), Screen.Span(end, .bold)]
        } else {
            rows.append([Screen.Span(Cells.width(keys) <= columns ? keys : short, .bold)])
        }
        return (rows, !wrapped.isCut)
    }

    /// The row of the status; an error is wrapped to at most a third of the screen.
    private var statusRows: [[Screen.Span]] {
        guard options.rows > 3 else { return [] }
        guard let status, status.isAlert else { return [statusRow] }
        return Cells.wrap(status.text, width: options.columns, limit: max(1, options.rows / 3)).rows
            .map { [Screen.Span($0, .alert)] }
    }

    private var statusRow: [Screen.Span] {
        if let status { return [Screen.Span(status.text, status.isAlert ? .alert : .plain)] }
        if case .pending? = conversation?.selection {
            return [Screen.Span(Self.pendingKeys, .bold)]
        }
        if conversation?.selection != nil {
            return [
                Screen.Span(
                    "r reply  + react  e edit  d delete  p pin  f forward  s save  c copy  i info",
                    .bold)
            ]
        }
        if let subject { return [Screen.Span(words(for: subject), .bold)] }
        if let signals = signalWords { return [Screen.Span(signals, .good)] }
        if let open = conversation {
            if open.anchor != nil {
                let unread = open.unread > 0 ? "\(open.unread) unread, " : ""
                return [Screen.Span("── \(unread)newer messages are below: PageDown, Esc ──", .dim)]
            }
            if let trouble = receptionTrouble ?? sendTrouble ?? presentMailTrouble {
                return [Screen.Span(trouble, .dim)]
            }
            return open.isLoaded ? [] : [Screen.Span("reading…", .dim)]
        }
        return [
            Screen.Span(
                options.columns < 60
                    ? "Enter opens, \(leaving) leaves, /help"
                    : "arrows or a number and Enter open; typing filters; \(leaving) leaves; /help",
                .dim)
        ]
    }

    private var leaving: String { leavesByLetter ? "q" : "Ctrl-D" }

    private func words(for subject: Subject) -> String {
        func message(_ number: Int64) -> String {
            guard let message = conversation?.message(number) else { return "message \(number)" }
            return "\(message.name): \(Cells.line(message.summary, limit: 60))"
        }
        switch subject {
        case .reply(let number): return "reply to \(message(number))  Esc: no"
        case .edit: return "change your message; Enter saves it, Esc: no, Up: select"
        case .react(let number): return "type an emoji for \(message(number))  Esc: no"
        case .forward(let number): return "forward to (name): \(message(number))  Esc: no"
        }
    }

    private var signalWords: String? {
        guard let key = conversation?.key else { return nil }
        let typing = signals.keys.filter { signal in
            signal.kind == .typing && signal.key == key
                && (!key.isGroup || members.contains { $0.id == signal.id })
        }.map { name(of: $0.id) }.sorted()
        guard !typing.isEmpty else { return nil }
        let shown = typing.prefix(3).joined(separator: ", ")
        return shown
            + (typing.count > 3
                ? " and others are typing" : typing.count == 1 ? " is typing" : " are typing")
    }

    // MARK: The passphrase

    private func lockRows(_ lock: LockPrompt) -> ([[Screen.Span]], Screen.Place?) {
        // The same number for all lengths: the screen must not show the length.
        let stars = lock.passphrase.count > 0 ? "****" : ""
        let box = lock.stays ? "[x]" : "[ ]"
        var rows: [[Screen.Span]] = [
            [Screen.Span(MessageRows.padded(" sotto chat", options.columns), .reversed)], [],
            [Screen.Span("The identity is locked.", .bold)], [],
            [Screen.Span("Passphrase: "), Screen.Span(stars)], [],
            [Screen.Span("\(box) Tab: stay unlocked for 8 hours, also after the chat")],
            [
                Screen.Span(
                    "Enter: unlock   Ctrl-U: clear   \(isStarted ? "Esc: back" : "Ctrl-C: end")",
                    .dim)
            ], [],
        ]
        if lock.isWaiting { rows.append([Screen.Span("unlocking…", .dim)]) }
        rows += Cells.wrap(Cells.plain(lock.message), width: options.columns, limit: 4).rows.map {
            [Screen.Span($0, .alert)]
        }
        return (rows, lock.isWaiting ? nil : Screen.Place(row: 4, column: 12 + stars.count))
    }
}
