import Sotto

/// The changes before a removal. A person can have shown some of them to its author alone, and without them nobody else can fold
/// the removal. So they go with it, within limits, and a removal does not come after more of them than that.
enum ChangesBeforeCut {
    /// The most of these changes, and their bytes: with the removal they fit one body.
    private static let most = 256
    private static let mostBytes = 12 << 10

    /// Returns the first of some changes within the limits.
    static func first(of changes: some Sequence<GroupChange>) -> [GroupChange] {
        var bytes = 0
        return changes.prefix(most).prefix { change in
            bytes += change.bytes.count
            return bytes <= mostBytes
        }
    }
}

extension StoredGroup {
    /// The most parents of a removal of members: many would leave little space for its limits.
    static let mostHeadsOfCut = 16

    /// Returns the parents of a change that removes people, or of another one in a full log, if they are not all heads: not the last
    /// changes of these people and of former members if those are too many to go with the removal. Other members may not have
    /// them, and would not store the removal.
    func headsForRemoval(of people: [KeyID]) -> [GroupID]? {
        guard !people.isEmpty || log.isFull else { return nil }
        let former = log.members.filter { state.ranks[$0] == nil }
        let (heads, left) = log.heads(without: Set(people).union(former))
        guard
            log.isFull
                || ChangesBeforeCut.first(of: left).count < left.count
                    && heads.count <= Self.mostHeadsOfCut
        else { return nil }
        // A former member can have given the owner the rank.
        let power = log.rank(
            of: owner, device: device, at: heads, chain: [], iteration: 0, in: state
        ).rank
        return power >= rank ? heads : nil
    }
}

extension GroupDues {
    /// Returns the changes of other people that go with those of the owner's `changes` that take ranks away. They are before one of
    /// these, but neither before an earlier one that the person was `told`, nor before a change of an admin, who sends changes to
    /// all. Those of the people whose ranks change precede others, and new ones precede old ones.
    func changes(beforeCutsIn changes: [GroupChange], told: Int64) -> [GroupChange] {
        let log = group.log
        let cuts = changes.filter { $0.by == group.owner && $0.act.isCut }
        guard !cuts.isEmpty else { return [] }
        let known = log.changes.filter { change in
            change.by == group.owner
                ? change.act.isCut && group.places[change.id] ?? 0 <= told
                : group.state.ranks[change.by] ?? .nobody >= .admin
        }
        let own = Set(self.told.map(\.id))
        let before = log.changes(before: cuts.map(\.id), notBefore: known.map(\.id)).filter {
            $0.by != group.owner && !own.contains($0.id)
        }
        let people = Set(cuts.flatMap(\.act.lowered))
        let theirs: [GroupChange] = before.filter { people.contains($0.by) }.reversed()
        let others: [GroupChange] = before.filter { !people.contains($0.by) }.reversed()
        return ChangesBeforeCut.first(of: theirs + others)
    }
}
