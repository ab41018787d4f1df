import Sotto
import SottoDatabase

/// Events: messages that change others. A deletion erases its target when both are here, in either order; receipts
/// change the state of sent messages; a profile replaces the earlier one. The rest is applied when a message is shown, by ``MessageView``.
extension StateTransaction {
    /// The maximum number of events of one author on one message. Above it, the oldest are erased and counted.
    package static let eventsPerAuthor: Int64 = 64
    /// Days for which an event waits for its target.
    static let waitingDays: Int64 = 60
    /// The maximum number of events that wait for their targets in a conversation. Above it, the author with the most loses the
    /// oldest.
    package static let waitingLimit: Int64 = 1_000

    /// Applies a new event to the messages that it changes, and makes it findable by them. An imported event, whose author
    /// is only claimed, changes only imported messages.
    func apply(
        _ number: Int64, _ body: MessageBody, in row: ConversationRow, author: KeyID?,
        _ direction: HistoryEntry.Direction, at time: Timestamp, isImported: Bool = false
    ) throws(StateError) {
        if case .profile(let profile) = body.kind {
            guard let peer = row.conversation.peer, !isImported else { return }
            return try direction == .sent
                ? noteSent(profile, to: peer) : take(profile, of: peer, from: author, at: time)
        }
        if case .receipt(let receipt) = body.kind {
            if receipt.group != nil {
                guard direction == .received, !isImported, let peer = row.conversation.peer else {
                    return
                }
                return try apply(number, receipt, ofGroupFrom: peer, at: time)
            }
            // A receipt is for one person. All members of a group would see this one.
            guard row.conversation.group == nil else { return }
        }
        if let signal = body.call {
            return try link(
                number, signal, in: row, author: author, at: time, isImported: isImported)
        }
        for id in body.targetIDs {
            let marks = store.marks(of: id, in: row.conversation)
            let target = store.mark(target: id, conversation: row.number)
            let mark = author.map { store.mark(author: $0, isImported: isImported) } ?? 0
            try link(number, to: target, author: mark, at: time)
            try connection.run(
                "UPDATE message SET changed = ? WHERE mark IN (?, ?) AND conversation = ?",
                time.seconds, marks.received, marks.sent, row.number)
            if connection.changes == 0 { try wait(number, for: target, in: row, at: time) }
            guard let author else { continue }
            switch body.kind {
            case .delete:
                let named = try store.entries(
                    "WHERE mark IN (?, ?) AND conversation = ?", marks.received, marks.sent,
                    row.number, connection: connection)
                for entry in named
                where !entry.isGone
                    && (entry.author(owner.id) == author
                        || row.conversation.isModerated
                            && entry.author(owner.id) == body.target?.from)
                {
                    guard !isImported || entry.isImported else { continue }
                    try delete(entry, at: time)
                }
            case .edit:
                // The content of a message that is gone does not come back as an edit.
                let isGone = try connection.exists(
                    """
                    SELECT 1 FROM message WHERE mark IN (?, ?) AND conversation = ? AND sealed IS NULL
                    """, marks.received, marks.sent, row.number)
                if isGone { try erase(number, .deleted, at: time) }
            case .receipt(let receipt) where direction == .received && !isImported:
                try advance(id, to: HistoryEntry.State(receipt.status), in: row)
            default: break
            }
        }
    }

    /// Records that an event waits for its target, and drops those of the author with the most above ``waitingLimit``.
    private func wait(
        _ number: Int64, for target: Int64, in row: ConversationRow, at time: Timestamp
    ) throws(StateError) {
        hasWaiting = true
        try connection.run(
            "INSERT OR IGNORE INTO waiting (target, message, conversation) VALUES (?, ?, ?)",
            target, number, row.number)
        let count = try connection.integer(
            "SELECT count(*) FROM waiting WHERE conversation = ?", row.number)
        guard count > Self.waitingLimit else { return }
        let oldest = try connection.rows(
            """
            SELECT target, message FROM waiting JOIN event USING (target, message)
            WHERE conversation = ?1 AND author = (
                SELECT author FROM waiting JOIN event USING (target, message)
                WHERE conversation = ?1 GROUP BY author ORDER BY count(*) DESC LIMIT 1)
            ORDER BY message LIMIT ?2
            """, row.number, count - Self.waitingLimit
        ) { (target: $0.integer(0), message: $0.integer(1)) }
        for each in oldest { try drop(each.message, on: each.target, at: time) }
    }

