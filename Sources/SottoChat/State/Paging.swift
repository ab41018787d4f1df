/// Scrolling in a conversation.
extension ChatState {
    mutating func scroll(up count: Int) {
        guard let old = conversation else { return }
        let (layout, height) = (layout, viewHeight)
        conversation?.found = nil
        conversation?.scrollUp(count, layout, height: height)
        let shown = conversation?.view(layout, height: height)
        if shown?.reachesTop == true, !old.isComplete { loadOlder() }
    }

    mutating func loadOlder() {
        guard let conversation, conversation.isLoaded, !conversation.isComplete,
            let first = conversation.firstNumber
        else { return }
        read(
            .page(conversation.key, before: first), of: conversation.key, "--before", first,
            limit: Self.pageSize * 2)
    }

    /// Reads the messages after the last one that is loaded, if newer ones are not.
    mutating func loadLater() {
        guard let conversation, conversation.isDetached, let last = conversation.lastNumber else {
            return
        }
        read(
            .later(conversation.key, after: last), of: conversation.key, "--after", last,
            limit: Self.pageSize)
    }

    /// Reads a page beside a message, unless that job runs.
    private mutating func read(
        _ job: Job, of key: ConversationKey, _ side: String, _ number: Int64, limit: Int
    ) {
        guard !isRunning(job) else { return }
        run(
            job, "history",
            ["page", side, "\(number)", "--limit", "\(limit)", "--json", "--", key.who])
    }

    mutating func scroll(down count: Int) {
        let layout = layout
        conversation?.found = nil
        conversation?.scrollDown(count, layout)
        if conversation?.anchor == nil { return goToEnd() }
        if conversation?.needsLater == true { loadLater() }
    }

    mutating func goToEnd() {
        conversation?.origin = nil
        conversation?.found = nil
        guard conversation?.isDetached == true else {
            conversation?.anchor = nil
            return
        }
        conversation?.seeksUnread = false
        reload()
    }

    // MARK: Messages of a list

    /// Shows a message of a list in its conversation. Esc returns to the place before the first one.
    mutating func jump(to message: ChatMessage) {
        guard let open = conversation, open.key == message.key else { return }
        let origin = open.origin ?? open.place
        show(message)
        conversation?.selection = nil
        conversation?.origin = origin
        conversation?.found = .message(message.number)
        showFound()
    }

    /// Returns to the place from which a message of a list was shown.
    mutating func goBack(to origin: Conversation.Origin) {
        conversation?.origin = nil
        conversation?.found = nil
        guard let anchor = origin.anchor else { return goToEnd() }
        if conversation?.index(of: anchor.id) == nil {
            guard let message = origin.message else { return goToEnd() }
            show(message)
        }
        if conversation?.index(of: anchor.id) != nil {
            conversation?.anchor = anchor
        } else if let message = origin.message {
            conversation?.anchor = Conversation.Anchor(id: .message(message.number), hidden: 0)
        }
    }

    /// Loads the messages around one, if it is not loaded.
    private mutating func show(_ message: ChatMessage) {
        guard conversation?.has(message.number) == false else { return }
        var message = message
        preview(&message)
        conversation?.reset(to: message)
        loadOlder()
        loadLater()
    }

    /// Moves the view to the message of a list, as far as those around it are loaded.
    mutating func showFound() {
        guard let found = conversation?.found else { return }
        let (layout, height) = (layout, viewHeight)
        conversation?.center(found, layout, height: height)
    }
}
