import Sotto

/// Opening and closing conversations.
extension ChatState {
    mutating func open(_ key: ConversationKey, name: String) {
        if let old = conversation {
            guard old.key != key else { return goToEnd() }
            drafts[old.key] = editor.text
        }
        conversation = Conversation(key, name: Cells.line(name, limit: 40))
        editor.set(drafts.removeValue(forKey: key) ?? "")
        (subject, overlay, members, recalled) = (nil, nil, [], nil)
        previews = Previews()
        refreshes.formUnion([.conversations, .contacts, .members])
        loadPage()
    }

    /// Goes back to the list.
    mutating func close() {
        guard let old = conversation else { return }
        drafts[old.key] = editor.isEmpty ? nil : editor.text
        editor.set("")
        (conversation, subject, overlay, members) = (nil, nil, nil, [])
        (refreshes, list.choice) = (refreshes.union([.conversations, .contacts]), .first)
        questions.keep { !$0.isOfConversation }
    }

    /// Reads the newest messages: all that are unread, and a page before them, as far as the limit.
    mutating func loadPage() {
        guard let key = conversation?.key else { return }
        let unread = list.conversation(key)?.unread ?? 0
        let limit =
            options.form == .lines ? 20 : min(Conversation.entryLimit - 500, unread + Self.pageSize)
        run(
            .page(key, before: nil), "history",
            ["page", "--limit", "\(limit)", "--json", "--", key.who])
    }

    /// Marks the unread messages that were on the screen, as far as all before them were there too.
    mutating func noteSeen() {
        guard options.form == .screen, lock == nil, overlay == nil, let open = conversation,
            open.isLoaded, open.unread > 0, !open.canLackUnread
        else { return }
        let shown = open.view(layout, height: viewHeight).numbers
        if let number = conversation?.see(shown) { markRead(upTo: number) }
    }

    /// Notes what the user can see.
    mutating func notePainted(_ shown: Screen.Shown) {
        questions.notePainted(shown.question, at: uptime)
        if conversation == nil, let items = shown.items { list.notePainted(items) }
    }

    mutating func markRead(upTo number: Int64) {
        guard let key = conversation?.key, !isLocked,
            !running.values.contains(where: { if case .marking = $0.job { true } else { false } })
        else { return }
        run(
            .marking(key, number), "history",
            ["read", "-q", "--json", "--upto", "\(number)", "--", key.who])
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