    /// Removes an event from a target, and erases the event if it has no other target.
    private func drop(
        _ number: Int64, on target: Int64, at time: Timestamp
    ) throws(StateError) {
        try connection.run("DELETE FROM waiting WHERE target = ? AND message = ?", target, number)
        try connection.run("DELETE FROM event WHERE target = ? AND message = ?", target, number)
        // A receipt can be for several messages.
        let isNeeded =
            try connection.exists("SELECT 1 FROM event WHERE message = ?", number)
        if !isNeeded { try erase(number, .deleted, at: time) }
    }

    /// Drops events that have waited for too long. Returns how many.
    func dropWaiting(at now: Timestamp, limit: Int) throws(StateError) -> Int {
        let first = try settledTime(at: now).seconds - Self.waitingDays * Self.day
        let old = try connection.rows(
            """
            SELECT target, message FROM waiting JOIN message ON number = message
            WHERE time < ? ORDER BY number LIMIT ?
            """, first, limit
        ) { (target: $0.integer(0), message: $0.integer(1)) }
        for each in old { try drop(each.message, on: each.target, at: now) }
        return old.count
    }

    /// Ends the waiting of events for a message that is stored now.
    func endWaiting(for id: String, in row: ConversationRow) throws(StateError) {
        if hasWaiting == nil { hasWaiting = try connection.exists("SELECT 1 FROM waiting LIMIT 1") }
        guard hasWaiting == true else { return }
        try connection.run(
            "DELETE FROM waiting WHERE target = ?",
            store.mark(target: id, conversation: row.number))
    }

    /// Makes an event findable by its target. Erases the author's oldest events on the target above
    /// ``eventsPerAuthor``.
    func link(
        _ number: Int64, to target: Int64, author: Int64, at time: Timestamp
    ) throws(StateError) {
        hasEvents = true
        try connection.run(
            "INSERT OR IGNORE INTO event (target, author, message) VALUES (?, ?, ?)", target,
            author, number)
        let displaced = try connection.rows(
            """
            SELECT message FROM event WHERE target = ? AND author = ?
            ORDER BY message DESC LIMIT -1 OFFSET ?
            """, target, author, Self.eventsPerAuthor
        ) { $0.integer(0) }
        guard !displaced.isEmpty else { return }
        for event in displaced { try drop(event, on: target, at: time) }
        try connection.run(
            """
            INSERT INTO dropped (target, author, count) VALUES (?1, ?2, ?3)
            ON CONFLICT (target, author) DO UPDATE SET count = count + ?3
            """, target, author, displaced.count)
    }

    /// Records a receipt for a message that was sent to the peer of the conversation.
    private func advance(
        _ id: String, to state: HistoryEntry.State, in row: ConversationRow
    ) throws(StateError) {
        try connection.run(
            "UPDATE message SET state = ?1 WHERE mark = ?2 AND conversation = ?3 AND state < ?1",
            state.rawValue, store.mark(sent: id), row.number)
    }

    /// Advances an own message of another device by the receipts that came before it.
    func applyEarlyReceipts(of id: String, in row: ConversationRow) throws(StateError) {
        let events = try store.entries(
            "WHERE sent = 0 AND number IN (SELECT message FROM event WHERE target = ?)",
            store.mark(target: id, conversation: row.number), connection: connection)
        for event in events where !event.isImported {
            guard case .receipt(let receipt)? = event.body?.kind, receipt.group == nil else {
                continue
            }
            try advance(id, to: HistoryEntry.State(receipt.status), in: row)
        }
    }

    /// Returns the people who deleted a new message: its author, or moderators. Their deletions arrived first.
    func earlyDeletions(
        of id: String, in row: ConversationRow, by author: KeyID?, at time: Timestamp,
        isImported: Bool = false
    ) throws(StateError) -> [KeyID] {
        guard let author else { return [] }
        if hasEvents == nil { hasEvents = try connection.exists("SELECT 1 FROM event LIMIT 1") }
        guard hasEvents == true else { return [] }
        let isModerated = row.conversation.isModerated && !isImported
        if !isModerated {
            guard
                try connection.exists(
                    "SELECT 1 FROM event WHERE target = ? AND author = ?",
                    store.mark(target: id, conversation: row.number),
                    store.mark(author: author, isImported: isImported))
            else { return [] }
        }
        let first = time.seconds - Self.waitingDays * Self.day
        return try store.events(on: id, in: row, connection).compactMap { event in
            guard case .delete = event.body?.kind, event.isImported == isImported,
                event.received.map({ $0.seconds >= first }) ?? false
            else { return nil }
            let deleter = event.author(owner.id)
            let isByModerator = isModerated && event.body?.target?.from == author
            return deleter == author || isByModerator ? deleter : nil
        }
    }
}
