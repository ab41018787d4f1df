package import Sotto
import SottoDatabase

/// The messages of a group that did not arrive. Their author sends them again.
extension StateTransaction {
    /// The most members who are asked at once for their chains.
    private static let mostAskedForChain = 32
    /// The most messages before a chain that the owner asks for.
    private static let mostBeforeChain: UInt32 = 100
    /// Seconds after which a question for the chain is answered again.
    private static let chainAgain: Int64 = 3_600

    /// The most skipped messages of an author that are looked up.
    private static let mostLookedUp = 2 * GroupMemberNote.mostWanted

    /// Returns the ids of the messages that did not arrive although later messages of their chains did, by author: the newest
    /// ``GroupMemberNote/mostWanted`` of each.
    package func missingMessages(
        of group: StoredGroup
    ) throws(StateError) -> [KeyID: [String]] {
        let rows = try connection.rows(
            """
            SELECT tag, sealed FROM group_chain WHERE group_id = ? AND length(sealed) > ?
            ORDER BY number DESC
            """, group.number, Self.emptyChainBytes
        ) { (tag: $0.bytes(0), sealed: $0.bytes(1)) }
        var chains: [ReceivedGroupChain] = []
        for (tag, sealed) in rows {
            if let chain = try readableChain(sealed, tag: tag) { chains.append(chain) }
        }
        var skipped: [KeyID: [String]] = [:]
        for chain in chains where group.state.ranks[group.log.member(of: chain.device)] != nil {
            let space = Self.mostLookedUp - (skipped[chain.device]?.count ?? 0)
            skipped[chain.device, default: []] += chain.skippedMessages.reversed().prefix(space)
        }
        var missing: [KeyID: [String]] = [:]
        for (author, ids) in skipped {
            let absent = try newestAbsent(ids)
            if !absent.isEmpty { missing[author] = absent }
        }
        return missing
    }

    /// Returns the newest ids that no message has. `ids` begin with the newest, the result with the oldest.
    private func newestAbsent(_ ids: [String]) throws(StateError) -> [String] {
        try absent(Array(ids.prefix(Self.mostLookedUp)))
            .prefix(GroupMemberNote.mostWanted).reversed()
    }

    /// Returns the number of changes that members named and that are not here, and since when the first of them is missing.
    package func missingChanges(
        of group: StoredGroup
    ) throws(StateError) -> (count: Int, since: Timestamp?) {
        let notes = try notes(of: group).values.filter { note in
            note.missing.contains { !group.log.contains($0) }
        }
        let ids = Set(notes.flatMap(\.missing)).filter { !group.log.contains($0) }
        let since = notes.map(\.missingSince).filter { $0 > 0 }.min()
        return (ids.count, since.map { Timestamp(seconds: $0) })
    }

    /// Returns the ids of messages to groups that no message in the history has. One with a claimed author does not count.
    private func absent(_ ids: [String]) throws(StateError) -> [String] {
        var absent: [String] = []
        for id in ids {
            let known = try store.entries(
                "WHERE mark IN (?, ?)", store.mark(groupMessage: id), store.mark(sent: id),
                connection: connection
            ).first
            if known?.isImported ?? true { absent.append(id) }
        }
        return absent
    }

    /// Returns what the owner asks each member for: missing messages, those before a chain too.
    func messageRequests(
        in group: StoredGroup, _ notes: [KeyID: GroupMemberNote]
    ) throws(StateError) -> [KeyID: [String]] {
        var requests = try missingMessages(of: group)
        for note in notes.values where !note.missedMessages.isEmpty {
            requests[note.id, default: []] += try absent(note.missedMessages)
        }
        var taken: [KeyID: [String]] = [:]
        for (author, ids) in requests where try takesMessages(shownBy: author, in: group) {
            taken[author] = Array(ids.suffix(GroupMemberNote.mostWanted))
        }
        return taken
    }

    /// Whether the owner takes messages that a person shows. Only such people are asked for messages.
    func takesMessages(shownBy author: KeyID, in group: StoredGroup) throws(StateError) -> Bool {
        let person = group.log.member(of: author)
        guard let rank = group.state.ranks[person], rank >= group.state.policy.post else {
            return false
        }
        return try readableContact(id: person)?.isBlocked != true
    }

    /// Returns what the owner asks a member for.
    func messageRequests(
        of author: KeyID, in group: StoredGroup
    ) throws(StateError) -> [String] {
        let skipped = try chains(of: author, in: group).reversed().flatMap {
            $0.chain.skippedMessages.reversed()
        }
        let missed = try note(of: author, in: group).missedMessages
        return try newestAbsent(skipped) + absent(missed)
    }

    /// Returns the members whom the owner asks for their chains: some, if messages wait whose chain is unknown. Nothing
    /// tells whose it is. Those without a known chain, and those who were not asked for the longest time, come first.
    func chainRequests(
        in group: StoredGroup, _ notes: [KeyID: GroupMemberNote]
    ) throws(StateError) -> Set<KeyID> {
        guard try waitsForChain else { return [] }
        let known = Set(
            try connection.rows(
                "SELECT DISTINCT device FROM group_chain WHERE group_id = ?", group.number
            ) { $0.bytes(0) })
        let members = group.seats.map(\.device).map { id in
            (id: id, isKnown: known.contains(store.mark(id)), asked: notes[id]?.asked ?? 0)
        }
        let sorted = members.sorted {
            $0.isKnown != $1.isKnown ? $1.isKnown : $0.asked < $1.asked
        }
        return Set(sorted.prefix(Self.mostAskedForChain).map(\.id))
    }

