import Sotto

/// Parts of the state that are read again.
extension ChatState {
    mutating func runRefreshes() {
        guard isStarted, !isLocked else { return }
        let isForList = conversation == nil && options.who == nil
        for refresh in Refresh.allCases where refreshes.contains(refresh) {
            guard isComplete || refresh == .conversations && isForList else { continue }
            guard let (job, arguments) = job(of: refresh) else {
                refreshes.remove(refresh)
                continue
            }
            // At most once a second, and never twice at a time. With a passphrase each tool needs much memory for a moment.
            if isRunning(job) || lastRefresh[refresh] == now { continue }
            if passphrase != nil, running.values.contains(where: \.job.isReading) { continue }
            refreshes.remove(refresh)
            if refresh == .newest, erasure.isWanted {
                erasure = (false, conversation?.lastLoaded)
            }
            run(job, arguments[0], Array(arguments.dropFirst()))
            lastRefresh[refresh] = now
        }
    }

    private func job(of refresh: Refresh) -> (Job, [String])? {
        switch refresh {
        case .conversations: return (.conversations, ["history", "list", "--json"])
        case .contacts: return (.contacts, ["contact", "list", "--json"])
        case .requests: return (.requests, ["contact", "requests", "--json"])
        case .groups: return (.groups, ["group", "list", "--json"])
        case .waiting: return (.waiting, ["send", "--list", "--json"])
        case .unsent: return (.unsent, ["history", "unsent", "-q", "--json"])
        case .members:
            guard case .group(let id)? = conversation?.key else { return nil }
            return (.members(id), ["group", "participants", "--json", id])
        case .newest:
            guard let conversation, conversation.isLoaded else { return nil }
            // What is loaded is looked for.
            let count = erasure.isWanted ? conversation.messageCount : 0
            let limit = ["--limit", "\(max(Self.pageSize, count))", "--json"]
            return (
                .refresh(conversation.key),
                ["history", "page"] + limit + ["--", conversation.key.who]
            )
        case .changed:
            guard let conversation, conversation.isLoaded else { return nil }
            let last = lastRefresh[.changed] ?? now
            let since = Timestamp(seconds: last.seconds - 5)
            let options = ["--changed-since", since.description, "--limit", "500", "--json"]
            return (
                .changed(conversation.key),
                ["history", "page"] + options + ["--", conversation.key.who]
            )
        }
    }
}
