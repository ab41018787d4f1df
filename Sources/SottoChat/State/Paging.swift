/// Scrolling in a conversation.
extension ChatState {
    mutating func scroll(up count: Int) {
        guard let old = conversation else { return }
        let (layout, height) = (layout, viewHeight)
        conversation?.scrollUp(count, layout, height: height)
        let shown = conversation?.view(layout, height: height)
        if shown?.reachesTop == true, !old.isComplete { loadOlder() }
    }

    mutating func loadOlder() {
        guard let conversation, conversation.isLoaded, !conversation.isComplete,
            let first = conversation.firstNumber
        else { return }
        let job = Job.page(conversation.key, before: first)
        guard !isRunning(job) else { return }
        run(
            job, "history",
            [
                "page", "--before", "\(first)", "--limit", "\(Self.pageSize * 2)", "--json", "--",
                conversation.key.who,
            ])
    }

    mutating func scroll(down count: Int) {
        let layout = layout
        conversation?.scrollDown(count, layout)
        if conversation?.anchor == nil { goToEnd() }
    }

    mutating func goToEnd() {
        guard conversation?.isDetached == true else {
            conversation?.anchor = nil
            return
        }
        conversation?.reset()
        addPending()
        conversation?.seeksUnread = false
        loadPage()
    }
}
