package import Sotto
import SottoDatabase

/// Received changes of groups.
extension StateTransaction {
    /// The most changes of a group that wait for others.
    static let mostAside: Int64 = 200
    /// Days for which a change waits.
    static let asideDays: Int64 = 30

    /// Adds received changes, whose signatures were verified, in any order. A change waits for its parents. A change
    /// of a person without a rank waits until a change of a member names it. Returns the stored ones, and the ids that are missing.
    ///
    /// `named` are changes that a message of a member names. Changes of an unknown group are stored only with its first
    /// change. Throws ``GroupError``.
    package func receive(
        _ changes: [GroupChange], of id: GroupID, named heads: [GroupID] = [],
        at time: Timestamp = .now()
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
        // All changes of an invitation count as named by a member.
        let isNew = !stored.isEmpty
        var count: Int
        repeat {
            count = pending.count
            let members = group.state.ranks
            let named = Self.past(
                of: pending.filter { members[$0.by] != nil }.flatMap(\.parents) + heads,
                among: pending)
            var aside: [GroupChange] = []
            for change in pending {
                let isTrusted =
                    isNew || named.contains(change.id) || group.state.ranks[change.by] != nil
                switch try add(change, to: &group, isTrusted: isTrusted, time) {
                case .stored:
                    stored.append(change)
                    if !isNew, change.act.isCut { try fold(&group) }
                case .waits: aside.append(change)
                case .known, .refused: break
                }
            }
            pending = aside
            // Newcomers of this pass are members in the next one.
            if pending.count < count { try fold(&group) }
        } while pending.count < count && !pending.isEmpty
        try setAside(pending, in: group, time)
        let waitingIDs = Set(pending.map(\.id))
        let missing = Set(pending.flatMap(\.parents)).filter {
            !group.log.contains($0) && !waitingIDs.contains($0)
        }
        return (stored, missing.sorted())
    }

    /// Returns some ids, and those of the changes before them, as far as they are among `changes`.
    private static func past(of ids: [GroupID], among changes: [GroupChange]) -> Set<GroupID> {
        let parents = Dictionary(changes.map { ($0.id, $0.parents) }) { first, _ in first }
        var past = Set(ids)
        var next = ids
        while let id = next.popLast() {
            next += (parents[id] ?? []).filter { past.insert($0).inserted }
        }
        return past
    }

    /// Adds a change to the log. A change that is not trusted, because its author has no rank, is stored only if it
    /// makes its author a member; a `door-join` waits too.
    private func add(
        _ change: GroupChange, to group: inout StoredGroup, isTrusted: Bool, _ time: Timestamp
    ) throws(StateError) -> GroupLog.Outcome {
        let outcome: GroupLog.Outcome
        if isTrusted {
            outcome = group.log.add(change)
        } else {
            var log = group.log
            outcome = log.add(change)
            if outcome == .stored {
                guard case .join = change.act, log.fold().ranks[change.by] != nil else {
                    return .waits([])
                }
                group.log = log
            }
        }
        guard outcome == .stored else { return outcome }
        group.places[change.id] = try store(change, of: group.number, aside: false, time)
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
