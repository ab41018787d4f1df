import Sotto

/// Questions and the effects of their answers.
extension ChatState {
    mutating func askRequests() {
        let waiting = list.waiting
        let ids = Set(waiting.map(\.id))
        questions.keep(
            { if case .request(let id) = $0 { ids.contains(id) } else { true } })
        for request in waiting {
            let name =
                acceptedNames[request.id].map { ", named \(Words.quoted($0)) here" } ?? ""
            let claimed =
                request.claimedName.map { "\(Words.quoted($0)) (claimed)" }
                ?? "a sender without a name"
            let sender =
                request.contactName.map { "\(Words.quoted($0)), who is a contact now" }
                ?? claimed + name
            ask(
                Question(
                    subject: .request(id: request.id),
                    text:
                        "\(sender), \(request.id.prefix(16))…: \(Words.count(request.count, "message"))",
                    yes: "accepts", no: "drops"))
        }
    }

    mutating func askInvitations() {
        let invited = list.groups.filter { $0.standing == "invited" }
        let ids = Set(invited.map(\.id))
        questions.keep(
            { if case .invitation(let id) = $0 { ids.contains(id) } else { true } })
        for group in invited {
            ask(
                Question(
                    subject: .invitation(group: group.id),
                    text:
                        "\(quotedName(of: group.inviter)) invites you to the group \(Words.quoted(group.name)), "
                        + Words.count(group.members, "member"),
                    yes: "joins", no: "declines"))
        }
    }

    mutating func askGrants(_ group: String) {
        let isAsked = list.group(group)?.asksForGrants == true
        let wanting = isAsked ? members.filter { !$0.seesMe && !$0.isMe && !$0.isInvited } : []
        let ids = Set(wanting.map(\.id))
        questions.keep(
            { if case .grant(group, let id) = $0 { ids.contains(id) } else { true } })
        for member in wanting.prefix(50) {
            ask(
                Question(
                    subject: .grant(group: group, member: member.id),
                    text:
                        "show your messages in the group \(Words.quoted(groupName(group))) to \(Words.quoted(member.name))?",
                    yes: "shows them", no: "asks no more now"))
        }
    }

    mutating func ask(_ question: Question) {
        if options.form == .lines, question.isOwn {
            return refuse("\(question.text) Only a key answers, on a screen: nothing was done")
        }
        let isNew = !questions.waiting.contains { $0.subject == question.subject }
        questions.ask(question)
        if options.form == .lines, isNew { say(words(for: question)) }
    }

    /// The words of a question without a screen.
    func words(for question: Question) -> String {
        question.text + (command(for: question.subject).map { ": \($0)" } ?? "")
    }

    /// The name of a person in a question. Another person can have chosen it.
    private func quotedName(of id: String) -> String { Words.quoted(name(of: id)) }

    /// The name of a group.
    func groupName(_ id: String) -> String {
        list.group(id)?.name
            ?? (conversation?.key == .group(id) ? conversation?.name : nil) ?? String(id.prefix(16))
    }

    /// The command that answers yes, for the form without a screen.
    private func command(for subject: Question.Subject) -> String? {
        switch subject {
        case .request(let id): "sotto contact accept \(id.prefix(16)) | sotto decrypt"
        case .invitation(let id): "sotto group accept \(id.prefix(16)) | sotto encrypt | sotto send"
        case .grant(let group, let id):
            "sotto group grant \(group.prefix(16)) \(id) | sotto encrypt | sotto send"
        case .delete, .leave, .remove, .block: nil
        }
    }

    /// Answers the first question with a key chord.
    mutating func answer(_ isYes: Bool) {
        guard questions.first != nil else { return say("no question waits") }
        guard questions.canAnswer(at: uptime) else {
            let isShown = screen().shown.question != nil
            return say(
                isShown
                    ? "this question is new: read it, then press the key again"
                    : "the question does not fit on the screen")
        }
        guard let question = questions.take() else { return }
        switch question.subject {
        case .request(let id):
            let name = acceptedNames.removeValue(forKey: id)
            if isYes { accept(id, name: name) } else { drop(id) }
        case .invitation(let id):
            if isYes {
                make(
                    "group", ["accept", id], success: "you joined",
                    reads: [.groups, .conversations])
            } else {
                run(.change("declined"), "group", ["decline", id])
            }
        case .grant(let group, let id):
            if isYes { grant(group, id) } else { questions.putOff(question) }
        case .delete(let key, let number):
            if isYes {
                conversation?.selection = nil
                make(
                    "compose", ["delete", "--with", key.who, "--", "\(number)"],
                    reads: [.newest, .changed])
            }
        case .leave(let id):
            if isYes {
                make(
                    "group", ["leave", "--yes", id], success: "you left the group",
                    reads: [.groups, .newest]
                )
            }
        case .remove(let group, let id):
            if isYes {
                let success =
                    isInvited(id)
                    ? "the invitation of \(name(of: id)) is taken back"
                    : "\(name(of: id)) was removed"
                make(
                    "group", ["remove", group, id], success: success,
                    reads: [.members, .groups, .newest])
            }
        case .block(let id): if isYes { block(id) }
        }
    }

    mutating func accept(_ id: String, name: String?) {
        let named = name.map { ["--name", $0] } ?? []
        let claimed = list.requests.first { $0.id == id }?.claimedName
        run(
            .change("accepted \(name ?? claimed ?? String(id.prefix(16)))", request: id),
            [
                Pipeline.Stage("contact", ["accept"] + named + [id]),
                Pipeline.Stage("decrypt", ["-q"]),
            ])
    }

    /// Deletes the messages of a request. Its sender can write again, unless they are blocked.
    private mutating func drop(_ id: String) {
        run(
            .change("dropped; /block would block the sender"), "contact",
            ["requests", "--drop", id])
    }

    mutating func block(_ id: String) {
        run(.change("blocked \(name(of: id))"), "contact", ["block", id])
    }

    mutating func grant(_ group: String, _ id: String) {
        make(
            "group", ["grant", group, id], success: "\(name(of: id)) sees your messages",
            reads: [.members])
    }

    // MARK: Commands

    mutating func askAgain() {
        questions.reset()
        askRequests()
        askInvitations()
        if case .group(let id)? = conversation?.key { askGrants(id) }
        if questions.first == nil { say("no question waits") }
    }

    /// Sets the name that the sender of the first request gets. Only the chord accepts it.
    mutating func acceptFirst(_ name: String) {
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

    mutating func blockFirst(_ name: String) {
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

    mutating func unblock(_ name: String) {
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
        if id == ownID { return refuse("these are your own notes: nobody is blocked") }
        if let contact = list.contact(id), contact.isBlocked {
            return refuse("\(contact.name) is blocked; /unblock ends it")
        }
        ask(
            Question(
                subject: .block(id: id), text: "drop everything from \(quotedName(of: id))?",
                yes: "blocks", no: "does nothing"))
    }
}