    /// Whether messages wait for a chain.
    private var waitsForChain: Bool {
        get throws(StateError) {
            try connection.exists("SELECT 1 FROM held WHERE source = ?", Self.chainSource)
        }
    }

    // MARK: Gaps

    /// Notes the messages that the owner missed before a chain arrived: the last ones of the chains before it, and, if
    /// messages wait for a chain, those at its beginning.
    func noteGaps(
        _ distribution: GroupChainDistribution,
        _ chains: [(tag: [UInt8], chain: ReceivedGroupChain)], in group: StoredGroup
    ) throws(StateError) {
        var missed: [String] = []
        for previous in distribution.previous {
            if let known = chains.first(where: { $0.chain.id == previous.chain }) {
                var chain = known.chain
                chain.skip(to: previous.count)
                chain.keepSkipped(Self.skippedPerChain)
                try write(chain, tag: known.tag)
                try limitSkipped(in: group.id)
            } else {
                missed += Self.messages(of: previous.chain, before: previous.count)
            }
        }
        let waits = try waitsForChain
        if distribution.iteration > 0, waits {
            missed += Self.messages(of: distribution.chain, before: distribution.iteration)
        }
        try noteMissed(missed, of: distribution.device, in: group)
    }

    /// Notes a message whose key the owner's chain does not have.
    package func noteMissed(_ envelope: Envelope) throws {
        let place = try place(of: envelope)
        try noteMissed([place.id], of: place.device, in: place.group)
    }

    private func noteMissed(
        _ ids: [String], of author: KeyID, in group: StoredGroup
    ) throws(StateError) {
        var note = try note(of: author, in: group)
        let new = ids.filter { !note.missedMessages.contains($0) }
        guard !new.isEmpty else { return }
        note.missedMessages = Array(
            (note.missedMessages + new).suffix(GroupMemberNote.mostWanted))
        try write(note, of: group)
    }

    private static func messages(of chain: [UInt8], before end: UInt32) -> [String] {
        (end - min(end, mostBeforeChain)..<end).map {
            GroupContent.messageID(chain: chain, iteration: $0)
        }
    }

    // MARK: Answers

    /// Notes what a member asks the owner for.
    func note(
        _ body: GroupBody, asks member: KeyID, in group: StoredGroup, at time: Timestamp
    ) throws(StateError) {
        guard group.state.ranks[group.log.member(of: member)] != nil,
            body.asksForChain || !body.messageRequest.isEmpty
        else { return }
        var note = try note(of: member, in: group)
        if body.asksForChain, time.seconds - note.answered >= Self.chainAgain {
            note.wantsChain = true
        }
        if !body.messageRequest.isEmpty {
            let answered = Set(note.answers.messages(at: time))
            note.wantedMessages = body.messageRequest.filter { !answered.contains($0) }
        }
        try write(note, of: group)
    }

    /// Returns the messages that a member may read and that the owner owes the member or the member asked for, as the owner wrote
    /// them, without those that are deleted after some time. Those that were asked for are limited in number for each day.
    func answers(
        to note: GroupMemberNote, in group: StoredGroup, at time: Timestamp
    ) throws(StateError) -> [JSONObject] {
        let owed = note.owedMessages
        let wanted = note.wantedMessages.filter { !owed.contains($0) }
        guard !owed.isEmpty || !wanted.isEmpty else { return [] }
        guard let first = try lastUnread(by: note, in: group) else { return [] }
        var answers: [JSONObject] = []
        let most = owed.count + note.answers.messagesLeft(at: time)
        for id in owed + wanted {
            guard answers.count < most else { break }
            guard let entry = try sentMessage(id, in: group), entry.place > first, !entry.isRepeat,
                let body = entry.record["body"]?.object, body["expires"] == nil,
                let answer = entry.shown(group.sendable(body))
            else { continue }
            answers.append(answer)
        }
        return answers
    }

    /// Returns the place after which a member may read the owner's messages, or `nil` for a member who could read none since
    /// joining.
    func lastUnread(
        by note: GroupMemberNote, in group: StoredGroup
    ) throws(StateError) -> HistoryPlace? {
        if group.shows(to: note) { return .start }
        guard let until = note.unreadUntil else { return nil }
        return try sentMessage(until, in: group)?.place ?? .start
    }

    /// Returns an own message to a group, or `nil`.
    func sentMessage(
        _ id: String, in group: StoredGroup
    ) throws(StateError) -> HistoryEntry? {
        try store.entries("WHERE mark = ?", store.mark(sent: id), connection: connection).first {
            $0.conversation == .group(group.id)
        }
    }

    /// Returns the id of the owner's last message to a group, or of the last one before a place, or ``GroupMemberNote/nothing``.
    func lastSentMessage(
        to group: StoredGroup, before end: HistoryPlace = .end
    ) throws(StateError) -> String {
        let row = try row(of: .group(group.id))
        let last = try store.entries(
            """
            WHERE conversation = ? AND sent = 1 AND sealed IS NOT NULL AND state <> ?
            AND (place, number) < (?, ?) ORDER BY place DESC, number DESC LIMIT 1
            """, row.number, HistoryEntry.State.claimed.rawValue, end.rank, end.number,
            connection: connection)
        return last.first?.id ?? GroupMemberNote.nothing
    }
}
