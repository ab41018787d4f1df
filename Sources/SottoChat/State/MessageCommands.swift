import SottoBytes

/// Commands on a message, and their actions.
extension ChatState {
    /// Splits the message that a command names from the rest: `-2`, `#17`, or nothing.
    private func target(_ rest: String, takesPlain: Bool) -> (word: Substring?, rest: String) {
        let first = rest.prefix { !$0.isWhitespace }
        let more = whole(String(rest.dropFirst(first.count)))
        let digits = first.hasPrefix("-") || first.hasPrefix("#") ? first.dropFirst() : first
        let isNumber = !digits.isEmpty && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isNumber, takesPlain || digits.count < first.count else { return (nil, rest) }
        return (first.hasPrefix("#") ? digits : first, more)
    }

    /// Runs a command on a message. `isAlone` tells that nothing follows the message, so that its number needs no `#`.
    mutating func runOnMessage(
        _ command: SlashCommand, _ rest: String, in key: ConversationKey, isAlone: Bool
    ) {
        let (word, text) = target(rest, takesPlain: isAlone)
        // A word that could be meant as a message must not become a text, or the last message.
        let isOdd =
            isAlone ? !text.isEmpty : word == nil && ["#", "-"].contains(String(rest.prefix(1)))
        guard !isOdd else {
            let odd = Cells.line(
                String((isAlone ? text : rest).prefix { !$0.isWhitespace }), limit: 20)
            return refuse(
                "\(odd) names no message: -2 is the last but one, #17 the one with this number")
        }
        if command == .info, word == nil { return showInfo(about: key) }
        // A search finds messages that are not loaded.
        if command == .info, let number = word.flatMap({ Int64($0) }), number > 0 {
            return showInfo(number)
        }
        if word.map({ $0.hasPrefix("-") }) ?? true, isCatchingUp {
            return refuse(Self.catchingUp)
        }
        guard let message = message(word, for: command) else {
            return refuse(
                word.map {
                    $0.hasPrefix("-")
                        ? "fewer messages are here; /older shows more"
                        : "no message that is shown here has the number \($0); /older shows more"
                }
                    ?? (command == .unpin
                        ? "no message that is shown here is pinned"
                        : "no message is here for /\(command.rawValue)"))
        }
        let number = message.number
        if let obstacle = obstacle(to: command, message) { return refuse(obstacle) }
        switch command {
        case .reply: text.isEmpty ? (subject = .reply(number)) : take(text, for: .reply(number))
        case .edit: text.isEmpty ? edit(message) : take(text, for: .edit(number))
        case .react: text.isEmpty ? (subject = .react(number)) : take(text, for: .react(number))
        case .forward: text.isEmpty ? (subject = .forward(number)) : forward(number, to: text)
        case .delete: askToDelete(message)
        case .unpin where !message.isPinned: refuse("this message is not pinned")
        case .pin, .unpin:
            make(
                "compose", [command.rawValue, "--with", key.who, "--", "\(number)"],
                reads: [.newest, .changed])
        case .save: save(message)
        case .copy: copy(message)
        case .info: showInfo(number)
        default: break
        }
    }

    /// Whether a message of the user is on its way into the open conversation. The last message is then an earlier one.
    var isCatchingUp: Bool {
        guard let key = conversation?.key else { return false }
        return pending.contains { $0.key == key && $0.failure == nil }
            || unreadOwn == key
    }

    /// The reason why a command without the number of a message is not done.
    static let catchingUp = "your last message is not stored yet: Enter tries again"

    /// The message that a command means.
    private func message(_ word: Substring?, for command: SlashCommand) -> ChatMessage? {
        guard let conversation else { return nil }
        if let word { return conversation.message(named: word) }
        if command == .edit { return conversation.lastOwn }
        return conversation.messages.last { message in
            guard !message.isDeleted else { return false }
            // Only a message with content can be meant, unless the user asks what it is.
            guard message.hasContent || command == .info else { return false }
            if command == .save {
                if case .file = message.content { return true } else { return false }
            }
            if command == .unpin { return message.isPinned }
            return command != .delete || message.isOwn
        }
    }

    mutating func showInfo(_ number: Int64) {
        conversation?.selection = nil
        showFacts(.message(number))
    }

    private mutating func showInfo(about key: ConversationKey) {
        switch key {
        case .person(let id): show(Overlay.contact, "contact", ["show", "--text", "--", id])
        case .group(let id): showFacts(.group(id))
        case .chat(let name): say("a chat with a phrase: \(name)")
        }
    }

    mutating func askToDelete(_ message: ChatMessage) {
        guard let key = conversation?.key else { return }
        let whose = message.isOwn ? "your message" : "the message of \(Words.quoted(message.name))"
        let words = Cells.line(message.summary, limit: 40)
        let place = key.isGroup ? "for all members" : "on both sides"
        ask(
            Question(
                subject: .delete(key, number: message.number),
                text: "delete \(whose) \(Words.quoted(words)) \(place)?", yes: "deletes",
                no: "keeps it"))
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
        if message.isData {
            conversation?.selection = nil
            run(.save(message.number), "history", ["save", "-q", "\(message.number)"])
            return
        }
        guard case .file(let name, _, _) = message.content else { return }
        conversation?.selection = nil
        say("fetching \(name)")
        run(.fetch(message.number), "recv", ["-q", "--blob", "\(message.number)", "--keep"])
    }

    mutating func copy(_ message: ChatMessage) {
        conversation?.selection = nil
        run(.copy(message.number), "history", ["show", "--json", "--", "\(message.number)"])
    }

    /// Copies the text of a message from its record: what is loaded of it can be cut, and has escapes.
    mutating func endCopy(_ run: Running) {
        guard run.status == 0 else { return refuse(run.advice) }
        let record = run.lines.first.flatMap { try? JSON.object(parsing: $0) }
        guard let text = record?["body"]?.object?["text"]?.string else {
            return refuse("not copied: the text cannot be read")
        }
        copy(text)
    }

    mutating func copy(_ text: String) {
        effects.append(.copy(text))
        say(
            "copied, if the terminal permits it: "
                + Words.count(text.unicodeScalars.count, "character"))
    }
}
