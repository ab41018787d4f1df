package import Sotto
import SottoDatabase

/// A group in the state, with its log of changes.
package struct StoredGroup: Sendable {
    /// The owner's place in the group.
    package enum Standing: String, Sendable {
        /// Somebody invited the owner.
        case invited
        case member
        /// The owner left, was removed, or declined the invitation.
        case left
    }

    let number: Int64
    /// The identity that owns the state.
    let owner: SessionID
    package internal(set) var log: GroupLog
    package internal(set) var state: GroupState
    /// Whether the owner declined the invitation.
    package internal(set) var isDeclined = false
    /// The row of each change.
    var rows: [GroupID: Int64]

    /// The id.
    package var id: GroupID { log.group }

    /// The name, or an empty text.
    package var name: String {
        if case .name(let name)? = state.values["name"] { name } else { "" }
    }

    /// Returns the member `details` of a message: the names of the group and of the author in it, at this time.
    func details(of author: SessionID) -> JSONObject {
        [
            "group": .object(
                JSONObject([
                    ("name", .string(name)),
                    ("nickname", state.nicknames[author].map { .string($0) }),
                ]))
        ]
    }

    /// The owner's rank.
    package var rank: GroupRank { state.ranks[owner] ?? .nobody }

    /// The owner's place.
    package var standing: Standing {
        if rank > .nobody { return .member }
        if isDeclined { return .left }
        let hasJoined = log.changes.contains { change in
            guard change.by == owner else { return false }
            switch change.act {
            case .create, .join, .doorJoin: return true
            default: return false
            }
        }
        return hasJoined && !isInvitedAgain ? .left : .invited
    }

    /// Whether an invitation followed the owner's last change.
    private var isInvitedAgain: Bool {
        let last = log.changes.lastIndex { $0.by == owner } ?? -1
        return log.changes[(last + 1)...].contains { change in
            if case .invite(let who, _) = change.act { who.contains(owner) } else { false }
        }
    }

    /// The member who invited the owner, or `nil`.
    package var inviter: SessionID? {
        log.changes.last { change in
            if case .invite(let who, _) = change.act { who.contains(owner) } else { false }
        }?.by
    }

    /// The members, by rank and id, the highest rank first.
    package var members: [(id: SessionID, rank: GroupRank)] {
        state.ranks.map { (id: $0, rank: $1) }.sorted {
            $0.rank != $1.rank
                ? $0.rank > $1.rank : $0.id.description < $1.id.description
        }
    }

    /// The heads that a message names: the owner's last change if it is a head, then those that were stored last.
    package var heads: [GroupID] {
        let heads = log.heads
        let own = heads.filter { id in log.changes.last { $0.by == owner }?.id == id }
        let others = heads.reversed().filter { !own.contains($0) }
        return Array((own + others).prefix(GroupContent.mostHeads))
    }
}

/// The groups.
extension IdentityStore {
    /// Returns all groups, by name.
    package func groups() throws -> [StoredGroup] {
        try preview { transaction in
            try transaction.groupIDs().compactMap { try transaction.group($0) }
        }.sorted { ($0.name.lowercased(), $0.id) < ($1.name.lowercased(), $1.id) }
    }

    /// Returns the keyed hash of a group, 16 bytes.
    func mark(_ group: GroupID) -> [UInt8] {
        keyedHash(Array("group ".utf8) + group.bytes, key: lookupKey)
    }

    /// Returns the keyed hash of a change, 16 bytes.
    func mark(change: GroupID) -> [UInt8] {
        keyedHash(Array("change ".utf8) + change.bytes, key: lookupKey)
    }

    /// Returns the keyed hash of the tag of a chain, 16 bytes.
    func mark(tag: [UInt8]) -> [UInt8] { keyedHash(Array("tag ".utf8) + tag, key: lookupKey) }
}

extension StateTransaction {
    /// The most groups that the state has.
    package static let mostGroups: Int64 = 1_000
    /// The most changes of a group that wait for others.
    static let mostAside: Int64 = 200
    /// Days for which a change waits.
    static let asideDays: Int64 = 30

    /// Returns the ids of all groups.
    package func groupIDs() throws(StateError) -> [GroupID] {
        try connection.rows("SELECT mark, sealed FROM group_log ORDER BY number") {
            row throws(StateError) in
            try self.content(row.bytes(1), mark: row.bytes(0)).id
        }
    }

    private func content(
        _ sealed: [UInt8], mark: [UInt8]
    ) throws(StateError) -> (id: GroupID, isDeclined: Bool) {
        let bytes = try store.unseal(sealed, .group(mark: mark))
        guard bytes.count == 33 else { throw .unsealable(path: store.database.path) }
        return (GroupID(Array(bytes[..<32])), bytes[32] == 1)
    }

