/// The changes of a group as the rules see them: members are numbers, and nothing is signed.
package struct GroupRules: Sendable {
    /// The parts of a policy that authorise changes.
    package struct Policy: Sendable, Equatable {
        /// The rank that invites.
        package var add: GroupRank
        /// The rank that sets the group's name and other values.
        package var edit: GroupRank
        /// The public key that admits without an invitation, or `nil`.
        package var door: [UInt8]?

        package init(add: GroupRank, edit: GroupRank = .nobody, door: [UInt8]? = nil) {
            (self.add, self.edit, self.door) = (add, edit, door)
        }
    }

    /// The act of a change. Members are numbers.
    package enum Act: Sendable {
        case create(Policy)
        case invite([Int], GroupRank)
        case join
        case doorJoin(door: [UInt8])
        case leave
        case remove([Int])
        case ban([Int])
        case role(Int, GroupRank)
        case policy(Policy)
        /// Sets a value of the group.
        case set
        /// Sets a value of its author alone, or has no effect.
        case other
        /// The author's list of devices, with their numbers. The identity itself is on none.
        case devices(seq: Int64, [Int: DeviceList.State])
    }

    /// A change of the log.
    package struct Change: Sendable {
        /// The member's number.
        package var author: Int
        package var act: Act
        /// The number of the device that signed it, from 1, or 0 for the author's identity.
        package var device: Int

        package init(author: Int, act: Act, device: Int = 0) {
            (self.author, self.act, self.device) = (author, act, device)
        }

        var admits: Bool {
            switch act {
            case .invite, .doorJoin: true
            default: false
            }
        }
    }

    /// The order of the changes.
    package private(set) var graph = GroupGraph()
    /// The changes, by their numbers.
    package private(set) var changes: [Change] = []
    /// The number of members, who have the numbers below it.
    package private(set) var memberCount = 0
    /// For each member the changes that name them in a grant.
    private var namedBy: [[Int]] = []
    /// For each door the changes that set it.
    private var doors: [[UInt8]: [Int]] = [:]

    package init() {}

    /// Adds a change after its parents. Returns its number, or `nil` if the rules refuse it: only the first change, which is
    /// a `create`, has no parents, and a grant before a change names its author.
    package mutating func add(_ change: Change, parents: [Int]) -> Int? {
        add(change, parents: parents, past: graph.past(of: parents))
    }

    /// Adds a change like ``add(_:parents:)``. `past` are the parents and all changes before them.
    mutating func add(_ change: Change, parents: [Int], past: ChangeSet) -> Int? {
        guard change.act.isCreate == changes.isEmpty else { return nil }
        guard admits(change.author, door: change.act.door, after: past) else { return nil }
        let number = graph.add(parents: parents, past: past)
        changes.append(change)
        switch change.act {
        case .create(let policy):
            name(change.author, number)
            if let door = policy.door { doors[door, default: []].append(number) }
        case .policy(let policy):
            if let door = policy.door { doors[door, default: []].append(number) }
        case .invite(let members, _): for member in members { name(member, number) }
        case .role(let member, _): name(member, number)
        case .doorJoin: name(change.author, number)
        case .remove(let members), .ban(let members):
            memberCount = max(memberCount, (members.max() ?? -1) + 1)
        case .join, .leave, .set, .other, .devices: break
        }
        while namedBy.count < memberCount { namedBy.append([]) }
        return number
    }

    private mutating func name(_ member: Int, _ number: Int) {
        memberCount = max(memberCount, member + 1)
        while namedBy.count < memberCount { namedBy.append([]) }
        namedBy[member].append(number)
    }

    /// Whether the rules store a change after some changes. `past` are these and all before them. `author` is `nil` for one who
    /// is new, and `door` is that of a `door-join`.
    package func admits(_ author: Int?, door: [UInt8]?, after past: ChangeSet) -> Bool {
        guard !changes.isEmpty else { return past.isEmpty }
        if let door, doors[door]?.contains(where: { past.contains($0) }) ?? false { return true }
        guard let author, author < namedBy.count else { return false }
        return namedBy[author].contains { past.contains($0) }
    }
}

extension GroupRules {
    /// Returns the rules with only some changes and those before them, and the new numbers of these changes.
    func past(of changes: [Int]) -> (rules: GroupRules, changes: [Int]) {
        let isIncluded = graph.past(of: changes)
        var past = GroupRules()
        var numbers: [Int: Int] = [:]
        for number in self.changes.indices {
            guard isIncluded.contains(number) else { continue }
            let parents = graph.parents[number].compactMap { numbers[$0] }
            numbers[number] = past.add(self.changes[number], parents: parents)
        }
        return (past, changes.compactMap { numbers[$0] })
    }
}

extension GroupRules.Act {
    /// The door of a `door-join`.
    package var door: [UInt8]? { if case .doorJoin(let door) = self { door } else { nil } }

    fileprivate var isCreate: Bool { if case .create = self { true } else { false } }
}
