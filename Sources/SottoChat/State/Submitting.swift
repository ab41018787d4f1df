/// Typed texts: those that are sent, and those that cannot be.
extension ChatState {
    /// Takes the typed text at Enter.
    mutating func submit() {
        var text = editor.text
        guard text.contains(where: { !$0.isWhitespace }) else { return }
        guard !isFinishing else { return say("not sent: the chat ends; Ctrl-C ends it now") }
        if let subject, !text.hasPrefix("/") || text.hasPrefix("//") {
            if text.hasPrefix("//") { text.removeFirst() }
            remember(text)
            editor.set("")
            (self.subject, status) = (nil, nil)
            return take(text, for: subject)
        }
        remember(text)
        editor.set("")
        // A command ends the purpose of the text before it.
        (subject, status) = (nil, nil)
        take(line: text)
    }

    /// Takes a line that was typed: a text or a command.
    mutating func take(line: String) {
        // A refusal leaves the line.
        command = TypedCommand(key: conversation?.key, line: line)
        if line.hasPrefix("/"), !line.hasPrefix("//") {
            take(command: line)
        } else {
            say(text: line.hasPrefix("//") ? String(line.dropFirst()) : line)
        }
        command = nil
    }

    /// Sends a text to the open conversation.
    private mutating func say(text: String) {
        guard let key = conversation?.key else {
            let cause = "no conversation is open: /open NAME"
            return options.form == .screen ? refuse(cause) : lose(text, to: nil, cause)
        }
        make(text, nil, ["text", "--", key.who])
        conversation?.unreadLine = nil
    }

    /// The reason why nothing can be sent to the open conversation now.
    private var obstacle: String? {
        if isFinishing { return "not sent: the chat ends" }
        if isLocked { return Running.lockCause }
        return conversation.flatMap { obstacle(in: $0.key) }
    }

    /// Makes a message with a typed text, which is shown until the history has it. A text that cannot be sent stays in the line.
    /// `input` is that of the tool, if it is not the text.
    private mutating func make(
        _ text: String, _ subject: Subject?, _ arguments: [String], input: String? = nil,
        reads: Set<Refresh> = []
    ) {
        guard let key = conversation?.key else { return }
        if let obstacle {
            // Another program can have removed it.
            refreshes.insert(.contacts)
            guard options.form == .screen else { return lose(text, to: key, obstacle) }
            editor.set(text)
            self.subject = subject
            refuse(obstacle)
            // The passphrase must not be typed after the text.
            if isLocked { askPassphrase() }
            return
        }
        if !(subject?.isEdit ?? false) { goToEnd() }
        lastPending += 1
        let typed = Pending(
            number: lastPending, key: key, text: text, time: now, subject: subject)
        pending.append(typed)
        conversation?.add(typed)
        // The message ends the signal.
        if typingTold?.key == key { typingTold = nil }
        make("compose", arguments, input: input ?? text, pending: lastPending, reads: reads)
    }

    mutating func take(_ text: String, for subject: Subject) {
        guard let key = conversation?.key else { return }
        let words = text.split(whereSeparator: \.isWhitespace)
        switch subject {
        case .reply(let number):
            make(
                text, subject, ["reply", "--with", key.who, "--", "\(number)"], reads: [.newest])
        case .edit(let number):
            guard conversation?.message(number)?.plainText != text else { return }
            make(
                text, subject, ["edit", "--with", key.who, "--", "\(number)"],
                reads: [.newest, .changed])
        case .react(let number):
            guard let emoji = words.first else { return }
            make(
                "compose", ["react", "--with", key.who, "--", "\(number)", String(emoji)],
                reads: [.newest, .changed])
        case .forward(let number):
            guard knows(text) else {
                // The text can be a message, which was not meant as a name.
                editor.set(text)
                self.subject = subject
                return refuse("\(noName(text)); Esc ends forwarding")
            }
            forward(number, to: text)
        }
    }

    /// The words for a name that is not known.
    func noName(_ name: String) -> String {
        "no contact or group has the name \(Cells.line(whole(name), limit: 40))"
    }

    /// Whether a contact or a group can have a name. The beginning of an id can be one.
    private func knows(_ name: String) -> Bool {
        let wanted = whole(name).lowercased()
        let names =
            list.contacts.map(\.name) + list.groups.map(\.name) + list.conversations.map(\.name)
        let isID = wanted.utf8.count >= 4 && wanted.allSatisfy(\.isHexDigit)
        return isID || wanted == "me" || names.contains { $0.lowercased() == wanted }
    }

    mutating func forward(_ number: Int64, to name: String) {
        guard let key = conversation?.key else { return }
        guard knows(name) else { return refuse(noName(name)) }
        make(
            "compose", ["forward", "--with", key.who, "--to", whole(name), "--", "\(number)"],
            success: "forwarded to \(whole(name))", reads: [.conversations, .newest])
    }

    /// Sends a file to the open conversation. The command stands for it until the history has the message.
    mutating func sendFile(_ rest: String, in key: ConversationKey) {
        var words = ShellWords(rest)
        guard var path = words.next(), !path.isEmpty else { return refuse("/file needs a path") }
        if path.hasPrefix("~/"), !options.home.isEmpty { path = options.home + path.dropFirst() }
        make(
            "/file \(rest)", nil, ["file", "-q", "--", path, key.who],
            input: whole(String(words.rest)))
    }
}
