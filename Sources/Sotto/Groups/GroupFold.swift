/// The state of a group after a log of changes.
///
/// The log is a directed acyclic graph, and concurrent changes have no order. The fold gives all replicas with the same
/// changes the same state. Only changes before a change can authorise it. All changes that are not after it can forbid
/// it. sotto-formats(5), GROUPS, has the rules.
package struct GroupFold: Sendable {
    /// For each change the power that its author had for it.
    package private(set) var power: [GroupRank]
    /// For each member, by number, the rank at the end of the log.
    package private(set) var ranks: [GroupRank]
    /// The effective policies that are before no other effective one.
    package private(set) var policies: [Int] = []
    /// The policy at the end of the log: the highest ranks of ``policies``, and their door if it is the same.
    package private(set) var policy = GroupRules.Policy(add: .owner, edit: .owner)

    /// The devices that the changes of the log are by.
    let devices: GroupDevices
    private let memberCount: Int
    private var members: [GroupMemberChanges]
    /// For each rank the grants that give it, in order.
    private var grants: [[(member: Int, grant: GroupGrant)]]
    private var governing = GoverningPolicies()
    /// For each invitation, `door-join` and value, whether it is effective, once that is known.
    private var isAllowed: [Bool?]
    /// For each member the grants that no change takes away, the highest rank first.
    private var standing: [[GroupStanding]]

    /// Folds a log.
    package init(_ log: GroupRules) {
        let changes = log.changes
        devices = GroupDevices(log)
        memberCount = log.memberCount
        power = Array(repeating: .nobody, count: changes.count)
        ranks = Array(repeating: .nobody, count: memberCount)
        members = Array(repeating: GroupMemberChanges(), count: memberCount)
        grants = Array(repeating: [], count: GroupRank.allCases.count)
        isAllowed = Array(repeating: nil, count: changes.count)
        standing = Array(repeating: [], count: memberCount)
        for (number, change) in changes.enumerated() where !devices.isVoid.contains(number) {
            index(number, change)
        }
        // A pass needs only what higher passes and earlier changes decided.
        for rank in GroupRank.allCases.reversed() where rank > .nobody {
            // Only owners and admins change policies.
            if rank == .moderator { findPolicies(log) }
            pass(rank, log)
        }
        for number in changes.indices where !devices.isVoid.contains(number) {
            if case .set = changes[number].act {
                isAllowed[number] = power[number] >= demand(on: number, log).edit
            }
        }
        findPolicy(log)
        governing = GoverningPolicies()
        grants = []
    }

    private mutating func index(_ number: Int, _ change: GroupRules.Change) {
        let author = change.author
        members[author].own.append(number)
        func cut(_ member: Int, _ leaves: GroupRank, isLasting: Bool = false) {
            members[member].cuts.append(
                GroupCut(
                    change: number, leaves: leaves, isOwn: member == author, isLasting: isLasting))
        }
        func grant(
            _ member: Int, _ gives: GroupRank, isRole: Bool = false, needsConsent: Bool = true,
            isDoorJoin: Bool = false
        ) {
            let grant = GroupGrant(
                change: number, gives: gives, isRole: isRole, needsConsent: needsConsent,
                isDoorJoin: isDoorJoin)
            grants[gives.rawValue].append((member, grant))
        }
        switch change.act {
        case .create:
            grant(author, .owner, needsConsent: false)
            members[author].joins.append(number)
        case .invite(let invited, let rank): for member in invited { grant(member, rank) }
        case .join: members[author].joins.append(number)
        case .doorJoin:
            grant(author, .member, needsConsent: false, isDoorJoin: true)
            members[author].joins.append(number)
        case .leave:
            cut(author, .nobody)
            members[author].leaves.append(number)
        case .remove(let removed):
            for member in removed where member != author { cut(member, .nobody) }
        case .ban(let banned):
            for member in banned where member != author { cut(member, .nobody, isLasting: true) }
        case .role(let member, let rank):
            grant(member, rank, isRole: true)
            cut(member, rank, isLasting: rank <= .reader)
            if rank == .owner { members[author].ownershipGifts.append(number) }
        case .policy, .set, .other, .devices: break
        }
    }

    // MARK: Passes

    /// Decides which changes have exactly a power, and which members have exactly a rank.
    private mutating func pass(_ rank: GroupRank, _ log: GroupRules) {
        let granted = grants[rank.rawValue]
        var last = Array(repeating: -1, count: log.changes.count)
        var candidates: [GroupCandidates?] = Array(repeating: nil, count: memberCount)
        for (member, _) in granted where candidates[member] == nil {
            let made = GroupCandidates(rank, of: members[member], power: power)
            made.findLastCuts(of: members[member], in: log.graph, &last)
            candidates[member] = made
        }
        var next = 0
        for (number, change) in log.changes.enumerated() {
            if power[number] == .nobody, !devices.isVoid.contains(number),
                candidates[change.author]?.count(
                    for: number, isGift: change.act.givesOwnership, last: last[number],
                    in: log.graph) ?? false
            {
                power[number] = devices.isNew.contains(number) ? min(rank, .member) : rank
            }
            if rank == .member, change.admits { isAllowed[number] = admits(number, log) }
            while next < granted.count, granted[next].grant.change == number {
                if isEffective(number, log) {
                    candidates[granted[next].member]?.add(
                        granted[next].grant, power: power[number], in: log.graph)
                }
                next += 1
            }
        }
        for member in candidates.indices {
            if let candidates = candidates[member] { close(candidates, of: member, rank, log) }
        }
    }

    /// Sets the rank of a member at the end of the log.
    private mutating func close(
        _ candidates: GroupCandidates, of member: Int, _ rank: GroupRank, _ log: GroupRules
    ) {
        let grants = candidates.standing
        guard !grants.isEmpty else { return }
        standing[member] += grants
        guard ranks[member] == .nobody else { return }
        let joins = log.graph.past(of: members[member].joins)
        if grants.contains(where: { $0.isConsented || joins.contains($0.change) }) {
            ranks[member] = rank
        }
    }

    // MARK: Effects

    /// Whether a change may do what it does, once all higher powers are known.
    private func isEffective(_ number: Int, _ log: GroupRules) -> Bool {
        let power = power[number]
        switch log.changes[number].act {
        case .invite, .doorJoin, .set: return isAllowed[number] ?? false
        case .role(_, let rank):
            return power >= .moderator && power > rank || power == .owner && rank == .owner
        case .policy: return power >= .admin
        case .create, .join, .leave, .remove, .ban, .other, .devices: return true
        }
    }

    /// Whether an invitation, a `door-join` or the setting of a value is effective.
    package func isEffective(_ number: Int) -> Bool { isAllowed[number] ?? false }

    /// Whether an invitation or a `door-join` is effective.
    private mutating func admits(_ number: Int, _ log: GroupRules) -> Bool {
        if case .doorJoin(let door) = log.changes[number].act {
            return demand(on: number, log).opens(door)
        }
        let power = power[number]
        return power >= .member && power >= demand(on: number, log).add
    }

    private mutating func demand(
        on number: Int, _ log: GroupRules
    ) -> GoverningPolicies.Demand { governing.demand(on: number, in: log) }

    private mutating func findPolicies(_ log: GroupRules) {
        let effective = log.changes.indices.filter {
            log.changes[$0].act.policy != nil && isEffective($0, log)
        }
        governing = GoverningPolicies(effective)
    }

    private mutating func findPolicy(_ log: GroupRules) {
        policies = log.graph.latest(of: governing.changes)
        let latest = policies.compactMap { log.changes[$0].act.policy }
        guard var strictest = latest.first else { return }
        for policy in latest.dropFirst() {
            strictest.add = max(strictest.add, policy.add)
            strictest.edit = max(strictest.edit, policy.edit)
            if policy.door != strictest.door { strictest.door = nil }
        }
        policy = strictest
    }

    // MARK: Messages

    /// Returns the power of a change that has no effect, by a member, after some changes. `past` are these and all before
    /// them. It is not in the log.
    package func power(of member: Int, after past: ChangeSet, in graph: GroupGraph) -> GroupRank {
        guard member < standing.count else { return .nobody }
        let joins = members[member].joins.filter { past.contains($0) }
        return standing[member].first { grant in
            past.contains(grant.change)
                && (grant.isConsented || joins.contains { graph.isBefore(grant.change, $0) })
        }?.rank ?? .nobody
    }

    /// Whether a `join` of a member after some changes makes the author a member. It is not in the log.
    package func admits(_ member: Int, after past: ChangeSet) -> Bool {
        guard member < standing.count else { return false }
        return ranks[member] > .nobody || standing[member].contains { past.contains($0.change) }
    }

    /// Returns the rank that a `join` after all changes gives a person who is no member, or `nil` if it gives none.
    package func rank(afterJoinOf member: Int) -> GroupRank? {
        guard member < standing.count, ranks[member] == .nobody else { return nil }
        return standing[member].first?.rank
    }

    /// The changes by which a member left, or was removed or banned with enough power for a member with this rank.
    package func removals(of member: Int, from rank: GroupRank, in log: GroupRules) -> [Int] {
        guard member < members.count else { return [] }
        return members[member].cuts.map(\.change).filter { number in
            switch log.changes[number].act {
            case .leave: true
            case .remove, .ban: power[number] >= .moderator && power[number] > rank
            default: false
            }
        }
    }
}
