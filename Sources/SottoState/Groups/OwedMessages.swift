package import Sotto
import SottoDatabase

/// The messages to groups of which no copy was made for some members: they are not reached, wait for the confirmation of a
/// restored group, or had entered before the author learned of it. The next message and `group sync` send them to these members.
extension StateTransaction {
    /// Returns the people who lack own messages to a group and may read them, by the ids of the messages. Blocked people are left out.
    /// What is in an envelope that did not reach the outbox within a minute counts as lacking. Call it in a preview.
    package func owedMessages(
        in group: StoredGroup, at time: Timestamp = .now()
    ) throws(StateError) -> [String: [KeyID]] {
        var owed: [String: [KeyID]] = [:]
        guard group.rank > .nobody else { return owed }
        let notes = try settleTellings(
            of: group, olderThan: Departure.recent, isPreview: true, at: time)
        /// Whether messages are here with their content.
        var isHere: [String: Bool] = [:]
        let lacking = notes.values.filter { !$0.owedMessages.isEmpty }.sorted {
            $0.id.description < $1.id.description
        }
        for note in lacking {
            let person = group.log.member(of: note.id)
            guard person != owner.id, try mayGet(person, notes[person], in: group) else { continue }
            for id in note.owedMessages where owed[id]?.contains(person) != true {
                if isHere[id] == nil {
                    isHere[id] = try sentMessage(id, in: group).map { !$0.isGone } ?? false
                }
                if isHere[id] == true { owed[id, default: []].append(person) }
            }
        }
        return owed
    }

    /// Notes the messages that the owner wrote after an invited person had entered the group and before the owner learned of it: no
    /// copy was made for this person, who was a member. `before` is the state before the changes that arrived.
    ///
    /// Persons state the times of their entries and can state false ones, so the owner must have known the invitation when the
    /// message was written. Grants decide about newcomers in a group with another visibility.
    func oweMessages(of group: StoredGroup, since before: GroupState) throws(StateError) {
        guard before.ranks[owner.id] != nil, group.rank > .nobody, !group.isDoubtful,
            group.state.policy.visibility == .joined
        else { return }
        for member in group.state.ranks.keys where before.ranks[member] == nil {
            guard member != owner.id, let entered = group.log.joined(member) else { continue }
            let messages = try messages(to: group, sentFor: member, after: entered)
            guard let first = messages.first else { continue }
            for seat in group.seats where seat.member == member {
                try owe(messages.compactMap(\.id), since: first, to: seat.device, in: group)
            }
        }
    }

    /// Returns the last own messages to a group that a person who entered it at a time should have, the oldest first.
    private func messages(
        to group: StoredGroup, sentFor person: KeyID, after time: Timestamp
    ) throws(StateError) -> [HistoryEntry] {
        guard let row = try store.conversationRow(.group(group.id), connection) else { return [] }
        let found = try store.entries(
            """
            WHERE conversation = ? AND sent = 1 AND time >= ? AND sealed IS NOT NULL
            ORDER BY place DESC, number DESC LIMIT ?
            """, row.number, time.seconds, GroupMemberNote.mostWanted, connection: connection)
        let mark = store.mark(author: person)
        return found.reversed().filter { entry in
            guard entry.groupPlace != nil, !entry.isGone, !entry.isImported, !entry.isRepeat,
                !entry.hasReader(mark), let written = entry.time
            else { return false }
            return written >= time && entry.invitedMarks.contains(mark)
        }
    }

    private func owe(
        _ ids: [String], since first: HistoryEntry, to device: KeyID, in group: StoredGroup
    ) throws(StateError) {
        var note = try note(of: device, in: group)
        if note.unreadUntil == nil {
            note.unreadUntil = try lastSentMessage(to: group, before: first.place)
        }
        if try note.holds != chainSerial(of: group) { note.wantsChain = true }
        let new = ids.filter { !note.owedMessages.contains($0) }
        note.owedMessages = (note.owedMessages + new).suffix(GroupMemberNote.mostWanted)
        try write(note, of: group)
    }

