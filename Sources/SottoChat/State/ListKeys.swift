/// Keys in the list.
extension ChatState {
    mutating func takeInList(_ key: Key) {
        let isCommand = editor.text.hasPrefix("/")
        let items = list.items(isCommand ? "" : filter)
        switch key {
        case .up, .selectUp: choose(-1, items)
        case .down, .selectDown: choose(1, items)
        case .pageUp: choose(-viewHeight, items)
        case .pageDown: choose(viewHeight, items)
        case .enter:
            if isCommand { return submit() }
            if let place = list.place(in: items) {
                open(items[place])
            } else if !editor.isEmpty {
                refuse("nothing in the list has this name or number; Esc clears the line")
            }
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
    mutating func chooseTyped() {
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
        case .request(let request): ask(about: .request(id: request.id))
        case .invitation(let group): ask(about: .invitation(group: group.id))
        }
    }

    /// Asks what waits for an answer, about the chosen item first.
    private mutating func ask(about subject: Question.Subject) {
        editor.set("")
        askAgain()
        questions.bringForward(subject)
        say("answer the question below with Ctrl-Y, Ctrl-N or Ctrl-O")
    }
}
