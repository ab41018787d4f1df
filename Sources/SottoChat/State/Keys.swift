import Sotto
import SottoBytes

/// Keys and pastes.
extension ChatState {
    mutating func take(_ key: Key) {
        if key != .control("c") { isInterrupted = false }
        if status?.isAlert == false { status = nil }
        switch key {
        case .control("l"):
            effects.append(.repaint)
            return
        case .control("z"):
            effects.append(.suspend)
            return
        default: break
        }
        if lock != nil { return takeInLock(key) }
        switch key {
        case .control("y"): return answer(true)
        case .control("n"): return answer(false)
        case .control("o"):
            if let question = questions.take() {
                questions.putOff(question)
                say("asked again with /questions")
            }
            return
        case .control("c"): return interrupt()
        default: break
        }
        // Only the list has keys of Alt.
        if case .alt = key, conversation != nil { return }
        if overlay != nil { return takeInOverlay(key) }
        if isOpening { return takeWhileOpening(key) }
        if conversation?.selection != nil, takeInSelection(key) { return }
        if conversation != nil { takeInConversation(key) } else { takeInList(key) }
    }

    mutating func paste(_ text: String) {
        if let lock {
            if !lock.isWaiting { lock.passphrase.append(text.filter { !$0.isNewline }) }
            return
        }
        overlay = nil
        conversation?.selection = nil
        insert(conversation == nil ? String(text.prefix { !$0.isNewline }) : text)
    }

    /// Takes a key while a named conversation is being opened: the text is for that one, and waits.
    private mutating func takeWhileOpening(_ key: Key) {
        switch key {
        case .enter: say("not sent: the conversation is being opened")
        case .text(let text): insert(text)
        default: _ = editor.take(key)
        }
    }

    mutating func insert(_ text: String) {
        if !editor.insert(text) {
            complain("the text is too long: at most \(LineEditor.limit / 1024) KiB")
        }
        if conversation == nil, !isOpening { chooseTyped() }
        if !isOpening { signalTyping() }
    }

    private mutating func interrupt() {
        if isFinishing { return end(130) }
        if !editor.isEmpty || subject != nil {
            remember(editor.text)
            editor.set("")
            subject = nil
            return
        }
        guard isInterrupted else {
            isInterrupted = true
            return say("Ctrl-C again ends")
        }
        end(130)
    }

    // MARK: The list

    private mutating func takeInList(_ key: Key) {
        let isCommand = editor.text.hasPrefix("/")
        let items = list.items(isCommand ? "" : filter)
        switch key {
        case .up, .selectUp: choose(-1, items)
        case .down, .selectDown: choose(1, items)
        case .pageUp: choose(-viewHeight, items)
        case .pageDown: choose(viewHeight, items)
        case .enter:
            if isCommand { return submit() }
            if let place = list.place(in: items) { open(items[place]) }
        case .escape:
            editor.set("")
            list.choice = .first
        case .tab where isCommand: complete()
        case .tab:
            let isLast = list.place(in: items) == items.count - 1
            isLast ? (list.choice = .first) : choose(1, items)
        case .text("q") where editor.isEmpty && leavesByLetter, .control("d") where editor.isEmpty:
            finish(0)
        case .text(let text):
            insert(text)
            openByNumber()
        case .alt(let digit): if let number = digit.wholeNumberValue { open(number: number) }
        case .lineBreak: break
        default: if editor.take(key) { chooseTyped() }
        }
    }

    /// Whether q ends the program: not if it can be the beginning of a name.
    var leavesByLetter: Bool { !list.items("").contains { $0.name.lowercased().hasPrefix("q") } }

    /// Chooses the item some places after the chosen one, or the last in that direction.
    private mutating func choose(_ step: Int, _ items: [ChatList.Item]) {
        guard !items.isEmpty else { return }
        let place = max(0, min(items.count - 1, (list.place(in: items) ?? 0) + step))
        list.choice = .item(items[place].id)
    }

