/// Selecting a message or a text that was not sent.
extension ChatState {
    mutating func select(_ step: Int) {
        guard let open = conversation else { return }
        let ids = open.entries.filter(\.isSelectable).map(\.id)
        guard !ids.isEmpty else { return say("no message is here") }
        let (layout, height) = (layout, viewHeight)
        var index: Int
        if let id = open.selection, let place = ids.firstIndex(of: id) {
            index = place + step
        } else if let found = open.found, let place = ids.firstIndex(of: found) {
            index = place
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
        conversation?.found = nil
        conversation?.reveal(ids[index], layout, height: height)
        if conversation?.needsLater == true { loadLater() }
    }

    /// Takes a key while a message is selected. Returns `false` if it is for the text.
    mutating func takeInSelection(_ key: Key) -> Bool {
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
        default:
            guard let action = Self.action(of: key) else {
                say(selectionKeys(for: message) + "  Esc back")
                break
            }
            if let obstacle = obstacle(to: action, message) {
                refuse(obstacle)
            } else {
                status = nil
                act(action, on: message)
            }
        }
        return true
    }

    /// Returns the action of a key on a selected message.
    private static func action(of key: Key) -> SlashCommand? {
        switch key {
        case .enter, .text("r"): .reply
        case .text("+"), .text("t"): .react
        case .text("e"): .edit
        case .text("d"), .delete: .delete
        case .text("p"): .pin
        case .text("f"): .forward
        case .text("s"): .save
        case .text("c"), .text("y"): .copy
        case .text("i"): .info
        default: nil
        }
    }

    private mutating func act(_ action: SlashCommand, on message: ChatMessage) {
        switch action {
        case .reply: begin(.reply(message.number))
        case .react: begin(.react(message.number))
        case .forward: begin(.forward(message.number))
        case .edit: edit(message)
        case .delete: askToDelete(message)
        case .pin: togglePin(message)
        case .save: save(message)
        case .copy: copy(message)
        case .info: showInfo(message.number)
        default: break
        }
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
                say(Self.fullLine)
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

    /// The reason why a text is not put into the line.
    static let fullLine = "the line is not empty: Ctrl-U clears it"
    /// Returns the keys for a message: those whose actions can succeed.
    func selectionKeys(for message: ChatMessage) -> String {
        let keys: [(action: SlashCommand, words: String)] = [
            (.reply, "r reply"), (.react, "+ react"), (.edit, "e edit"), (.delete, "d delete"),
            (.pin, message.isPinned ? "p unpin" : "p pin"), (.forward, "f forward"),
            (.save, "s save"), (.copy, "c copy"), (.info, "i info"),
        ]
        return keys.filter { obstacle(to: $0.action, message) == nil }.map(\.words)
            .joined(separator: "  ")
    }
    /// The keys for a text that was not sent.
    static let pendingKeys = "not sent:  e edit and send again  d remove  c copy  Esc back"

    private mutating func begin(_ subject: Subject) {
        conversation?.selection = nil
        self.subject = subject
    }
}
