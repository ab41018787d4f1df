import Sotto
import SottoBytes

/// Typed lines and commands.
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
            return refuse("no conversation is open: /open NAME")
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
        guard options.form == .screen else { return }
        editor.set(text)
        if isLocked { askPassphrase() }
    }

    /// Makes a message with a typed text, which is shown until the history has it. A text that cannot be sent stays in the line.
    private mutating func make(
        _ text: String, _ subject: Subject?, _ arguments: [String], reads: Set<Refresh> = []
    ) {
        guard let key = conversation?.key else { return }
        if let obstacle {
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

    private mutating func take(_ text: String, for subject: Subject) {
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

    private mutating func forward(_ number: Int64, to name: String) {
        guard let key = conversation?.key else { return }
        guard knows(name) else { return refuse(noName(name)) }
        make(
            "compose", ["forward", "--with", key.who, "--to", whole(name), "--", "\(number)"],
            success: "forwarded to \(whole(name))", reads: [.conversations, .newest])
    }

    /// Returns a name without the quotation marks around it.
    private func unquoted(_ name: String) -> String {
        guard let mark = name.first, "\"'".contains(mark), name.last == mark, name.count > 2 else {
            return name
        }
        return String(name.dropFirst().dropLast())
    }

    private func whole(_ name: String) -> String {
        var name = name[...]
        while name.last?.isWhitespace == true { name.removeLast() }
        while name.first?.isWhitespace == true { name.removeFirst() }
        return String(name)
    }

    // MARK: Commands

    private mutating func take(command line: String) {
        let name = line.dropFirst().prefix { !$0.isWhitespace }
        let rest = whole(String(line.dropFirst(name.count + 1)))
        guard !name.isEmpty else {
            editor.set(line)
            return refuse("no command has a space after the slash; begin a text with //")
        }
        guard let command = SlashCommand(rawValue: String(name)) else {
            editor.set(line)
            return refuse(
                "no command /\(Cells.line(String(name), limit: 20)); begin a text with //, see /help"
            )
        }
        if command.needsConversation, conversation == nil {
            return refuse("/\(command.rawValue) needs an open conversation")
        }
        if command.isForGroups, conversation?.key.isGroup != true {
            return refuse("/\(command.rawValue) is for groups")
        }
        if command.usage.isEmpty, !rest.isEmpty {
            editor.set(line)
            return refuse("/\(command.rawValue) stands alone: nothing follows it")
        }
        run(command, command.takesName ? unquoted(rest) : rest)
    }

    private mutating func run(_ command: SlashCommand, _ rest: String) {
        switch command {
        case .help: show("help", SlashCommand.helpLines(isGroup: conversation?.key.isGroup ?? true))
        case .quit: finish(0)
        case .list: close()
        case .open: rest.isEmpty ? refuse("/open needs a name") : resolve(rest)
        case .unlock: isLocked || isStarted ? askPassphrase() : ()
        case .lock where !hasPassphrase:
            refuse("the identity has no passphrase; to add one: sotto keygen passwd")
        case .lock:
            locking = .always
            finish(0)
        case .questions: askAgain()
        case .accept: acceptFirst(rest)
        case .block: blockFirst(rest)
        case .unblock: unblock(rest)
        default:
            if let key = conversation?.key { run(command, rest, in: key) }
        }
    }

    private mutating func run(_ command: SlashCommand, _ rest: String, in key: ConversationKey) {
        let who = key.who
        switch command {
        case .reply, .edit, .react, .delete, .pin, .unpin, .forward, .save, .copy, .info:
            runOnMessage(command, rest, in: key)
        case .pins: show(Overlay.pins, "history", ["page", "--pinned", "--text", "--", who])
        case .search:
            if rest.isEmpty {
                refuse("/search needs a text")
            } else {
                show(
                    "messages with “\(Cells.line(rest, limit: 40))”; /info NUMBER shows one",
                    "history",
                    ["search", "--text", "--", rest, who])
            }
        case .file: sendFile(rest, to: who)
        case .older: scroll(up: max(1, viewHeight - 2))
        case .read: if let last = conversation?.messages.last?.number { markRead(upTo: last) }
        case .timer: setTimer(rest, key)
        case .receipts, .typing, .presence: set(command, rest, key)
        case .mute: run(.change("no bell for this conversation"), "history", ["mute", "--", who])
        case .unmute: run(.change("the bell rings again"), "history", ["mute", "--off", "--", who])
        case .rename:
            guard !rest.isEmpty else { return refuse("/rename needs a name") }
            run(.change("renamed"), "history", ["rename", "--", who, rest])
        case .verify: verify(rest, key)
        case .members:
            show(
                "members: name, rank, nickname, id", "group", ["participants", "--text", "--", who])
        case .grant: named(rest) { $0.grant(who, $1) }
        case .invite:
            if rest.isEmpty {
                refuse("/invite needs the name of a contact")
            } else {
                make(
                    "group", ["invite", "--", who, rest], success: "invited \(rest)",
                    reads: [.groups, .members])
            }
        case .remove:
            named(rest) { state, id in
                state.ask(
                    Question(
                        subject: .remove(group: who, member: id),
                        text:
                            "remove \(state.name(of: id)) from the group \(state.groupName(who))?",
                        yes: "removes", no: "does nothing"))
            }
        case .leave where isOnlyOwner:
            refuse(
                "you are the only owner: sotto group role \(shellWord(groupName(who))) WHO owner --send, or sotto group delete \(shellWord(groupName(who))) --send"
            )
        case .leave:
            ask(
                Question(
                    subject: .leave(group: who), text: "leave the group \(groupName(who))?",
                    yes: "leaves", no: "stays"))
        default: break
        }
    }

    /// Whether the group has other members and no other owner.
    private var isOnlyOwner: Bool {
        let others = members.filter { !$0.isMe }
        return members.contains { $0.isMe && $0.role == "owner" } && !others.isEmpty
            && !others.contains { $0.role == "owner" }
    }

    /// Runs an action on a member with a name or the beginning of an id.
    private mutating func named(_ name: String, _ action: (inout ChatState, String) -> Void) {
        let wanted = name.lowercased()
        let found = members.filter {
            $0.name.lowercased() == wanted || (name.count >= 8 && $0.id.hasPrefix(wanted))
        }
        guard !name.isEmpty, let member = found.first, found.count == 1 else {
            return refuse("the name or the id of one member is needed; /members lists them")
        }
        action(&self, member.id)
    }

    // MARK: Commands on a message

    /// Splits the message that a command names from the rest: `-2`, `#17`, or nothing.
    private func target(_ rest: String, takesPlain: Bool) -> (word: Substring?, rest: String) {
        let first = rest.prefix { !$0.isWhitespace }
        let more = whole(String(rest.dropFirst(first.count)))
        let digits = first.hasPrefix("-") || first.hasPrefix("#") ? first.dropFirst() : first
        let isNumber = !digits.isEmpty && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isNumber, takesPlain || digits.count < first.count else { return (nil, rest) }
        return (first.hasPrefix("#") ? digits : first, more)
    }

    private mutating func runOnMessage(
        _ command: SlashCommand, _ rest: String, in key: ConversationKey
    ) {
        let takesPlain = command.usage == "[-N | #N]"
        let (word, text) = target(rest, takesPlain: takesPlain)
        // A word that could be meant as a message must not become a text, or the last message.
        let isOdd =
            takesPlain ? !text.isEmpty : word == nil && ["#", "-"].contains(String(rest.prefix(1)))
        guard !isOdd else {
            editor.set("/\(command.rawValue) \(rest)")
            let odd = Cells.line(
                String((takesPlain ? text : rest).prefix { !$0.isWhitespace }), limit: 20)
            return refuse(
                "\(odd) names no message: -2 is the last but one, #17 the one with this number")
        }
        if command == .info, word == nil { return showInfo(about: key) }
        // A search finds messages that are not loaded.
        if command == .info, let number = word.flatMap({ Int64($0) }), number > 0 {
            return showInfo(number)
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

    /// The message that a command means.
    private func message(_ word: Substring?, for command: SlashCommand) -> ChatMessage? {
        guard let conversation else { return nil }
        if let word { return conversation.message(named: word) }
        let isOwn = command == .edit || command == .delete
        return conversation.messages.last { message in
            guard !message.isDeleted else { return false }
            if command == .save {
                if case .file = message.content { return true } else { return false }
            }
            if command == .unpin { return message.isPinned }
            return !isOwn || message.isOwn
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

    // MARK: Settings

    private mutating func setTimer(_ time: String, _ key: ConversationKey) {
        let digits = time.prefix { ("0"..."9").contains($0) }
        let isTime =
            !digits.isEmpty && ["s", "m", "h", "d", "w"].contains(time.dropFirst(digits.count))
        guard isTime || time == "off" else {
            return refuse("/timer needs a time such as 30m, 8h or 7d, or off")
        }
        if case .group(let id) = key {
            make(
                "group", ["timer", "--", id, time], success: "timer \(time)",
                reads: [.groups, .conversations, .newest])
        } else {
            make(
                "compose", ["timer", "--", key.who, time], success: "timer \(time)",
                reads: [.conversations])
        }
    }

    private mutating func set(_ command: SlashCommand, _ value: String, _ key: ConversationKey) {
        guard case .person(let id) = key else {
            return refuse("/\(command.rawValue) is for contacts")
        }
        guard ["on", "off"].contains(value) else {
            return refuse("/\(command.rawValue) needs on or off")
        }
        run(
            .change("\(command.rawValue) \(value)"), "contact",
            ["set", id, "\(command.rawValue)=\(value)"])
    }

    private mutating func verify(_ number: String, _ key: ConversationKey) {
        guard case .person(let id) = key else { return refuse("/verify is for contacts") }
        if number.isEmpty { return show(Overlay.contact, "contact", ["show", "--text", "--", id]) }
        run(.change("verified: the numbers are equal"), "contact", ["verify", "--", id, number])
    }

    private mutating func sendFile(_ rest: String, to who: String) {
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

    // MARK: Requests

    private mutating func askAgain() {
        questions.reset()
        askRequests()
        askInvitations()
        if case .group(let id)? = conversation?.key { askGrants(id) }
        if questions.first == nil { say("no question waits") }
    }

    /// Sets the name that the sender of the first request gets. Only the chord accepts it.
    private mutating func acceptFirst(_ name: String) {
        guard let question = questions.first, case .request(let id) = question.subject else {
            return refuse("no message request is asked about")
        }
        if options.form == .lines { return say(words(for: question)) }
        if !name.isEmpty {
            acceptedNames[id] = Cells.line(name, limit: 40) == name ? name : nil
            guard acceptedNames[id] != nil else { return refuse("the name cannot be used") }
            askRequests()
        }
        say("Ctrl-Y accepts the request")
    }

    private mutating func blockFirst(_ name: String) {
        if !name.isEmpty {
            guard
                let contact = list.contacts.first(where: {
                    $0.name.lowercased() == name.lowercased()
                })
            else {
                return refuse("no contact has the name \(Cells.line(name, limit: 40))")
            }
            return askToBlock(contact.id)
        }
        if let question = questions.first, case .request(let id) = question.subject {
            return askToBlock(id)
        }
        guard case .person(let id)? = conversation?.key else {
            return refuse("/block needs a name")
        }
        askToBlock(id)
    }

    private mutating func unblock(_ name: String) {
        let wanted = name.lowercased()
        let found =
            name.isEmpty
            ? conversation.flatMap { list.contact($0.key.who) }
            : list.contacts.first { $0.name.lowercased() == wanted }
        guard let contact = found else {
            return refuse(name.isEmpty ? "/unblock needs a name" : noName(name))
        }
        guard contact.isBlocked else { return refuse("\(contact.name) is not blocked") }
        run(.change("unblocked \(contact.name)"), "contact", ["unblock", contact.id])
    }

    private mutating func askToBlock(_ id: String) {
        if let contact = list.contact(id), contact.isBlocked {
            return refuse("\(contact.name) is blocked; /unblock ends it")
        }
        ask(
            Question(
                subject: .block(id: id), text: "drop everything from \(name(of: id))?",
                yes: "blocks",
                no: "does nothing"))
    }

    mutating func resolve(_ name: String) {
        run(.resolve(name), "compose", ["text", "--", name], input: "-")
    }
}

/// Words as a shell splits them: quotation marks keep spaces, and a backslash keeps the next character.
struct ShellWords: Sendable {
    private(set) var rest: String

    init(_ text: String) { rest = text }

    /// Removes the first word and returns it.
    mutating func next() -> String? {
        var characters = Array(rest)[...]
        characters = characters.drop { $0.isWhitespace }
        guard !characters.isEmpty else { return nil }
        var (word, quote) = ("", Character?.none)
        while let character = characters.popFirst() {
            if let open = quote {
                if character == open { quote = nil } else { word.append(character) }
            } else if character == "'" || character == "\"" {
                quote = character
            } else if character == "\\", let next = characters.popFirst() {
                word.append(next)
            } else if character.isWhitespace {
                break
            } else {
                word.append(character)
            }
        }
        rest = String(characters)
        return word
    }
}
