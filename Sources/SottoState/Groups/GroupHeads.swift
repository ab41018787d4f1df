import Sotto
import SottoDatabase

/// The heads of a person's log, and the changes that the owner owes this person.
extension StateTransaction {
    /// Notes a person's question for the heads of the owner's log with the changes that the answer needs, and the heads in a
    /// member's answer.
    func noteHeads(
        _ body: GroupBody, of sender: KeyID, in group: StoredGroup, at time: Timestamp
    ) throws(StateError) {
        var note = try note(of: sender, in: group)
        if let question = body.headsRequest, note.ask(forHeads: question, at: time) {
            let known = group.log.past(of: body.heads.filter { group.log.contains($0) })
            if try group.state.ranks[person(withDevice: sender, in: group)] != nil {
                note.told = group.place(knownTo: sender, known)
                note.needsLog = note.told < group.lastPlace(withoutThoseOf: sender)
            }
            let wanted = group.log.changes(of: sender, after: known, in: group.state)
            note.wanted = Array(
                (note.wanted + wanted.filter { !note.wanted.contains($0) })
                    .prefix(GroupMemberNote.mostWanted))
            try write(note, of: group)
        }
        guard let question = body.headsAnswer, question == group.question,
            group.state.ranks[group.log.member(of: sender)] != nil, !body.heads.isEmpty,
            !group.isNewcomer || group.drawn.contains(group.log.member(of: sender))
        else { return }
        note.answeredHeads = body.heads
        try write(note, of: group)
        let missing = body.heads.filter { !group.log.contains($0) }
        if !missing.isEmpty { try self.note(missing: missing, of: sender, in: group, at: time) }
    }
}

extension StoredGroup {
    /// Returns the heads for a person who asks: all, or for a person who is no member those that the person may know.
    func heads(for person: KeyID) -> [GroupID] {
        let heads =
            state.ranks[log.member(of: person)] == nil ? log.knownHeads(of: person) : log.heads
        return Array(heads.suffix(GroupBody.most))
    }

    /// Returns the place of the last change before the first one that is neither `known` nor by a person.
    func place(knownTo person: KeyID, _ known: Set<GroupID>) -> Int64 {
        let first = log.changes.prefix { known.contains($0.id) || $0.device == person }
        return first.last.flatMap { places[$0.id] } ?? 0
    }

    /// Returns the place of the last change that is not by a person.
    func lastPlace(withoutThoseOf person: KeyID) -> Int64 {
        log.changes.last { $0.device != person }.flatMap { places[$0.id] } ?? 0
    }
}

extension GroupLog {
    /// Returns the ids of the changes that a person asks for with a question for heads, without those that are `known`: the own
    /// changes of a member, and for a person who is no member all that the person may know.
    func changes(
        of person: KeyID, after known: Set<GroupID>, in state: GroupState
    ) -> [GroupID] {
        let isMember = state.ranks[member(of: person)] != nil
        let past = isMember ? [] : past(of: knownHeads(of: person))
        return changes.filter {
            !known.contains($0.id) && (isMember ? $0.device == person : past.contains($0.id))
        }.map(\.id)
    }
}
