import SottoBytes

/// Opening and closing conversations.
extension ChatState {
    mutating func open(_ key: ConversationKey, name: String) {
        if let old = conversation {
            guard old.key != key else { return goToEnd() }
            keepDraft(of: old.key)
        }
        conversation = Conversation(key, name: Cells.line(name, limit: 40))
        conversation?.seeksUnread = options.form == .screen
        conversation?.needsUnreadLine = options.form == .screen
        addPending()
        questions.keep { !$0.isOfConversation }
        editor.set(drafts.removeValue(forKey: key) ?? "")
        (subject, overlay, members, recalled) = (nil, nil, [], nil)
        (status, isPrepared) = (nil, false)
        previews = Previews()
        refreshes.formUnion([.conversations, .contacts, .members])
        loadPage()
    }

    /// Goes back to the list.
    mutating func close() {
        guard let old = conversation else { return }
        keepDraft(of: old.key)
        editor.set("")
        (conversation, subject, overlay, members, recalled) = (nil, nil, nil, [], nil)
        (refreshes, list.choice) = (refreshes.union([.conversations, .contacts]), .first)
        status = nil
        questions.keep { !$0.isOfConversation }
    }

    private mutating func keepDraft(of key: ConversationKey) {
        let draft = unsentLine
        drafts[key] = draft.isEmpty ? nil : draft
    }

    /// Whether a conversation that a command named is being opened. What is typed meanwhile is not for the present one.
    var isOpening: Bool { openingName != nil }

    /// The name of the conversation that is being opened.
    var openingName: String? {
        for run in running.values { if case .resolve(let who) = run.job { return who } }
        return nil
    }

    /// Whether a line without a screen waits: a command can name a message, a member or a contact, which must be read.
    var isPreparing: Bool {
        guard isStarted, options.who == nil, !isOpening else { return true }
        let isReading = running.values.contains { $0.job.isReading }
        return !isPrepared && (isReading || !refreshes.isEmpty && !isLocked)
    }

    mutating func resolve(_ name: String) {
        run(.resolve(name), "compose", ["text", "--", name], input: "-")
    }

    mutating func endResolving(_ who: String, _ run: Running) {
        guard run.status == 0, let line = run.lines.first,
            let record = try? JSON.object(parsing: line)
        else {
            let known = Words.cause(run.errors) ?? "\(who) is not known"
            let isUnknown = known.hasPrefix("no contact, group or file has the name")
            // compose knows similar names.
            let suggestion = "; did you mean"
            let similar = known.pieces(between: suggestion).dropFirst().map { suggestion + $0 }
            let cause = isUnknown ? noName(who) + similar.joined() : known
            // A tool that succeeds prints a record.
            let status = run.status == 0 ? 70 : run.status
            guard !isLocked else { return }
            guard options.who == who else { return endOpening(cause, status) }
            effects.append(.warn("sotto chat: error: \(cause)"))
            for line in run.errors where line.contains("compose: hint: ") {
                effects.append(.warn(line.replacingAll("compose: ", with: "sotto chat: ")))
            }
            return end(status)
        }
        options.who = nil
        // Text that was typed meanwhile is for the named conversation.
        let typed = editor.text
        editor.set("")
        defer {
            let draft = editor.isEmpty || typed.isEmpty ? editor.text : editor.text + " "
            editor.set(draft + typed)
        }
        if let group = record["group"]?.string {
            open(.group(group), name: who)
        } else if let id = record["to"]?.string {
            // No contact has the name of the owner.
            if who.lowercased() == "me" { ownID = id }
            open(.person(id), name: who)
        }
    }

    /// Takes a failure to open a conversation. Without a screen, the lines that follow are not for the conversation before.
    mutating func endOpening(_ cause: String, _ status: Int32) {
        refuse(cause, status: status)
        if options.form == .lines { close() }
    }

    /// Adds the typed texts that wait to the open conversation.
    mutating func addPending() {
        unreadOwn = nil
        for text in pending where text.key == conversation?.key { conversation?.add(text) }
    }

