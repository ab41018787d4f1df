import Sotto

/// The rows of the list.
extension ChatState {
    /// The items of the list that the typed text leaves.
    var shownItems: [ChatList.Item] { list.items(editor.text.hasPrefix("/") ? "" : filter) }

    func listRows(_ height: Int) -> [[Screen.Span]] {
        let items = shownItems
        guard !items.isEmpty else {
            guard list.isLoaded else { return padded([[Screen.Span("reading…", .dim)]], height) }
            let words =
                filter.isEmpty
                ? "no conversations yet: add a contact with sotto add, or wait for a message"
                : "no name contains “\(Cells.line(filter, limit: 40))”"
            return padded(
                Cells.wrap(words, width: options.columns, limit: 3).rows.map {
                    [Screen.Span($0, .dim)]
                }, height)
        }
        // The first one is chosen at the next key if the chosen one has gone.
        let chosen = list.place(in: items) ?? (list.choice == .nothing ? -1 : 0)
        let first = max(0, min(chosen - height / 2, items.count - height))
        let shown = items[first..<min(items.count, first + height)]
        let digits = "\(items.count)".count
        // Quotation marks are around some names. The count, the time and the mark need 16 columns.
        let nameWidth = min(
            max(12, items.reduce(0) { max($0, Cells.width($1.name) + 2) }),
            max(options.columns * 3 / 10, min(14, options.columns - digits - 18)))
        return padded(
            shown.enumerated().map { offset, item in
                row(
                    of: item, number: first + offset + 1, digits, nameWidth,
                    isChosen: first + offset == chosen)
            }, height)
    }

    private func padded(_ rows: [[Screen.Span]], _ height: Int) -> [[Screen.Span]] {
        Array(rows.prefix(height)) + Array(repeating: [], count: max(0, height - rows.count))
    }

    private func row(
        of item: ChatList.Item, number: Int, _ digits: Int, _ nameWidth: Int, isChosen: Bool
    ) -> [Screen.Span] {
        var name = Screen.Style.bold
        name.isReversed = isChosen
        let numberText = MessageRows.spaces(digits - "\(number)".count) + "\(number) "
        var row = [Screen.Span(isChosen ? ">" : " "), Screen.Span(numberText, .dim)]
        func add(
            _ title: String, _ unread: Int, _ time: String, _ mark: String, _ last: String,
            _ style: Screen.Style
        ) {
            row.append(Screen.Span("\(mark) "))
            row.append(
                Screen.Span(MessageRows.padded(Cells.cut(title, to: nameWidth), nameWidth), name))
            let count = unread > 0 ? (unread > 999 ? "999+" : "\(unread)") : ""
            row.append(
                Screen.Span(
                    " " + MessageRows.spaces(4 - count.count) + count, unread > 0 ? .alert : .plain)
            )
            row.append(Screen.Span(" " + MessageRows.padded(time, 6) + " ", .dim))
            row.append(Screen.Span(last, style))
        }
        switch item {
        case .request(let request):
            let claimed =
                request.claimedName.map { Words.quoted($0) } ?? "\(request.id.prefix(16))…"
            add(
                request.contactName ?? claimed, request.count, "", "?",
                request.contactName == nil
                    ? request.claimedName == nil
                        ? "message request" : "message request; the name is only claimed"
                    : "messages from before the key was accepted", .dim)
        case .invitation(let group):
            add(
                group.name, 0, "", "?",
                "invitation of \(self.name(of: group.inviter)), \(Words.count(group.members, "member"))",
                .dim)
        case .silent(let key, let name): add(name, 0, "", mark(of: key), "no messages yet", .dim)
        case .conversation(let conversation):
            let author = conversation.lastIsOwn ? "me: " : ""
            let draft = drafts[conversation.key].map { "[draft] \(Cells.line($0, limit: 60))" }
            let last =
                conversation.last.isEmpty
                ? conversation.time == nil ? "no messages yet" : "" : author + conversation.last
            let isBlocked = list.contact(conversation.key.who)?.isBlocked == true
            let muted = isBlocked ? "[blocked] " : conversation.isMuted ? "[muted] " : ""
            add(
                conversation.name, isBlocked ? 0 : conversation.unread,
                shortTime(conversation.time),
                mark(of: conversation.key),
                muted + (draft ?? last), conversation.time == nil ? .dim : .plain)
        }
        return row
    }

    /// One column before the name: a changed key, verified, a group, or online.
    private func mark(of key: ConversationKey) -> String {
        switch key {
        case .group: return "#"
        case .chat: return "~"
        case .person(let id):
            if list.contact(id)?.hasChangedKey == true { return "!" }
            if isOn(.presence, id, nil), hasSignals { return "●" }
            return list.contact(id)?.isVerified == true ? "✓" : " "
        }
    }

    /// Returns the hour of today, else the day.
    private func shortTime(_ time: Timestamp?) -> String {
        guard let time else { return "" }
        let (then, today) = (options.localTime(time), options.localTime(now))
        if (then.year, then.month, then.day) == (today.year, today.month, today.day) {
            return "\(Words.padded(then.hour)):\(Words.padded(then.minute))"
        }
        return Words.day(then)
    }
}
