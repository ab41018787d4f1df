/// The question and the status above the typed text.
extension ChatState {
    /// The rows of the first question, and whether they have the whole of it.
    var questionRows: (rows: [[Screen.Span]], isWhole: Bool) {
        guard let question = questions.first else { return ([], false) }
        let count = questions.waiting.count > 1 ? "(1 of \(questions.waiting.count)) " : ""
        let keys =
            ["^Y \(question.yes)", "^N \(question.no)"] + (question.isOwn ? [] : ["^O later"])
        let short = "^Y ^N" + (question.isOwn ? "" : " ^O")
        let columns = options.columns
        let wrapped = Cells.wrap(
            "? \(count)\(question.text)", width: columns, limit: max(1, options.rows - 2))
        var style = Screen.Style.alert
        style.color = .magenta
        var rows = wrapped.rows.map { [Screen.Span($0, style)] }
        let words = keys.joined(separator: "  ")
        // Without the words a name in the question could tell what the keys do.
        let isHigh = options.rows > rows.count + keys.count + 4
        let room = columns - Cells.width(wrapped.rows.last ?? "") - 2
        if let end = (isHigh ? [words] : [words, short]).first(where: { Cells.width($0) <= room }) {
            rows[rows.count - 1] += [Screen.Span("  "), Screen.Span(end, .bold)]
        } else {
            let end = Cells.width(words) <= columns ? [words] : isHigh ? keys : [short]
            rows += end.map { [Screen.Span(Cells.cut($0, to: columns), .bold)] }
        }
        return (rows, !wrapped.isCut)
    }

    /// The rows of the status. An error is wrapped to at most a third of the screen, and leaves the words that tell what the keys
    /// do now.
    var statusRows: [[Screen.Span]] {
        guard options.rows > 3 else { return [] }
        func wrapped(_ text: String, _ style: Screen.Style) -> [[Screen.Span]] {
            Cells.wrap(text, width: options.columns, limit: max(1, options.rows / 3)).rows
                .map { [Screen.Span($0, style)] }
        }
        let mode = modeWords.map { wrapped($0, .bold) } ?? []
        guard let status else {
            guard mode.isEmpty else { return mode }
            guard conversation != nil, let span = statusRow.first else { return [statusRow] }
            return wrapped(span.text, span.style)
        }
        guard status.isAlert else { return [[Screen.Span(status.text)]] }
        let alert = wrapped(status.text, .alert)
        return options.rows < 6 && !mode.isEmpty ? mode : alert + mode
    }

    /// The words for the keys of a selected message, or for the use of Enter.
    private var modeWords: String? {
        if case .pending? = conversation?.selection { return Self.pendingKeys }
        if let number = conversation?.selection?.message {
            return conversation?.message(number).map { selectionKeys(for: $0) }
        }
        return subject.map { words(for: $0) }
    }

    private var statusRow: [Screen.Span] {
        if let signals = signalWords { return [Screen.Span(signals, .good)] }
        if let open = conversation {
            if open.origin != nil {
                let selecting = open.found == nil ? "" : "; Tab selects the message"
                return [Screen.Span("── Esc: back to where you were\(selecting) ──", .dim)]
            }
            if open.anchor != nil {
                let listed = open.isDetached ? list.conversation(open.key)?.unread ?? 0 : 0
                let count = max(open.unread, listed)
                let unread = count > 0 ? "\(count) unread, " : ""
                return [Screen.Span("── \(unread)newer messages are below: PageDown, Esc ──", .dim)]
            }
            if let count = open.unreadAbove {
                return [Screen.Span("── \(count) unread above: PageUp ──", .alert)]
            }
            let count = open.messages.count { $0.isUnsent(at: now) }
            if count > 0 {
                let what = count == 1 ? "1 message" : "\(count) messages"
                return [
                    Screen.Span("\(what) did not leave this machine: /resend sends again", .alert)
                ]
            }
            let elsewhere = isReceivedElsewhere && mail.id == nil ? Self.elsewhere : nil
            if let trouble = receptionTrouble ?? presentMailTrouble ?? strandedWords
                ?? relayTroubleReason ?? elsewhere
            {
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
}