    /// Returns a group, or `nil`.
    package func group(_ id: GroupID) throws(StateError) -> StoredGroup? {
        if let known = groups[id] { return known }
        let mark = store.mark(id)
        let found = try connection.first(
            "SELECT number, sealed FROM group_log WHERE mark = ?", mark
        ) { row throws(StateError) in
            (row.integer(0), try self.content(row.bytes(1), mark: mark).isDeclined)
        }
        guard let (number, isDeclined) = found else { return nil }
        let stored = try changes(of: number, aside: false)
        guard let first = stored.first, var log = GroupLog(first.change) else { return nil }
        var rows = [first.change.id: first.row]
        for each in stored.dropFirst() {
            guard log.add(each.change) == .stored else {
                throw .unsealable(path: store.database.path)
            }
            rows[each.change.id] = each.row
        }
        let group = StoredGroup(
            number: number, owner: owner.id, log: log, state: log.fold(), isDeclined: isDeclined,
            rows: rows)
        groups[id] = group
        return group
    }

    private func changes(
        of number: Int64, aside: Bool
    ) throws(StateError) -> [(row: Int64, change: GroupChange)] {
        try connection.rows(
            """
            SELECT number, mark, sealed FROM group_change WHERE team = ? AND aside = ?
            ORDER BY place, number
            """, number, aside ? 1 : 0
        ) { row throws(StateError) in
            let bytes = try store.unseal(row.bytes(2), .groupChange(mark: row.bytes(1)))
            guard let change = try? GroupChange(stored: bytes) else {
                throw .unsealable(path: store.database.path)
            }
            return (row.integer(0), change)
        }
    }

    // MARK: Writing

    /// Creates a group with a policy and values. Throws ``GroupError/tooMany``.
    package func createGroup(
        _ policy: GroupPolicy, _ values: [GroupChange.Value], at time: Timestamp = .now()
    ) throws -> StoredGroup {
        let create = try GroupChange(
            .create(nonce: randomBytes(32), policy), in: nil, by: owner.signingKey, seq: 1,
            parents: [], time: time)
        guard let log = GroupLog(create) else { preconditionFailure("a new group is not stored") }
        var group = try insert(log)
        for value in values { group = try write(.set(value), in: group, at: time) }
        return group
    }

    /// Signs a change by the owner after all heads, and stores it. Throws ``GroupError/refused`` if the rules refuse it or
    /// it has no effect.
    package func write(
        _ act: GroupChange.Act, in group: StoredGroup, at time: Timestamp = .now()
    ) throws -> StoredGroup {
        var group = group
        while group.log.heads.count > GroupChange.mostParents {
            try sign(.merge, in: &group, at: time)
        }
        try sign(act, in: &group, at: time)
        let before = group.state
        group.state = group.log.fold()
        groups[group.id] = group
        try endGrants(of: group, since: before)
        return group
    }

    /// Ends the grants to members who are no members any more, and all if the owner is none.
    private func endGrants(
        of group: StoredGroup, since before: GroupState
    ) throws(StateError) {
        let isOver = before.ranks[owner.id] != nil && group.rank == .nobody
        let gone = before.ranks.keys.filter { isOver || group.state.ranks[$0] == nil }
        for member in gone where member != owner.id {
            var note = try note(of: member, in: group)
            guard note.isGranted || note.hasHistory else { continue }
            (note.isGranted, note.hasHistory) = (false, false)
            try write(note, of: group)
        }
    }

    private func sign(
        _ act: GroupChange.Act, in group: inout StoredGroup, at time: Timestamp
    ) throws {
        let change = try GroupChange(
            act, in: group.id, by: owner.signingKey, seq: group.log.nextSeq(of: owner.id),
            parents: Array(group.log.heads.prefix(GroupChange.mostParents)), time: time)
        guard group.log.add(change) == .stored else { throw GroupError.refused }
        group.rows[change.id] = try store(change, of: group.number, aside: false, time)
    }

    /// Records that the owner declines an invitation, or takes that back.
    package func decline(_ group: StoredGroup, _ isDeclined: Bool = true) throws(StateError) {
        var group = group
        group.isDeclined = isDeclined
        groups[group.id] = group
        let mark = store.mark(group.id)
        try connection.run(
            "UPDATE group_log SET sealed = ? WHERE number = ?",
            store.seal(group.id.bytes + [isDeclined ? 1 : 0], .group(mark: mark)), group.number)
    }

    private func insert(_ log: GroupLog) throws -> StoredGroup {
        guard try connection.integer("SELECT count(*) FROM group_log") < Self.mostGroups else {
            throw GroupError.tooMany
        }
        let mark = store.mark(log.group)
        try connection.run(
            "INSERT INTO group_log (mark, sealed) VALUES (?, ?)", mark,
            store.seal(log.group.bytes + [0], .group(mark: mark)))
        var group = StoredGroup(
            number: connection.lastRow, owner: owner.id, log: log, state: log.fold(), rows: [:])
        group.rows[log.group] = try store(log.changes[0], of: group.number, aside: false, .now())
        groups[group.id] = group
        return group
    }

