/// A change that gives a member a rank.
struct GroupGrant: Sendable {
    let change: Int
    let gives: GroupRank
    let isRole: Bool
    /// Whether it counts without a `join` of the member.
    let needsConsent: Bool
    let isDoorJoin: Bool
}

/// A change that takes grants of a member away.
struct GroupCut: Sendable {
    let change: Int
    /// The highest rank that stays.
    let leaves: GroupRank
    /// Whether the member made it.
    let isOwn: Bool
    /// Whether it also forbids later grants of lower ranks.
    let isLasting: Bool
}

/// The changes that concern one member, each list in order.
struct GroupMemberChanges: Sendable {
    /// The changes that the member made.
    var own: [Int] = []
    /// Those of ``own`` that give ownership.
    var ownershipGifts: [Int] = []
    var cuts: [GroupCut] = []
    var joins: [Int] = []
    var leaves: [Int] = []
}

/// The grants of one rank to one member that can count, and the cuts that can take them away.
///
/// For a change c of the member, a cut takes a grant g before c away if it is neither before g, nor c, nor after c. As c is
/// after g, that is so if the last cut that is neither c nor after c has a higher number than g, or if a cut with a lower
/// number than g is not before g. Both are known without comparing each grant with each cut.
struct GroupCandidates: Sendable {
    /// A grant that is effective, and that no cut takes away whatever it is needed for.
    private struct Candidate {
        let change: Int
        /// Whether it counts without a later `join`.
        let isConsented: Bool
        /// Whether all own cuts with a lower number are before it.
        let hasNoOwnCut: Bool
        /// The number of own cuts before it, if ownership gifts need it.
        let ownCuts: Int
    }

    private let rank: GroupRank
    private let cuts: [GroupCut]
    /// The cuts of the member and those of others.
    private let own: ChangeSet
    private let others: ChangeSet
    /// The lasting cuts of others, by their power.
    private var lasting: [GroupRank: ChangeSet] = [:]
    private let countsOwnCuts: Bool
    private var candidates: [Candidate] = []
    private var joined: GroupCover
    private var left: GroupCover

    init(_ rank: GroupRank, of member: GroupMemberChanges, power: [GroupRank]) {
        self.rank = rank
        // Only a higher rank takes a rank away, so the powers are known.
        cuts = member.cuts.filter { cut in
            cut.leaves < rank
                && (cut.isOwn || power[cut.change] >= .moderator && power[cut.change] > rank)
        }
        own = ChangeSet(cuts.filter(\.isOwn).map(\.change))
        others = ChangeSet(cuts.filter { !$0.isOwn }.map(\.change))
        for cut in cuts where !cut.isOwn && cut.isLasting {
            lasting[power[cut.change], default: ChangeSet()].insert(cut.change)
        }
        countsOwnCuts = !member.ownershipGifts.isEmpty
        joined = GroupCover(member.joins)
        left = GroupCover(member.leaves)
    }

    /// Stores for the member's changes the last cut that is neither the change nor after it. For a gift of ownership, only
    /// cuts of others are meant.
    func findLastCuts(
        of member: GroupMemberChanges, in graph: GroupGraph, _ last: inout [Int]
    ) {
        guard !cuts.isEmpty else { return }
        var gifts = ChangeSet(member.ownershipGifts)
        var changes = ChangeSet(member.own)
        changes.remove(notIn: ChangeSet(member.own.filter { !gifts.contains($0) }), except: -1) {
            _ in
        }
        for cut in cuts.reversed() {
            let ancestors = graph.ancestors[cut.change]
            changes.remove(notIn: ancestors, except: cut.change) { last[$0] = cut.change }
            if countsOwnCuts, !cut.isOwn {
                gifts.remove(notIn: ancestors, except: cut.change) { last[$0] = cut.change }
            }
        }
    }

    /// Adds an effective grant, unless it never counts.
    mutating func add(_ grant: GroupGrant, power: GroupRank, in graph: GroupGraph) {
        let ancestors = graph.ancestors[grant.change]
        guard others.isSubset(of: ancestors, below: grant.change) else { return }
        if grant.isDoorJoin, others.intersects(ancestors) { return }
        for (rank, cuts) in lasting where rank > power && cuts.intersects(ancestors) { return }
        candidates.append(
            Candidate(
                change: grant.change,
                isConsented: !grant.needsConsent || grant.isRole && wasMember(at: grant, in: graph),
                hasNoOwnCut: own.isSubset(of: ancestors, below: grant.change),
                ownCuts: countsOwnCuts ? own.count(in: ancestors) : 0))
    }

    /// Whether the member joined before a grant and did not leave since.
    private mutating func wasMember(at grant: GroupGrant, in graph: GroupGraph) -> Bool {
        guard joined.hasAny(before: grant.change, in: graph) else { return false }
        left.extend(to: grant.change, in: graph)
        return joined.changes.contains {
            graph.isBefore($0, grant.change) && !left.ancestors.contains($0)
        }
    }

    /// Whether the member has the rank for a change. `last` is the last cut that is neither the change nor after it, or -1.
    mutating func count(
        for number: Int, isGift: Bool, last: Int, in graph: GroupGraph
    ) -> Bool {
        let ownCuts = isGift ? own.count(in: graph.ancestors[number]) : 0
        var isExtended = false
        for candidate in candidates.reversed() {
            guard candidate.change > last else { return false }
            guard isGift ? candidate.ownCuts == ownCuts : candidate.hasNoOwnCut,
                graph.isBefore(candidate.change, number)
            else { continue }
            if candidate.isConsented { return true }
            if !isExtended { joined.extend(to: number, in: graph) }
            isExtended = true
            if joined.ancestors.contains(candidate.change) { return true }
        }
        return false
    }

    /// The grants that no cut of the log takes away.
    var standing: [GroupStanding] {
        let last = cuts.last?.change ?? -1
        return candidates.filter { $0.change > last && $0.hasNoOwnCut }.map { candidate in
            GroupStanding(
                change: candidate.change, rank: rank, isConsented: candidate.isConsented)
        }
    }
}

/// A grant that no change of the log takes away.
struct GroupStanding: Sendable {
    let change: Int
    let rank: GroupRank
    /// Whether it counts without a later `join`.
    let isConsented: Bool
}

/// The ancestors of those of some changes that are before a change.
struct GroupCover: Sendable {
    let changes: [Int]
    private(set) var ancestors = ChangeSet()
    private var end: Int?

    init(_ changes: [Int]) { self.changes = changes }

    /// Whether any of the changes is before a change.
    func hasAny(before number: Int, in graph: GroupGraph) -> Bool {
        changes.contains { graph.isBefore($0, number) }
    }

    /// Finds the ancestors for another change. That is little work if the change is after the one before.
    mutating func extend(to number: Int, in graph: GroupGraph) {
        guard end != number else { return }
        let known = end.flatMap { graph.isBefore($0, number) ? $0 : nil }
        if known == nil { ancestors = ChangeSet() }
        end = number
        for change in changes.reversed()
        where graph.isBefore(change, number) && !ancestors.contains(change) {
            if let known, graph.isBefore(change, known) { continue }
            ancestors.formUnion(graph.ancestors[change])
        }
    }
}
