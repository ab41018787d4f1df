@testable import Sotto

/// The rules of groups as definitions over sets, without passes and without an order of work, to compare ``GroupFold`` with.
final class NaiveRules {
    private var changes: [GroupRules.Change]
    /// The changes by devices that do not count, and those by new ones.
    private var void: Set<Int> = []
    private var new: Set<Int> = []
    private let past: [Set<Int>]
    private var known: [Int: Bool] = [:]

    init(_ rules: GroupRules) {
        changes = rules.changes
        past = rules.changes.indices.map { later in
            Set(rules.changes.indices.filter { rules.graph.isBefore($0, later) })
        }
        for number in changes.indices where changes[number].device > 0 { judge(number) }
        for number in void { changes[number].act = .other }
    }

    /// Judges a change by a device.
    private func judge(_ number: Int) {
        let device = changes[number].device
        var lists: [(change: Int, seq: Int64, state: DeviceList.State?)] = []
        for (place, change) in changes.enumerated() where change.author == changes[number].author {
            if case .devices(let seq, let states) = change.act {
                lists.append((place, seq, states[device]))
            }
        }
        let before = lists.filter { isBefore($0.change, number) }
        let last = before.filter { list in before.allSatisfy { $0.seq <= list.seq } }
        let isNamed = !last.isEmpty && last.allSatisfy { $0.state != nil }
        let isLeftOut = lists.contains { list in
            list.state == nil && !isBefore(number, list.change)
                && last.allSatisfy { $0.seq < list.seq }
        }
        if !isNamed || isLeftOut {
            void.insert(number)
        } else if last.contains(where: { $0.state == .new }) {
            new.insert(number)
        }
    }

    private func isBefore(_ a: Int, _ b: Int) -> Bool { past[b].contains(a) }

    /// The members and the rank that a change grants.
    private func grant(_ change: Int) -> (members: [Int], rank: GroupRank)? {
        switch changes[change].act {
        case .create: ([changes[change].author], .owner)
        case .doorJoin: ([changes[change].author], .member)
        case .invite(let members, let rank): (members, rank)
        case .role(let member, let rank): ([member], rank)
        default: nil
        }
    }

    /// The members whose grants a change cuts, and the rank that stays.
    private func cut(_ change: Int) -> (members: [Int], rank: GroupRank)? {
        switch changes[change].act {
        case .leave: ([changes[change].author], .nobody)
        case .remove(let members), .ban(let members):
            (members.filter { $0 != changes[change].author }, .nobody)
        case .role(let member, let rank): ([member], rank)
        default: nil
        }
    }

    private func isRole(_ change: Int) -> Bool {
        if case .role = changes[change].act { true } else { false }
    }

    private func isConsented(_ grant: Int, by member: Int, before change: Int?) -> Bool {
        switch changes[grant].act {
        case .create, .doorJoin: return true
        default: break
        }
        let joins = changes.indices.filter { number in
            guard changes[number].author == member else { return false }
            switch changes[number].act {
            case .create, .join, .doorJoin: return true
            default: return false
            }
        }
        let leaves = changes.indices.filter { number in
            if case .leave = changes[number].act { changes[number].author == member } else { false }
        }
        return joins.contains { join in
            isBefore(grant, join) && (change == nil || isBefore(join, change!))
                || isRole(grant) && isBefore(join, grant)
                    && !leaves.contains { isBefore(join, $0) && isBefore($0, grant) }
        }
    }

    private func cuts(_ cutter: Int, _ grant: Int, of member: Int, for change: Int?) -> Bool {
        guard let cut = cut(cutter), cut.members.contains(member),
            let given = self.grant(grant)?.rank, given > cut.rank
        else { return false }
        if changes[cutter].author == member {
            if let change, case .role(_, .owner) = changes[change].act {
                return !isBefore(cutter, grant) && isBefore(cutter, change)
            }
            return !isBefore(cutter, grant)
        }
        guard hasMore(than: max(given, .member), cutter) else { return false }
        if !isBefore(cutter, grant) { return true }
        if case .doorJoin = changes[grant].act { return true }
        let isLasting: Bool =
            switch changes[cutter].act {
            case .ban: true
            case .role(_, let rank): rank <= .reader
            default: false
            }
        return isLasting
            && GroupRank.allCases.contains { $0 > given && has($0, cutter) && !has($0, grant) }
    }

    /// Whether a grant counts for the power of a change, or at the end.
    private func counts(_ grant: Int, for member: Int, at change: Int?) -> Bool {
        guard change == nil || isBefore(grant, change!),
            isConsented(grant, by: member, before: change), isEffective(grant)
        else { return false }
        return !changes.indices.contains { cutter in
            (change == nil || cutter != change! && !isBefore(change!, cutter))
                && cuts(cutter, grant, of: member, for: change)
        }
    }

    /// Whether the author of a change has at least a rank for it.
    private func has(_ rank: GroupRank, _ change: Int) -> Bool {
        if void.contains(change) || new.contains(change) && rank > .member { return false }
        let key = change * 8 + rank.rawValue
        if let answer = known[key] { return answer }
        let author = changes[change].author
        let answer = past[change].contains { grant in
            guard let given = self.grant(grant), given.members.contains(author), given.rank >= rank
            else { return false }
            return counts(grant, for: author, at: change)
        }
        known[key] = answer
        return answer
    }

    /// Whether the power is greater than a rank. A definition asks for no power that is not greater than that of the grant
    /// in question, so that the recursion ends.
    private func hasMore(than rank: GroupRank, _ change: Int) -> Bool {
        GroupRank.allCases.contains { $0 > rank && has($0, change) }
    }

    private func latest(_ some: [Int]) -> [Int] {
        some.filter { change in !some.contains { isBefore(change, $0) } }
    }

    private func policies(_ some: [Int]) -> [Int] {
        some.filter { change in
            switch changes[change].act {
            case .create: true
            case .policy: has(.admin, change)
            default: false
            }
        }
    }

    private func policy(_ change: Int) -> GroupRules.Policy {
        switch changes[change].act {
        case .create(let policy), .policy(let policy): policy
        default: fatalError("not a policy")
        }
    }

    private func governing(_ change: Int) -> [GroupRules.Policy] {
        let others = changes.indices.filter { $0 != change && !isBefore(change, $0) }
        return (latest(policies(past[change].sorted())) + latest(policies(others))).map(policy)
    }

    func isEffective(_ change: Int) -> Bool {
        if void.contains(change) { return false }
        return switch changes[change].act {
        case .invite: governing(change).allSatisfy { has(max(.member, $0.add), change) }
        case .doorJoin(let door): governing(change).allSatisfy { $0.door == door }
        case .role(_, .owner): has(.owner, change)
        case .set: governing(change).allSatisfy { $0.edit == .nobody || has($0.edit, change) }
        case .role(_, let rank): hasMore(than: max(rank, .member), change)
        default: true
        }
    }

    /// The rank of a member at the end.
    func rank(of member: Int) -> GroupRank {
        changes.indices.compactMap { number -> GroupRank? in
            guard let given = grant(number), given.members.contains(member),
                counts(number, for: member, at: nil)
            else { return nil }
            return given.rank
        }.max() ?? .nobody
    }

    /// The power of the author of a change.
    func power(of change: Int) -> GroupRank {
        GroupRank.allCases.last { $0 == .nobody || has($0, change) }!
    }
}
