package import Sotto
import SottoDatabase

/// The messages to groups of which no copy was made for some members: they are not reached, or wait for the confirmation of a
/// restored group. The next message and `group sync` send them to these members.
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
        let lacking = notes.values.filter { !$0.owedMessages.isEmpty }.sorted {
            $0.id.description < $1.id.description
        }
        for note in lacking {
            let person = group.log.member(of: note.id)
            guard person != owner.id, try mayGet(person, notes[person], in: group) else { continue }
            for id in note.owedMessages where owed[id]?.contains(person) != true {
                owed[id, default: []].append(person)
            }
        }
        return owed
    }

    /// Whether a member may have the messages that the owner owes.
    private func mayGet(
        _ person: KeyID, _ note: GroupMemberNote?, in group: StoredGroup
    ) throws(StateError) -> Bool {
        guard Self.isEntitled(person, in: group, note),
            try !suspended(in: group).contains(person)
        else { return false }
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
