package import Sotto
import SottoDatabase

/// Changes that the owner signs, and the storage of changes.
extension StateTransaction {
    /// Creates a group with a policy and values. Throws ``GroupError/tooMany``.
    package func createGroup(
        _ policy: GroupPolicy, _ values: [GroupChange.Value],
        continues group: StoredGroup? = nil, at time: Timestamp = .now()
    ) throws -> StoredGroup {
        guard owner.owner == nil else { throw GroupError.firstDevice }
        let continued = group.map { GroupChange.Continuation(group: $0.id, heads: $0.heads) }
        let create = try GroupChange(
            .create(nonce: randomBytes(32), policy, continues: continued), in: nil,
            by: owner.signingKey, seq: 1, parents: [], time: time)
        guard let log = GroupLog(create) else { preconditionFailure("a new group is not stored") }
        var group = try insert(log)
        for value in values { group = try write(.set(value), in: group, at: time) }
        return group
    }

    /// Signs a change by the owner after all heads, and stores it. Throws ``GroupError/refused`` if the rules refuse it or
    /// it has no effect, and ``GroupError/doubtful(id:)``.
    package func write(
        _ act: GroupChange.Act, in group: StoredGroup, at time: Timestamp = .now()
    ) throws -> StoredGroup {
        guard !group.isDoubtful else { throw GroupError.doubtful(id: group.id.short) }
        guard try owner.owner == nil || !act.needsIdentity && !handsOver() else {
            throw GroupError.firstDevice
        }
        guard group.isListed else { throw GroupError.unlisted(id: group.id.short) }
        // A restored group without other members needs no confirmation.
        var group = group.isNewcomer ? group : try confirm(group)
        if let heads = group.headsForRemoval(of: act.removed) {
            try sign(act, after: heads, in: &group, at: time)
        } else {
            while group.log.heads.count > GroupChange.mostParents {
                try sign(.merge, after: group.log.heads, in: &group, at: time)
            }
            try sign(act, after: group.log.heads, in: &group, at: time)
        }
        try fold(&group)
        return group
    }

    /// Enters a group after an invitation. Its log came from the inviter alone, so two other members, whom chance chooses, are
    /// asked for their heads. Throws ``GroupError/refused`` without a valid invitation.
    package func join(
        _ group: StoredGroup, _ entry: GroupChange.Entry, at time: Timestamp = .now()
    ) throws -> StoredGroup {
        var joined = try write(.join(entry), in: group, at: time)
        guard joined.standing == .member else { throw GroupError.refused }
        guard joined.question == nil, joined.hasMembersBesidesInviter else { return joined }
        joined.question = randomBytes(GroupBody.questionBytes)
        joined.isNewcomer = true
        groups[joined.id] = joined
        try writeHeader(of: joined)
        try draw(in: &joined)
        return joined
    }

    /// The number of members whom a newcomer asks for heads, and the questions without an answer after which another one is
    /// drawn in place of a member.
    private static let mostDrawn = 2
    private static let mostUnanswered: UInt8 = 4

    /// Draws members whom the owner, a newcomer, asks for their heads: at random, because the inviter can make ids that come
    /// first in any order. The draw is stored. Others replace those who left or do not answer.
    func draw(in group: inout StoredGroup) throws(StateError) {
        guard group.isNewcomer else { return }
        let members = group.membersBesidesThoseOfInviter
        var missing = Self.mostDrawn
        for id in group.drawn where members.contains(id) {
            if try note(of: id, in: group).asks < Self.mostUnanswered { missing -= 1 }
        }
        let others = members.filter { !group.drawn.contains($0) }.shuffled()
        guard missing > 0, !others.isEmpty else { return }
        group.drawn += others.prefix(missing)
        groups[group.id] = group
        try writeHeader(of: group)
    }

    /// Ends the doubt about a group. Returns the group.
    package func confirm(_ group: StoredGroup) throws(StateError) -> StoredGroup {
        guard group.question != nil else { return group }
        var group = group
        (group.question, group.isNewcomer, group.drawn) = (nil, false, [])
        groups[group.id] = group
        try writeHeader(of: group)
        return group
    }

    /// Folds the log of a group after changes were stored.
    func fold(_ group: inout StoredGroup) throws(StateError) {
        let before = group.state
        let header = GroupHeader(group)
        let known = groups[group.id]?.log
        noteForks(in: group)
        group.state = group.log.fold()
        let isOver = before.ranks[owner.id] != nil && group.rank == .nobody
        let isOtherRule = before.policy.visibility != group.state.policy.visibility
        if isOver || isOtherRule { group.showsToNewcomers = false }
        groups[group.id] = group
        if GroupHeader(group) != header { try writeHeader(of: group) }
        try draw(in: &group)
        try endGrants(of: group, since: before, known, isOver: isOver)
        try grantNewcomers(of: group, since: known)
        try oweMessages(of: group, since: before)
    }

    /// Notes the forks that the log did not have before.
    private func noteForks(in group: StoredGroup) {
        let known = groups[group.id]?.log.forks.count ?? 0
        for (first, _) in group.log.forks.dropFirst(known) {
            guard let change = group.log.changes.first(where: { $0.id == first }) else { continue }
            forks.append(GroupFork(group: group.id, device: change.device))
        }
    }

    /// Returns the forks that were learned since the last call.
    package func takeForks() -> [GroupFork] {
        defer { forks = [] }
        return forks
    }

    func writeHeader(of group: StoredGroup) throws(StateError) {
        try connection.run(
            "UPDATE group_log SET sealed = ? WHERE number = ?",
            store.seal(GroupHeader(group).encoded, .group(mark: store.mark(group.id))),
            group.number)
    }