    /// Stores a change; a change that waited becomes a stored one. Returns its row.
    private func store(
        _ change: GroupChange, of number: Int64, aside: Bool, _ time: Timestamp
    ) throws(StateError) -> Int64 {
        let mark = store.mark(change: change.id)
        // Stored changes are read in the order in which they were stored.
        let place = try connection.integer(
            "SELECT coalesce(max(place), 0) + 1 FROM group_change WHERE team = ?", number)
        try connection.run(
            """
            INSERT INTO group_change (team, mark, aside, place, time, sealed)
            VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (mark) DO UPDATE SET aside = excluded.aside, place = excluded.place
            """, number, mark, aside ? 1 : 0, place, time.seconds,
            store.seal(change.bytes, .groupChange(mark: mark)))
        return place
    }

    // MARK: Receiving

    /// Adds received changes, whose signatures were verified, in any order. A change waits for its parents, and that of
    /// somebody who is nobody waits until a member names it. Returns the stored ones, and the ids that are missing.
    ///
    /// Changes of an unknown group are stored only with its first change. Throws ``GroupError``.
    package func receive(
        _ changes: [GroupChange], of id: GroupID, at time: Timestamp = .now()
    ) throws -> (stored: [GroupChange], missing: [GroupID]) {
        var group: StoredGroup
        var stored: [GroupChange] = []
        if let known = try self.group(id) {
            group = known
        } else {
            guard let first = changes.first(where: { $0.id == id }), let log = GroupLog(first)
            else { throw GroupError.unknown }
            group = try insert(log)
            stored.append(first)
        }
        let waiting = try self.changes(of: group.number, aside: true)
        var pending = changes.filter { $0.group == id && !group.log.contains($0.id) }
        let known = Set(pending.map(\.id))
        pending += waiting.map(\.change).filter { !known.contains($0.id) }
        let isNew = !stored.isEmpty
        let before = group.state
        var aside: [GroupChange] = []
        var hasProgress = true
        while hasProgress, !pending.isEmpty {
            hasProgress = false
            aside = []
            // The changes that those of members name. All of an invitation's changes count as named.
            let members = group.state.ranks
            let named =
                isNew ? nil : Set(pending.filter { members[$0.by] != nil }.flatMap(\.parents))
            for change in pending {
                switch try add(
                    change, to: &group, isNamed: named?.contains(change.id) ?? true, time)
                {
                case .stored:
                    stored.append(change)
                    hasProgress = true
                case .waits: aside.append(change)
                case .known, .refused: break
                }
            }
            pending = aside
        }
        try setAside(pending, in: group, time)
        group.state = group.log.fold()
        groups[id] = group
        try endGrants(of: group, since: before)
        let waitingIDs = Set(pending.map(\.id))
        let missing = Set(pending.flatMap(\.parents)).filter {
            !group.log.contains($0) && !waitingIDs.contains($0)
        }
        return (stored, missing.sorted())
    }

    private enum Added { case stored, waits, known, refused }

    private func add(
        _ change: GroupChange, to group: inout StoredGroup, isNamed: Bool, _ time: Timestamp
    ) throws(StateError) -> Added {
        var log = group.log
        switch log.add(change) {
        case .known: return .known
        case .refused: return .refused
        case .waits: return .waits
        case .stored: break
        }
        if !isNamed, (group.state.ranks[change.by] ?? .nobody) == .nobody {
            // A late change of a former member, or a newcomer. Only an invited newcomer is a member after it.
            if case .doorJoin = change.act { return .waits }
            guard log.fold().ranks[change.by] != nil else { return .waits }
        }
        group.log = log
        group.rows[change.id] = try store(change, of: group.number, aside: false, time)
        if group.rows.count < 100 || isNamed { group.state = log.fold() }
        return .stored
    }

    /// Keeps changes that wait, the newest ``mostAside`` of a group for ``asideDays``.
    private func setAside(
        _ changes: [GroupChange], in group: StoredGroup, _ time: Timestamp
    ) throws(StateError) {
        for change in changes {
            let isKept = try connection.exists(
                "SELECT 1 FROM group_change WHERE mark = ?", store.mark(change: change.id))
            if !isKept { _ = try store(change, of: group.number, aside: true, time) }
        }
        try connection.run(
            """
            DELETE FROM group_change WHERE team = ?1 AND aside = 1 AND (time < ?2 OR place <= (
                SELECT place FROM group_change WHERE team = ?1 AND aside = 1
                ORDER BY place DESC LIMIT 1 OFFSET ?3))
            """, group.number, time.seconds - Self.asideDays * Self.day, Self.mostAside)
    }
}

/// A reason why a group cannot be changed or used.
package enum GroupError: Error, Sendable, Equatable {
    /// The state has no such group.
    case unknown
    /// The state has too many groups.
    case tooMany
    /// The rules of the group refuse the change.
    case refused
    /// The owner is not a member.
    case notMember
    /// The owner's rank is too low to write messages.
    case mayNotPost
}
