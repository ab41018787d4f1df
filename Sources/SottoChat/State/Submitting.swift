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
        if line.hasPrefix("/"), !line.hasPrefix("//") {
            return take(command: line)
        }
        say(text: line.hasPrefix("//") ? String(line.dropFirst()) : line)
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
        if isLocked { return "the identity is locked: /unlock" }
        if case .person(let id)? = conversation?.key, list.contact(id)?.isBlocked == true {
            return "\(name(of: id)) is blocked, and an answer is dropped; /unblock ends it"
        }
        guard case .group(let id)? = conversation?.key, let group = list.group(id), !group.mayPost
        else { return nil }
        if group.standing == "invited" { return "you have not joined; /questions asks" }
        if group.isDeleted { return "the group was deleted" }
        return group.standing == "member"
            ? "your rank here is \(group.rank); messages need the rank \(group.post)"
            : "you are not a member of the group"
    }

    /// Leaves a refused line as a draft. If the identity is locked, asks for the passphrase: it must not be typed after the draft.
    private mutating func keep(_ text: String) {
        leave(text)
        if isLocked, options.form == .screen { askPassphrase() }
    }

    /// Makes a message with a typed text, which is shown until the history has it. A text that cannot be sent stays in the line.
    private mutating func make(
        _ text: String, _ subject: Subject?, _ arguments: [String], reads: Set<Refresh> = []
    ) {
        guard let key = conversation?.key else { return }
        if let obstacle {
            guard options.form == .screen else { return lose(text, to: key, obstacle) }
            keep(text)
            self.subject = subject
            return refuse(obstacle)
        }
        if !(subject?.isEdit ?? false) { goToEnd() }
        lastPending += 1
        let typed = Pending(
            number: lastPending, key: key, text: text, time: now, subject: subject)
        pending.append(typed)
        conversation?.add(typed)
        make("compose", arguments, input: text, pending: lastPending, reads: reads)
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

    mutating func sendFile(_ rest: String, to who: String) {
        var words = ShellWords(rest)
        guard var path = words.next(), !path.isEmpty else { return refuse("/file needs a path") }
        if let obstacle {
            keep("/file \(rest)")
            return refuse(obstacle)
        }
        if path.hasPrefix("~/"), !options.home.isEmpty { path = options.home + path.dropFirst() }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        if options.form == .screen { say("sending \(name)") }
        run(
            .delivery(Cells.line(name, limit: 40)),
            [
                Pipeline.Stage("compose", ["file", "-q", "--", path, who]),
                Pipeline.Stage("encrypt", ["-q"]), Pipeline.Stage("send", ["-q"]),
            ], input: Array(whole(words.rest).utf8))
        goToEnd()
    }
}