    /// Ends the grants to members who are no members any more or have entered again, and all if the owner's membership `isOver`.
    /// `log` is the log with the state `before`.
    private func endGrants(
        of group: StoredGroup, since before: GroupState, _ log: GroupLog?, isOver: Bool
    ) throws(StateError) {
        let gone = before.ranks.keys.filter { member in
            isOver || group.state.ranks[member] == nil
                || log.map { $0.entry(of: member) != group.log.entry(of: member) } ?? false
        }
        for member in gone where member != owner.id {
            if !isOver, group.state.ranks[member] == nil {
                formerMembers[group.id, default: []].insert(member)
            }
            var note = try note(of: member, in: group)
            guard note.isGranted || note.hasHistory else { continue }
            (note.isGranted, note.hasHistory) = (false, false)
            try write(note, of: group)
        }
        // A person who entered again may have deleted the present chain, and can be removed again before the next message. So
        // that message begins a new chain.
        for member in group.state.ranks.keys where before.ranks[member] == nil {
            if try note(of: member, in: group).holds > 0 { return try endOwnChain(of: group) }
        }
    }

    /// Shows the owner's messages to the members who entered for the first time since an earlier log, if the owner decided so. Who
    /// was a member before needs a grant, because messages can be about the removal: also if both joins arrive at once.
    private func grantNewcomers(
        of group: StoredGroup, since log: GroupLog?
    ) throws(StateError) {
        guard group.showsToNewcomers, !group.isDoubtful, let log else { return }
        for member in group.state.ranks.keys
        where group.mayGrant(to: member) && !log.hasEntered(member) {
            let entries = group.log.changes.count { $0.by == member && $0.act.isEntry }
            guard entries == 1 else { continue }
            try grant(member, in: group)
        }
    }

    /// Decides whether members who join from now on may read the owner's messages. The grants to present members stay.
    package func show(
        toNewcomersOf group: StoredGroup, _ shows: Bool
    ) throws(StateError) -> StoredGroup {
        var group = group
        group.showsToNewcomers = shows
        groups[group.id] = group
        try writeHeader(of: group)
        return group
    }

    private func sign(
        _ act: GroupChange.Act, after heads: [GroupID], in group: inout StoredGroup,
        at time: Timestamp
    ) throws {
        // The own last change comes first: the limit of the number of parents must not cut it off.
        let last = group.log.changes.last { $0.device == owner.device }?.id
        let isFirst = heads.count > GroupChange.mostParents || heads.contains { $0 == last }
        let parents = (isFirst ? [last].compactMap(\.self) : []) + heads.filter { $0 != last }
        let change = try GroupChange(
            act, in: group.id, by: owner.signingKey, of: owner.id,
            seq: group.log.nextSeq(of: owner.device),
            parents: Array(parents.prefix(GroupChange.mostParents)), time: time)
        guard group.log.add(change) == .stored else { throw GroupError.refused }
        group.places[change.id] = try store(change, of: group.number, aside: false, time)
    }

    /// Records that the owner declines an invitation, or takes that back.
    package func decline(_ group: StoredGroup, _ isDeclined: Bool = true) throws(StateError) {
        var group = group
        group.isDeclined = isDeclined
        groups[group.id] = group
        try writeHeader(of: group)
    }

    func insert(_ log: GroupLog) throws -> StoredGroup {
        guard try connection.integer("SELECT count(*) FROM group_log") < Self.mostGroups else {
            throw GroupError.tooMany
        }
        try connection.run(
            "INSERT INTO group_log (mark, sealed) VALUES (?, x'')", store.mark(log.group))
        return try begin(log, number: connection.lastRow)
    }

    /// Stores the first change of the group with a number, whose other changes are not here.
    func begin(_ log: GroupLog, number: Int64) throws(StateError) -> StoredGroup {
        var group = StoredGroup(
            number: number, owner: owner.id, device: owner.device, log: log, state: log.fold(),
            places: [:])
        group.places[log.group] = try store(log.changes[0], of: group.number, aside: false, .now())
        groups[group.id] = group
        try writeHeader(of: group)
        return group
    }

    /// Returns the place of the next change of a group.
    func nextPlace(of number: Int64) throws(StateError) -> Int64 {
        // Two look-ups in the index; one for both kinds of changes would read all entries of the group.
        try connection.integer(
            """
            SELECT max(place) + 1 FROM (
                SELECT coalesce(max(place), 0) AS place FROM group_change
                WHERE group_id = ?1 AND aside = 0
                UNION ALL SELECT max(place) FROM group_change WHERE group_id = ?1 AND aside = 1)
            """, number)
    }

    /// Stores a change; a change that waited becomes a stored one. Returns its place.
    func store(
        _ change: GroupChange, of number: Int64, aside: Bool, _ time: Timestamp
    ) throws(StateError) -> Int64 {
        let place = try nextPlace(of: number)
        try store(change, of: number, aside: aside, at: place, time)
        return place
    }

    /// Stores a change at a place, which is ``nextPlace(of:)`` or a higher one.
    func store(
        _ change: GroupChange, of number: Int64, aside: Bool, at place: Int64, _ time: Timestamp
    ) throws(StateError) {
        let mark = store.mark(change: change.id)
        waitingChanges[number] = nil
        // The change can give a nickname.
        memberNames = [:]
        try connection.run(
            """
            INSERT INTO group_change (group_id, mark, aside, place, time, sealed)
            VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (mark) DO UPDATE SET
                aside = excluded.aside, place = excluded.place, time = excluded.time
            """, number, mark, aside ? 1 : 0, place, time.seconds,
            store.seal(change.bytes, .groupChange(mark: mark)))
    }
}
