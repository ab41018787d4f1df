/// The effective policies of a log, and what those that govern a change demand.
struct GoverningPolicies: Sendable {
    /// The demands of several policies: a change must meet all of them.
    struct Demand: Sendable {
        private(set) var add = GroupRank.nobody
        private(set) var edit = GroupRank.nobody
        /// The doors of the policies.
        private var doors: Set<[UInt8]?> = []

        /// Whether no policy has another door.
        func opens(_ door: [UInt8]) -> Bool { doors.allSatisfy { $0 == door } }

        mutating func include(_ policy: GroupRules.Policy) {
            add = max(add, policy.add)
            edit = max(edit, policy.edit)
            doors.insert(policy.door)
        }

        func united(with other: Demand) -> Demand {
            var both = self
            (both.add, both.edit) = (max(add, other.add), max(edit, other.edit))
            both.doors.formUnion(other.doors)
            return both
        }
    }

    /// The changes with the policies, in order.
    let changes: [Int]
    private let all: ChangeSet
    /// The demands of sets of policies that were asked for.
    private var known: [ChangeSet: Demand] = [:]
    private static let mostKnown = 256

    init(_ changes: [Int] = []) {
        self.changes = changes
        all = ChangeSet(changes)
    }

    /// Returns what the policies that govern a change demand: the latest before it, and the latest that are neither it
    /// nor after it.
    mutating func demand(on number: Int, in log: GroupRules) -> Demand {
        let before = all.intersection(log.graph.ancestors[number])
        var others = all
        others.remove(number)
        for change in changes.reversed() {
            if change < number { break }
            if log.graph.isBefore(number, change) { others.remove(change) }
        }
        return demand(before, log).united(with: demand(others, log))
    }

    private mutating func demand(_ policies: ChangeSet, _ log: GroupRules) -> Demand {
        if let demand = known[policies] { return demand }
        var demand = Demand()
        var rest = policies
        while let latest = rest.last {
            if let policy = log.changes[latest].act.policy { demand.include(policy) }
            rest.remove(latest)
            rest.subtract(log.graph.ancestors[latest])
        }
        if known.count >= Self.mostKnown { known = [:] }
        known[policies] = demand
        return demand
    }
}

extension GroupRules.Act {
    /// The policy that it sets.
    var policy: GroupRules.Policy? {
        switch self {
        case .create(let policy), .policy(let policy): policy
        default: nil
        }
    }

    /// Whether it gives ownership.
    var givesOwnership: Bool { if case .role(_, .owner) = self { true } else { false } }
}
