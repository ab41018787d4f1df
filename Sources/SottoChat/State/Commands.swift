import SottoBytes

/// Commands.
extension ChatState {
    mutating func take(command line: String) {
        let name = line.dropFirst().prefix { !$0.isWhitespace }
        let rest = whole(String(line.dropFirst(name.count + 1)))
        guard !name.isEmpty else {
            return refuse("no command has a space after the slash; begin a text with //")
        }
        guard let command = SlashCommand(rawValue: String(name)) else {
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
        if command.arguments == .nothing, !rest.isEmpty {
            return refuse("/\(command.rawValue) stands alone: nothing follows it")
        }
        if isLocked, command.needsIdentity, options.form == .screen {
            refuse(Running.lockCause)
            return askPassphrase()
        }
        run(command, command.takesName ? unquoted(rest) : rest)
    }

    private mutating func run(_ command: SlashCommand, _ rest: String) {
        switch command {
        case .help: show("help", SlashCommand.helpLines(isGroup: conversation?.key.isGroup ?? true))
        case .quit: finish(0)
        case .list: close()
        case .open: rest.isEmpty ? refuse("/open needs a name") : resolve(rest)
        case .unlock: isLocked ? askPassphrase() : askUnlocked()
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
        if case .message(then: let word) = command.arguments {
            return runOnMessage(command, rest, in: key, isAlone: word == nil)
        }
        switch command {
        case .pins: show(MessageQuery(key: key, kind: .pinned))
        case .search:
            rest.isEmpty
                ? refuse("/search needs a text") : show(MessageQuery(key: key, kind: .text(rest)))
        case .file: sendFile(rest, in: key)
        case .older: scroll(up: max(1, viewHeight - 2))
        case .read: markAll()
        case .resend: resend()
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
        case .grant:
            named(rest, unless: { $0.obstacle(toGrant: $1, in: $2) }) { $0.grant(who, $1) }
        case .invite:
            if rest.isEmpty {
                refuse("/invite needs the name of a contact")
            } else if let obstacle = list.group(who).flatMap({ obstacle(toInvite: rest, to: $0) }) {
                refuse(obstacle)
            } else {
                make(
                    "group", ["invite", "--", who, rest], success: "invited \(rest)",
                    reads: [.groups, .members])
            }
        case .remove:
            named(rest, unless: { $0.obstacle(toRemove: $1, from: $2) }) { state, id in
                let name = Words.quoted(state.name(of: id))
                let group = Words.quoted(state.groupName(who))
                let isInvited = state.isInvited(id)
                state.ask(
                    Question(
                        subject: .remove(group: who, member: id),
                        text: isInvited
                            ? "take the invitation of \(name) to the group \(group) back?"
                            : "remove \(name) from the group \(group)?",
                        yes: isInvited ? "takes it back" : "removes", no: "does nothing"))
            }
        case .leave where list.group(who)?.obstacle != nil:
            refuse(list.group(who)?.obstacle ?? "")
        case .leave where isOnlyOwner:
            refuse(
                "you are the only owner: sotto group role \(shellWord(groupName(who))) WHO owner --send, or sotto group delete \(shellWord(groupName(who))) --send"
            )
        case .leave:
            ask(
                Question(
                    subject: .leave(group: who),
                    text: "leave the group \(Words.quoted(groupName(who)))?",
                    yes: "leaves", no: "stays"))
        default: break
        }
    }

    /// Sends the messages again that did not leave this machine. A reader who has one does not see it twice.
    private mutating func resend() {
        let numbers = (conversation?.messages ?? []).filter { $0.isUnsent(at: now) }.map(\.number)
        guard !numbers.isEmpty else { return say("all that is shown here has left this machine") }
        make(
            "history", ["repeat", "-q", "--"] + numbers.map { "\($0)" }, success: "sent again",
            reads: [.newest, .changed, .unsent, .waiting])
    }

    /// Whether the group has other members and no other owner.
    private var isOnlyOwner: Bool {
        let others = members.filter { !$0.isMe && !$0.isInvited }
        return members.contains { $0.isMe && $0.role == "owner" } && !others.isEmpty
            && !others.contains { $0.role == "owner" }
    }

    /// Whether a person is invited into the open group and has not joined.
    func isInvited(_ id: String) -> Bool { members.contains { $0.id == id && $0.isInvited } }

    /// Runs an action on a member, or on an invited person, with a name or the beginning of an id, unless it must fail.
    private mutating func named(
        _ name: String, unless obstacle: (ChatState, String, ChatGroup) -> String?,
        _ action: (inout ChatState, String) -> Void
    ) {
        let wanted = name.lowercased()
        let found = members.filter {
            $0.name.lowercased() == wanted || (name.count >= 8 && $0.id.hasPrefix(wanted))
        }
        guard !name.isEmpty, let member = found.first, found.count == 1 else {
            return refuse("the name or the id of one member is needed; /members lists them")
        }
        let group = conversation.flatMap { list.group($0.key.who) }
        if let cause = group.flatMap({ obstacle(self, member.id, $0) }) { return refuse(cause) }
        action(&self, member.id)
    }

    /// Returns a name without the quotation marks around it.
    private func unquoted(_ name: String) -> String {
        guard let mark = name.first, "\"'".contains(mark), name.last == mark, name.count > 2 else {
            return name
        }
        return String(name.dropFirst().dropLast())
    }

    func whole(_ name: String) -> String {
        var name = name[...]
        while name.last?.isWhitespace == true { name.removeLast() }
        while name.first?.isWhitespace == true { name.removeFirst() }
        return String(name)
    }
}