    /// The number that is typed in the list.
    private var typedNumber: Int? {
        let text = editor.text
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text) ?? .max
    }

    /// The text by which the list is filtered: none while a number is typed.
    var filter: String { typedNumber == nil ? editor.text : "" }

    /// Chooses the item of the typed number, or the first one with the typed text.
    private mutating func chooseTyped() {
        guard let number = typedNumber else {
            list.choice = .first
            return
        }
        let isThere = list.painted.indices.contains(number - 1)
        list.choice = isThere ? .item(list.painted[number - 1]) : .nothing
    }

    /// Opens the item of a typed number, if no longer number begins with it.
    private mutating func openByNumber() {
        guard let number = typedNumber, number > list.painted.count / 10 else { return }
        open(number: number)
    }

    /// Opens the item that has a number on the screen.
    private mutating func open(number: Int) {
        guard list.painted.indices.contains(number - 1) else { return }
        let id = list.painted[number - 1]
        if let item = list.items("").first(where: { $0.id == id }) { open(item) }
    }

    mutating func open(_ item: ChatList.Item) {
        switch item {
        case .conversation(let conversation): open(conversation.key, name: conversation.name)
        case .silent(let key, let name): open(key, name: name)
        case .request, .invitation:
            editor.set("")
            questions.reset()
            item.isRequest ? askRequests() : askInvitations()
            say("answer the question below with Ctrl-Y, Ctrl-N or Ctrl-O")
        }
    }

    // MARK: A conversation

    private mutating func takeInConversation(_ key: Key) {
        let width = editorWidth
        switch key {
        case .enter: submit()
        case .escape: back()
        case .pageUp: scroll(up: max(1, viewHeight - 2))
        case .pageDown: scroll(down: max(1, viewHeight - 2))
        case .end where editor.isEmpty: goToEnd()
        case .home where editor.isEmpty: scroll(up: 100_000)
        case .control("d") where editor.isEmpty: finish(0)
        case .tab where editor.isEmpty, .selectUp: select(-1)
        case .selectDown: select(1)
        case .tab: complete()
        case .up:
            if editor.isEmpty, subject == nil { return editLast() }
            if case .edit(let number)? = subject,
                conversation?.message(number)?.plainText == editor.text
            {
                cancelSubject()
                return select(-1)
            }
            if !editor.move(rows: -1, width: width) { recall(-1) }
        case .down: if !editor.move(rows: 1, width: width) { recall(1) }
        case .text(let text): insert(text)
        default: if editor.take(key) { signalTyping() }
        }
    }

    /// Cancels the purpose of the text, else goes to the end, else to the list.
    private mutating func back() {
        if subject != nil { return cancelSubject() }
        if conversation?.anchor != nil { return goToEnd() }
        close()
    }

    mutating func cancelSubject() {
        if case .edit? = subject { editor.set("") }
        subject = nil
    }

    private mutating func editLast() {
        guard let message = conversation?.lastOwn else { return select(-1) }
        edit(message)
    }

    mutating func edit(_ message: ChatMessage) {
        guard message.isOwn, let text = message.plainText else {
            return say("only your own texts can be changed")
        }
        guard !message.isTextCut else { return say("this text is too long to be changed here") }
        conversation?.selection = nil
        subject = .edit(message.number)
        editor.set(text)
    }

    /// Shows an earlier or later typed line.
    private mutating func recall(_ step: Int) {
        if recalled == nil { draftBeforeRecall = editor.text }
        let place = (recalled ?? typed.count) + step
        guard place >= 0, place <= typed.count else { return }
        recalled = place == typed.count ? nil : place
        editor.set(recalled.map { typed[$0] } ?? draftBeforeRecall)
    }

    mutating func remember(_ text: String) {
        recalled = nil
        guard !text.isEmpty, typed.last != text else { return }
        typed.append(text)
        while typed.count > 200 || typed.reduce(0, { $0 + $1.utf8.count }) > 1 << 20 {
            typed.removeFirst()
        }
    }

    // MARK: Scrolling

    mutating func scroll(up count: Int) {
        guard let old = conversation else { return }
        let (layout, height) = (layout, viewHeight)
        conversation?.scrollUp(count, layout, height: height)
        let shown = conversation?.view(layout, height: height)
        if shown?.reachesTop == true, !old.isComplete { loadOlder() }
    }

    mutating func loadOlder() {
        guard let conversation, conversation.isLoaded, !conversation.isComplete,
            let first = conversation.firstNumber
        else { return }
        let job = Job.page(conversation.key, before: first)
        guard !isRunning(job) else { return }
        run(
            job, "history",
            [
                "page", "--before", "\(first)", "--limit", "\(Self.pageSize * 2)", "--json", "--",
                conversation.key.who,
            ])
    }

    mutating func scroll(down count: Int) {
        let layout = layout
        conversation?.scrollDown(count, layout)
        if conversation?.anchor == nil { goToEnd() }
    }

    mutating func goToEnd() {
        guard conversation?.isDetached == true else {
            conversation?.anchor = nil
            return
        }
        conversation?.reset()
        addPending()
        conversation?.seeksUnread = false
        loadPage()
    }

    // MARK: Selection

    mutating func select(_ step: Int) {
        guard let open = conversation else { return }
        let ids = open.entries.filter(\.isSelectable).map(\.id)
        guard !ids.isEmpty else { return say("no message is here") }
        let (layout, height) = (layout, viewHeight)
        var index: Int
        if let id = open.selection, let place = ids.firstIndex(of: id) {
            index = place + step
        } else {
            guard step < 0 else { return }
            // At the end the newest, else the last one that is shown.
            let shown = open.anchor == nil ? nil : open.view(layout, height: height).numbers.first
            index = shown.flatMap { ids.firstIndex(of: .message($0)) } ?? ids.count - 1
        }
        if index >= ids.count {
            conversation?.selection = nil
            return
        }
        if index < 0 {
            loadOlder()
            index = 0
        }
        conversation?.selection = ids[index]
        conversation?.reveal(ids[index], layout, height: height)
    }

    /// Takes a key while a message is selected. Returns `false` if it is for the text.
    private mutating func takeInSelection(_ key: Key) -> Bool {
        if case .pending(let number)? = conversation?.selection {
            return takeInSelection(key, ofPending: number)
        }
        guard let number = conversation?.selection?.message,
            let message = conversation?.message(number)
        else {
            conversation?.selection = nil
            return false
        }
        switch key {
        case .up, .selectUp, .tab: select(-1)
        case .down, .selectDown, .backTab: select(1)
        case .escape: conversation?.selection = nil
        case .pageUp, .pageDown: return false
        case .enter, .text("r"): begin(.reply(number))
        case .text("+"), .text("t"): begin(.react(number))
        case .text("e"): edit(message)
        case .text("d"), .delete: askToDelete(message)
        case .text("p"): togglePin(message)
        case .text("f"): begin(.forward(number))
        case .text("s"): save(message)
        case .text("c"), .text("y"): copy(message)
        case .text("i"): showInfo(number)
        default:
            say(
                "r reply  + react  e edit  d delete  p pin  f forward  s save  c copy  i info  Esc back"
            )
        }
        return true
    }

    /// Takes a key while a text is selected that was not sent.
    private mutating func takeInSelection(_ key: Key, ofPending number: Int) -> Bool {
        switch key {
        case .up, .selectUp, .tab: select(-1)
        case .down, .selectDown, .backTab: select(1)
        case .escape: conversation?.selection = nil
        case .pageUp, .pageDown: return false
        case .enter, .text("e"):
            guard editor.isEmpty, subject == nil else {
                say("the line is not empty: Ctrl-U clears it")
                return true
            }
            takeBack(number)
        case .text("d"), .delete: removePending(number)
        case .text("c"), .text("y"):
            if let text = conversation?.pending(number)?.text { copy(text) }
            conversation?.selection = nil
        default: say(Self.pendingKeys)
        }
        return true
    }

    /// The keys for a text that was not sent.
    static let pendingKeys = "not sent:  e edit and send again  d remove  c copy  Esc back"

    private mutating func begin(_ subject: Subject) {
        conversation?.selection = nil
        self.subject = subject
    }

    mutating func askToDelete(_ message: ChatMessage) {
        guard let key = conversation?.key else { return }
        let whose = message.isOwn ? "your message" : "the message of \(message.name)"
        let words = Cells.line(message.summary, limit: 40)
        let place = key.isGroup ? "for all members" : "on both sides"
        ask(
            Question(
                subject: .delete(key, number: message.number),
                text: "delete \(whose) “\(words)” \(place)?", yes: "deletes", no: "keeps it"))
    }

    mutating func togglePin(_ message: ChatMessage) {
        guard let key = conversation?.key else { return }
        conversation?.selection = nil
        make(
            "compose",
            [message.isPinned ? "unpin" : "pin", "--with", key.who, "--", "\(message.number)"],
            reads: [.newest, .changed])
    }

    mutating func save(_ message: ChatMessage) {
        guard case .file(let name, _, _) = message.content else {
            return say("this message has no file")
        }
        conversation?.selection = nil
        say("fetching \(name)")
        run(.fetch(message.number), "recv", ["-q", "--blob", "\(message.number)", "--keep"])
    }

    mutating func copy(_ message: ChatMessage) {
        guard message.plainText != nil else { return say("this message has no text") }
        conversation?.selection = nil
        run(.copy(message.number), "history", ["show", "--json", "--", "\(message.number)"])
    }

    /// Copies the text of a message from its record: what is loaded of it can be cut, and has escapes.
    mutating func endCopy(_ run: Running, _ statuses: [Int32]) {
        guard statuses == [0] else { return refuse(run.cause(statuses)) }
        let record = run.lines.first.flatMap { try? JSON.object(parsing: $0) }
        guard let text = record?["body"]?.object?["text"]?.string else {
            return refuse("not copied: the text cannot be read")
        }
        copy(text)
    }

    private mutating func copy(_ text: String) {
        effects.append(.copy(text))
        say(
            "copied, if the terminal permits it: "
                + Words.count(text.unicodeScalars.count, "character"))
    }

    // MARK: Overlays

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

    mutating func endFacts(_ subject: FactLines.Subject, _ run: Running, _ statuses: [Int32]) {
        var lines = [run.cause(statuses)]
        if statuses.allSatisfy({ $0 == 0 }),
            let record = run.lines.first.flatMap({ try? JSON.object(parsing: $0) })
        {
            lines = FactLines(localTime: options.localTime, name: name(of:)).lines(of: record)
        }
        guard options.form == .screen else { return show(subject.title, lines) }
        guard overlay?.title == subject.title else { return }
        overlay = Overlay(title: subject.title, lines: Array(lines.prefix(Overlay.lineLimit)))
    }

    mutating func endOverlay(_ run: Running, _ status: Int32) {
        guard case .overlay(let title) = run.job else { return }
        // The header says it in other words.
        let shown = run.lines.filter {
            title != Overlay.contact || !$0.starts(with: Array("suite ".utf8))
        }
        var lines = shown.prefix(Overlay.lineLimit).flatMap {
            Cells.plain(String(decoding: $0.prefix(16 << 10), as: UTF8.self))
                .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        }
        if status != 0, lines.isEmpty {
            lines = [
                status == 1 ? emptyOverlay(title) : Words.cause(run.errors) ?? "status \(status)"
            ]
        }
        guard options.form == .screen else { return show(title, lines) }
        guard overlay?.title == title else { return }
        overlay = Overlay(title: title, lines: lines)
    }

    private func emptyOverlay(_ title: String) -> String {
        title == Overlay.pins ? "no message is pinned here" : "no message here has this text"
    }

    private mutating func takeInOverlay(_ key: Key) {
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

extension ChatList.Item {
    var isRequest: Bool { if case .request = self { true } else { false } }
}

extension ChatMessage {
    /// The text, or the text with a file; `nil` for other content.
    var plainText: String? {
        switch content {
        case .text(let text): text
        case .file(_, _, let text): text.isEmpty ? nil : text
        case .note: nil
        }
    }

    /// The content on one line.
    var summary: String {
        switch content {
        case .text(let text): Cells.line(text, limit: 80)
        case .file(let name, _, _): name
        case .note(let note): "[\(note)]"
        }
    }
}