    /// Whether a member may have the messages that the owner owes.
    private func mayGet(
        _ person: KeyID, _ note: GroupMemberNote?, in group: StoredGroup
    ) throws(StateError) -> Bool {
        guard Self.isEntitled(person, in: group, note),
            try !suspended(in: group).contains(person)
        else { return false }
        guard try !isRevoked(person) else { return false }
        return try readableContact(id: person)?.isBlocked != true
    }

    /// Returns the ids of the messages that members lack and get with `group sync`: none of a doubtful group, and none that is deleted after
    /// some time. Call it in a preview.
    package func syncedMessages(
        in group: StoredGroup, at time: Timestamp = .now()
    ) throws(StateError) -> Set<String> {
        var ids: Set<String> = []
        guard group.rank > .nobody, !group.isDoubtful else { return ids }
        let notes = try settleTellings(
            of: group, olderThan: Departure.recent, isPreview: true, at: time)
        for seat in group.seats {
            guard var note = notes[seat.device],
                try mayGet(seat.member, notes[seat.member], in: group)
            else { continue }
            note.wantedMessages = []
            for message in try answers(to: note, in: group, at: time) {
                let place = message["place"]?.object.flatMap { GroupContent.Place($0) }
                if let place { ids.insert(place.id(group.id, owner.device)) }
            }
        }
        return ids
    }

    /// Notes that members get messages again with a message of the owner to the group. `body` is that of this message, `copies`
    /// are the readers with the ids of their envelopes, or `nil` if these do not go to `send` in this home.
    package func notePaid(
        by body: JSONObject, _ copies: [(to: KeyID, envelope: String?)], in group: StoredGroup,
        at time: Timestamp = .now()
    ) throws(StateError) {
        let ids = Set(body.repeatedIDs(in: group.id, by: owner.id))
        guard !ids.isEmpty else { return }
        for copy in copies {
            let before = try note(of: copy.to, in: group)
            var note = before
            note.owedMessages.removeAll { ids.contains($0) }
            guard note.owedMessages.count < before.owedMessages.count else { continue }
            try write(note, of: group)
            guard let envelope = copy.envelope else { continue }
            try remember(
                GroupBody(group.id), in: envelope, before: before, note, of: group, at: time)
        }
    }
}

extension JSONObject {
    /// The ids of the messages of an author that a body sends again to a group. Empty for another body.
    func repeatedIDs(in group: GroupID, by author: KeyID) -> [String] {
        guard self["type"]?.string == RepeatedMessages.type else { return [] }
        return recorded(in: group, by: author)["ids"]?.array?.compactMap(\.string) ?? []
    }
}

extension IdentityStore {
    /// Returns the own messages of the last 30 days to groups that some members lack, to one group or to all.
    func owedEntries(
        in conversation: Conversation?, at now: Timestamp
    ) throws -> [HistoryEntry] {
        let groups: [StoredGroup]
        if let conversation {
            guard let id = conversation.group else { return [] }
            groups = try [preview { try $0.readableGroup(id) }].compactMap(\.self)
        } else {
            groups = try self.groups().groups
        }
        guard !groups.isEmpty else { return [] }
        let ids = try preview { transaction in
            try groups.flatMap { Array(try transaction.owedMessages(in: $0, at: now).keys) }
        }
        return try use { connection throws(StateError) in
            var found: [HistoryEntry] = []
            for id in ids {
                found += try entries(
                    """
                    WHERE mark = ? AND sent = 1 AND time >= ? AND kind <= ?
                    AND sealed IS NOT NULL
                    """, mark(sent: id), now.seconds - Departure.lifetime,
                    HistoryEntry.Kind.pin.rawValue, connection: connection)
            }
            return found
        }
    }
}
