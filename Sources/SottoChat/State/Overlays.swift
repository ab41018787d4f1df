import SottoBytes

/// Texts over the conversation.
extension ChatState {
    mutating func show(_ title: String, _ tool: String, _ arguments: [String]) {
        overlay = Overlay(title: title, lines: [], isLoading: true)
        run(.overlay(title), tool, arguments)
    }

    mutating func show(_ title: String, _ lines: [String]) {
        guard options.form == .screen else {
            for line in lines { effects.append(.print(line)) }
            return
        }
        overlay = Overlay(title: title, lines: lines)
    }

    /// Lists messages of the open conversation. Without a screen, nobody can choose one.
    mutating func show(_ query: MessageQuery) {
        guard options.form == .screen else {
            run(.messages(query), "history", query.arguments("--text"))
            return
        }
        overlay = Overlay(title: query.title, lines: [], isLoading: true)
        run(.messages(query), "history", query.arguments("--json"))
    }

    mutating func endMessages(_ query: MessageQuery, _ run: Running) {
        var cause = run.status == 0 ? nil : run.advice
        // Status 1: the list is empty.
        if run.status == 1 { cause = query.nothing }
        guard options.form == .screen else {
            return show(query.title, cause.map { [$0] } ?? Self.plainLines(run.lines))
        }
        guard overlay?.title == query.title, conversation?.key == query.key else { return }
        let records = cause == nil ? run.lines.compactMap { try? JSON.object(parsing: $0) } : []
        let messages = records.compactMap { ChatMessage($0, in: query.key) }
        let title = messages.count < MessageQuery.limit ? query.title : query.fullTitle
        overlay = Overlay(
            title: title, lines: messages.isEmpty ? [cause ?? query.nothing] : [],
            messages: messages, wanted: query.wanted)
    }

    private static func plainLines(_ lines: some Sequence<[UInt8]>) -> [String] {
        lines.prefix(Overlay.lineLimit).flatMap {
            Cells.plain(String(decoding: $0.prefix(16 << 10), as: UTF8.self))
                .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        }
    }

    mutating func showFacts(_ subject: FactLines.Subject) {
        overlay = Overlay(title: subject.title, lines: [], isLoading: true)
        run(.facts(subject), subject.command[0], Array(subject.command.dropFirst()))
    }

    mutating func endFacts(_ subject: FactLines.Subject, _ run: Running) {
        var lines = [run.advice]
        if run.status == 0,
            let record = run.lines.first.flatMap({ try? JSON.object(parsing: $0) })
        {
            lines = FactLines(
                localTime: options.localTime, name: name(of:),
                readers: members.filter(\.readsMe).map(\.name),
                asksForGrants: list.group(conversation?.key.who ?? "")?.asksForGrants == true
            ).lines(of: record)
        }
        guard options.form == .screen else { return show(subject.title, lines) }
        guard overlay?.title == subject.title else { return }
        overlay = Overlay(title: subject.title, lines: Array(lines.prefix(Overlay.lineLimit)))
    }

    mutating func endOverlay(_ title: String, _ run: Running) {
        // The header says it in other words.
        let shown = run.lines.filter {
            ![Overlay.contact, Overlay.verification].contains(title)
                || !$0.starts(with: Array("suite ".utf8))
        }
        var lines = Self.plainLines(shown)
        if run.status != 0, lines.isEmpty {
            lines = [run.advice]
        }
        if title == Overlay.verification, run.status == 0 {
            lines =
                [
                    "Read the safety number below out to the contact, in a call or when you meet.",
                    "If the contact sees the same number: /verify NUMBER", "",
                ] + lines.drop { !$0.hasPrefix("safety no") }
        }
        guard options.form == .screen else { return show(title, lines) }
        guard overlay?.title == title else { return }
        overlay = Overlay(title: title, lines: lines)
    }

    /// Takes a key in a list of messages.
    private mutating func takeInMessages(_ key: Key, of list: Overlay, height: Int) -> Bool {
        func choose(_ step: Int) {
            overlay?.chosen = max(0, min(list.messages.count - 1, list.chosen + step))
        }
        switch key {
        case .up, .backTab: choose(-1)
        case .down, .tab: choose(1)
        case .pageUp: choose(-height)
        case .pageDown, .text(" "): choose(height)
        case .home: choose(-list.messages.count)
        case .end: choose(list.messages.count)
        case .enter:
            overlay = nil
            jump(to: list.messages[list.chosen])
        default: return false
        }
        return true
    }

    mutating func takeInOverlay(_ key: Key) {
        let height = max(1, viewHeight - 1)
        if let list = overlay, !list.messages.isEmpty,
            takeInMessages(key, of: list, height: height)
        {
            return
        }
        switch key {
        case .up: scrollOverlay(-1)
        case .down: scrollOverlay(1)
        case .pageUp: scrollOverlay(-height)
        case .pageDown, .text(" "): scrollOverlay(height)
        case .home: scrollOverlay(-1_000_000)
        case .end: scrollOverlay(1_000_000)
        case .escape, .enter, .text("q"): overlay = nil
        case .text:
            overlay = nil
            take(key)
        default: break
        }
    }

    private mutating func scrollOverlay(_ count: Int) {
        guard let overlay else { return }
        let rows = overlayRows(overlay).count
        let last = max(0, rows - max(1, viewHeight - 1))
        self.overlay?.top = max(0, min(last, overlay.top + count))
    }
}
