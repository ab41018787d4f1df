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

    mutating func showFacts(_ subject: FactLines.Subject) {
        overlay = Overlay(title: subject.title, lines: [], isLoading: true)
        run(.facts(subject), subject.command[0], Array(subject.command.dropFirst()))
    }

    mutating func endFacts(_ subject: FactLines.Subject, _ run: Running) {
        var lines = [run.cause]
        if run.status == 0,
            let record = run.lines.first.flatMap({ try? JSON.object(parsing: $0) })
        {
            lines = FactLines(localTime: options.localTime, name: name(of:)).lines(of: record)
        }
        guard options.form == .screen else { return show(subject.title, lines) }
        guard overlay?.title == subject.title else { return }
        overlay = Overlay(title: subject.title, lines: Array(lines.prefix(Overlay.lineLimit)))
    }

    mutating func endOverlay(_ title: String, _ run: Running) {
        // The header says it in other words.
        let shown = run.lines.filter {
            title != Overlay.contact || !$0.starts(with: Array("suite ".utf8))
        }
        var lines = shown.prefix(Overlay.lineLimit).flatMap {
            Cells.plain(String(decoding: $0.prefix(16 << 10), as: UTF8.self))
                .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        }
        if run.status != 0, lines.isEmpty {
            lines = [
                run.status == 1
                    ? emptyOverlay(title) : Words.cause(run.errors) ?? "status \(run.status)"
            ]
        }
        guard options.form == .screen else { return show(title, lines) }
        guard overlay?.title == title else { return }
        overlay = Overlay(title: title, lines: lines)
    }

    private func emptyOverlay(_ title: String) -> String {
        title == Overlay.pins ? "no message is pinned here" : "no message here has this text"
    }

    mutating func takeInOverlay(_ key: Key) {
        let height = max(1, viewHeight - 1)
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