    /// Reads the newest messages, with all that are unread. If these are too many, reads the first of them instead.
    mutating func loadPage() {
        guard let open = conversation else { return }
        let unread = open.seeksUnread ? list.conversation(open.key)?.unread ?? 0 : 0
        guard unread <= Self.unreadLimit else { return loadUnread() }
        let limit = options.form == .lines ? Self.linePageSize : unread + Self.pageSize
        run(
            .page(open.key, before: nil), "history",
            ["page", "--limit", "\(limit)", "--json", "--", open.key.who])
    }

    /// Reads the messages after the last one that is marked as read.
    private mutating func loadUnread() {
        guard let key = conversation?.key, let listed = list.conversation(key),
            !isRunning(.unread(key))
        else { return }
        run(
            .unread(key), "history",
            [
                "page", "--after", "\(listed.read)", "--limit", "\(Self.pageSize)", "--json", "--",
                key.who,
            ])
    }

    /// Reads the newest page anew.
    mutating func reload() {
        conversation?.reset()
        addPending()
        loadPage()
    }

    /// Notes the messages that the terminal has taken.
    mutating func noteSeen(_ shown: Screen.Messages) {
        // Before the first unread message is found, the newest ones are on the screen for a moment.
        guard let open = conversation, open.key == shown.key, open.isLoaded, !open.seeksUnread
        else { return }
        conversation?.see(shown.numbers)
        markSeen()
    }

    /// Marks the unread messages that were on the screen, as far as all before them were there too.
    mutating func markSeen() {
        guard let open = conversation, open.hasUnmarked, !canLackUnread else { return }
        conversation?.hasUnmarked = false
        if let number = open.lastSeen { markRead(upTo: number, in: open.key) }
    }

    /// Whether unread messages can be before the first one that is loaded. Then none is marked, because a mark counts for all before
    /// it.
    private var canLackUnread: Bool {
        guard let open = conversation, !open.isFirstUnreadKnown else { return false }
        let listed = list.conversation(open.key)
        if let listed, open.has(listed.read) { return false }
        guard list.isLoaded, !open.isDetached, open.messages.first?.isUnread != true else {
            return true
        }
        return open.unread < listed?.unread ?? 0
    }

    /// Shows the first unread message as soon as it is known; reads the messages there if they are not loaded.
    mutating func seekUnread() {
        guard let open = conversation, open.isLoaded else { return }
        guard canLackUnread else {
            // It stays known when the messages that tell it are dropped.
            conversation?.startsAtUnread = true
            // The loaded part begins after the mark, and all of it is from the user.
            if open.seeksUnread, open.unread == 0, open.isDetached { return loadLater() }
            placeUnreadLine()
            return markSeen()
        }
        guard open.seeksUnread, list.isLoaded else { return }
        let unread = list.conversation(open.key)?.unread ?? 0
        if unread > 0, open.anchor == nil { return loadUnread() }
        conversation?.seeksUnread = false
    }

    /// Notes what the user can see.
    mutating func notePainted(_ shown: Screen.Shown) {
        questions.notePainted(shown.question, at: uptime)
        if conversation == nil, let items = shown.items { list.notePainted(items) }
        if let messages = shown.messages { noteSeen(messages) }
    }

    /// Marks messages as read, after the marking that runs.
    mutating func markRead(upTo number: Int64, in key: ConversationKey) {
        marks[key] = max(marks[key] ?? 0, number)
    }

    /// Marks everything as read, also what is not loaded.
    mutating func markAll() {
        guard let open = conversation else { return }
        let listed = open.isDetached ? list.conversation(open.key)?.lastNumber : nil
        guard let last = listed ?? open.lastNumber else { return say("no message is here") }
        markRead(upTo: last, in: open.key)
    }

    /// Starts the next marking: one at a time, so that none is lost.
    mutating func runMarkings() {
        guard isStarted, !isLocked, let (key, number) = marks.first,
            !running.values.contains(where: \.job.isMarking)
        else { return }
        marks[key] = nil
        run(
            .marking(key, number),
            [
                Pipeline.Stage(
                    "history", ["read", "-q", "--json", "--upto", "\(number)", "--", key.who]),
                Making.encryption,
            ])
    }
}

extension Question.Subject {
    /// Whether it belongs to the open conversation alone.
    var isOfConversation: Bool {
        switch self {
        case .grant, .delete, .leave, .remove: true
        case .request, .invitation, .block: false
        }
    }
}
