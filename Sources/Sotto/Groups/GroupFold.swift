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
    /// For each member the change that gives ``ranks``, or `nil`.
    package private(set) var grants: [Int?]
    /// The effective policies that are before no other effective one.
    package private(set) var policies: [Int] = []

    /// A change that gives a member a rank.
    private struct Grant {
        let change: Int
        let gives: GroupRank
        let isRole: Bool
        /// Whether it counts without a `join` of the member.
        let needsConsent: Bool
        let isDoorJoin: Bool
    }

    /// A change that takes grants of a member away.
    private struct Cut {
        let change: Int
        /// The highest rank that stays.
        let leaves: GroupRank
        /// Whether the member made it.
        let isOwn: Bool
        /// Whether it also forbids later grants of lower ranks.
        let isLasting: Bool
    }

    private let log: GroupRules
    private var grantsOf: [[Grant]]
    private var cutsOf: [[Cut]]
    private var joinsOf: [[Int]]
    private var leavesOf: [[Int]]
    /// The policies that are effective, in order.
    private var effectivePolicies: [Int] = []
    /// For each invitation and `door-join`, whether it is effective, once that is known.
    private var admits: [Bool?]

    /// Folds a log.
    package init(_ log: GroupRules) {
        self.log = log
        let changes = log.changes
        power = Array(repeating: .nobody, count: changes.count)
        ranks = Array(repeating: .nobody, count: log.memberCount)
        grants = Array(repeating: nil, count: log.memberCount)
        grantsOf = Array(repeating: [], count: log.memberCount)
        cutsOf = Array(repeating: [], count: log.memberCount)
        joinsOf = Array(repeating: [], count: log.memberCount)
        leavesOf = Array(repeating: [], count: log.memberCount)
        admits = Array(repeating: nil, count: changes.count)
        for (number, change) in changes.enumerated() { index(number, change) }
        // A pass needs only what higher passes and earlier changes decided.
        for rank in GroupRank.allCases.reversed() where rank > .nobody {
            // Only owners and admins change policies.
            if rank == .moderator { findPolicies() }
            for number in changes.indices {
                if power[number] == .nobody, holds(rank, at: number) { power[number] = rank }
                if rank == .member, changes[number].admits { admits[number] = isEffective(number) }
            }
        }
        policies = log.graph.latest(of: effectivePolicies)
        for member in 0..<log.memberCount { rank(member) }
    }

    private mutating func index(_ number: Int, _ change: GroupRules.Change) {
        let author = change.author
        func grant(
            _ gives: GroupRank, isRole: Bool = false, needsConsent: Bool = true,
            isDoorJoin: Bool = false
        ) -> Grant {
            Grant(
                change: number, gives: gives, isRole: isRole, needsConsent: needsConsent,
                isDoorJoin: isDoorJoin)
        }
        func cut(_ leaves: GroupRank, of member: Int, isLasting: Bool) -> Cut {
            Cut(
                change: number, leaves: leaves, isOwn: member == author, isLasting: isLasting)
        }
        switch change.act {
        case .create: grantsOf[author].append(grant(.owner, needsConsent: false))
        case .invite(let members, let rank):
            for member in members { grantsOf[member].append(grant(rank)) }
        case .join: joinsOf[author].append(number)
        case .doorJoin:
            grantsOf[author].append(grant(.member, needsConsent: false, isDoorJoin: true))
            joinsOf[author].append(number)
        case .leave:
            cutsOf[author].append(cut(.nobody, of: author, isLasting: false))
            leavesOf[author].append(number)
        case .remove(let members):
            for member in members where member != author {
                cutsOf[member].append(cut(.nobody, of: member, isLasting: false))
            }
        case .ban(let members):
            for member in members where member != author {
                cutsOf[member].append(cut(.nobody, of: member, isLasting: true))
            }
        case .role(let member, let rank):
            grantsOf[member].append(grant(rank, isRole: true))
            cutsOf[member].append(cut(rank, of: member, isLasting: rank <= .reader))
        case .policy, .set, .other: break
        }
    }

    // MARK: Rules

    /// Whether the author of a change had exactly this rank for it, in the pass of this rank.
    private func holds(_ rank: GroupRank, at number: Int) -> Bool {
        let author = log.changes[number].author
        return grantsOf[author].contains { grant in
            grant.gives == rank && log.graph.isBefore(grant.change, number)
                && isConsented(grant, by: author, before: number)
                && isEffective(grant.change) && !isCut(grant, of: author, for: number)
        }
    }

    /// Sets the rank of a member at the end of the log.
    private mutating func rank(_ member: Int) {
        for grant in grantsOf[member] where grant.gives > ranks[member] {
            guard isConsented(grant, by: member, before: nil), isEffective(grant.change),
                !isCut(grant, of: member, for: nil)
            else { continue }
            ranks[member] = grant.gives
            grants[member] = grant.change
        }
    }

    /// Whether the member consented to a grant, before a change or at all.
    private func isConsented(_ grant: Grant, by member: Int, before number: Int?) -> Bool {
        guard grant.needsConsent else { return true }
        return joinsOf[member].contains { join in
            if log.graph.isBefore(grant.change, join) {
                return number.map { log.graph.isBefore(join, $0) } ?? true
            }
            return grant.isRole && log.graph.isBefore(join, grant.change)
                && !leavesOf[member].contains {
                    log.graph.isBefore(join, $0) && log.graph.isBefore($0, grant.change)
                }
        }
    }

    /// Whether a change takes a grant away: one that is neither `number` nor after it, or any change.
    private func isCut(_ grant: Grant, of member: Int, for number: Int?) -> Bool {
        cutsOf[member].contains { cut in
            guard cut.leaves < grant.gives else { return false }
            if let number, cut.change == number || log.graph.isBefore(number, cut.change) {
                return false
            }
            let isEarlier = log.graph.isBefore(cut.change, grant.change)
            guard !cut.isOwn else {
                // A member who leaves does not take back ownership that they gave.
                if let number, givesOwnership(number), !log.graph.isBefore(cut.change, number) {
                    return false
                }
                return !isEarlier
            }
            let power = power[cut.change]
            return power >= .moderator && power > grant.gives
                && (!isEarlier || grant.isDoorJoin
                    || cut.isLasting && power > self.power[grant.change])
        }
    }

    private func givesOwnership(_ number: Int) -> Bool {
        if case .role(_, .owner) = log.changes[number].act { true } else { false }
    }

    /// Whether a change may do what it does.
    package func isEffective(_ number: Int) -> Bool {
        if let admits = admits[number] { return admits }
        let power = power[number]
        switch log.changes[number].act {
        case .create: return true
        case .invite:
            return power >= .member && governing(number).allSatisfy { power >= $0.add }
        case .doorJoin(let door): return governing(number).allSatisfy { $0.door == door }
        case .role(_, let rank):
            return power >= .moderator && power > rank || power == .owner && rank == .owner
        case .policy: return power >= .admin
        case .set: return governing(number).allSatisfy { power >= $0.edit }
        case .join, .leave, .remove, .ban, .other: return true
        }
    }

    private mutating func findPolicies() {
        effectivePolicies = log.changes.indices.filter { number in
            switch log.changes[number].act {
            case .create, .policy: isEffective(number)
            default: false
            }
        }
    }

    /// Returns the policies that a change must obey: the latest before it, and the latest that are not after it.
    private func governing(_ number: Int) -> [GroupRules.Policy] {
        let graph = log.graph
        let before = graph.latest(of: effectivePolicies.filter { graph.isBefore($0, number) })
        let others = graph.latest(
            of: effectivePolicies.filter { $0 != number && !graph.isBefore(number, $0) })
        return (before + others).map { policy(of: $0) }
    }

    /// Returns the policy of a change that has one.
    private func policy(of number: Int) -> GroupRules.Policy {
        switch log.changes[number].act {
        case .create(let policy), .policy(let policy): policy
        default: GroupRules.Policy(add: .owner)
        }
    }

    /// The policy at the end of the log: the highest ranks of ``policies``, and their door if it is the same.
    package var policy: GroupRules.Policy {
        let latest = policies.map { policy(of: $0) }
        var strictest = latest.first ?? GroupRules.Policy(add: .owner, edit: .owner)
        for policy in latest.dropFirst() {
            strictest.add = max(strictest.add, policy.add)
            strictest.edit = max(strictest.edit, policy.edit)
            if policy.door != strictest.door { strictest.door = nil }
        }
        return strictest
    }
}
