/// Keys in a conversation, and the typed line.
extension ChatState {
    mutating func takeInConversation(_ key: Key) {
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

    /// Cancels the purpose of the text, else returns from a message of a list, else goes to the end, else to the list.
    private mutating func back() {
        if subject != nil { return cancelSubject() }
        if let origin = conversation?.origin { return goBack(to: origin) }
        if conversation?.anchor != nil { return goToEnd() }
        close()
    }

    mutating func cancelSubject() {
        if case .edit? = subject { editor.set("") }
        subject = nil
    }

    private mutating func editLast() {
        guard !isCatchingUp else { return say("your last message is not stored yet") }
        guard let message = conversation?.lastOwn else { return select(-1) }
        if let obstacle = obstacle(to: .edit, message) { return refuse(obstacle) }
        edit(message)
    }

    mutating func edit(_ message: ChatMessage) {
        guard let text = message.plainText else { return }
        guard !message.isTextCut else { return refuse("this text is too long to be changed here") }
        guard editor.isEmpty else { return say(Self.fullLine) }
        conversation?.selection = nil
        subject = .edit(message.number)
        editor.set(text)
    }

    /// Shows an earlier or later typed line.
    private mutating func recall(_ step: Int) {
        let draft = recalled?.draft ?? editor.text
        let place = (recalled?.place ?? typed.count) + step
        guard place >= 0, place <= typed.count else { return }
        let isDraft = place == typed.count
        recalled = isDraft ? nil : (place: place, draft: draft)
        editor.set(isDraft ? draft : typed[place])
    }

    /// Keeps a line to be shown again, and the one that was typed before an earlier line was shown.
    mutating func remember(_ text: String) {
        let draft = recalled?.draft ?? ""
        recalled = nil
        for line in [draft, text] where !line.isEmpty && typed.last != line { typed.append(line) }
        while typed.count > 200 || typed.reduce(0, { $0 + $1.utf8.count }) > 1 << 20 {
            typed.removeFirst()
        }
    }
}
