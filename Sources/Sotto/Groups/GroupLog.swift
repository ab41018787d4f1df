/// The stored changes of a group, each after its parents.
package struct GroupLog: Sendable {
    /// The result of adding a change.
    package enum Outcome: Sendable, Equatable {
        case stored
        /// The log has it.
        case known
        /// It waits for these parents.
        case waits([GroupID])
        /// The rules refuse it.
        case refused
    }

    /// The most changes of a log.
    package static let mostChanges = 20_000
    /// The most bytes of all changes.
    package static let mostBytes = 16 << 20

    /// The changes, in the order in which they were stored.
    package private(set) var changes: [GroupChange] = []
    /// The bytes of all changes.
    package private(set) var byteCount = 0
    /// Pairs of changes with one device and one number, which prove a fork: one pair for each number.
    package private(set) var forks: [(GroupID, GroupID)] = []
    private var numbers: [GroupID: Int] = [:]
    private var rules = GroupRules()
    /// The members and all whom a change named, by their numbers.
    package private(set) var members: [SessionID] = []
    private var memberNumbers: [SessionID: Int] = [:]
    /// For each device and `seq` the changes, usually one.
    private var sequence: [Place: [Int]] = [:]

    private struct Place: Hashable {
        let device: SessionID
        let seq: Int64
    }

    /// Begins a log with its first change, or returns `nil` if that is not a `create`.
    package init?(_ create: GroupChange) {
        guard case .create = create.act, create.seq == 1, add(create) == .stored else {
            return nil
        }
    }

    /// The group's id.
    package var group: GroupID { changes[0].group }

    /// The changes that are no parent of another one: the parents of the next change.
    package var heads: [GroupID] { rules.graph.heads.map { changes[$0].id } }

    /// Returns whether the log has a change.
    package func contains(_ id: GroupID) -> Bool { numbers[id] != nil }

    /// Whether a change is by a person or names them.
    package func names(_ id: SessionID) -> Bool { memberNumbers[id] != nil }

    /// Returns the number of the next change of a device.
    package func nextSeq(of device: SessionID) -> Int64 {
        var seq: Int64 = 1
        while sequence[Place(device: device, seq: seq)] != nil { seq += 1 }
        return seq
    }

    /// Adds a change whose signature was verified.
    package mutating func add(_ change: GroupChange) -> Outcome {
        if numbers[change.id] != nil { return .known }
        guard changes.isEmpty || change.group == group else { return .refused }
        let missing = change.parents.filter { numbers[$0] == nil }
        guard missing.isEmpty else { return .waits(missing) }
        guard changes.count < Self.mostChanges, byteCount + change.bytes.count <= Self.mostBytes
        else { return .refused }
        let parents = change.parents.compactMap { numbers[$0] }
        guard followsItsDevice(change, parents) else { return .refused }
        guard
            rules.admits(memberNumbers[change.by], door: change.act.door, after: parents)
        else { return .refused }
        let author = number(of: change.by)
        let act = change.act.rule { number(of: $0) }
        guard
            let place = rules.add(GroupRules.Change(author: author, act: act), parents: parents)
        else { return .refused }
        changes.append(change)
        numbers[change.id] = place
        byteCount += change.bytes.count
        let key = Place(device: change.device, seq: change.seq)
        if let others = sequence[key], others.count == 1 {
            forks.append((changes[others[0]].id, change.id))
        }
        sequence[key, default: []].append(place)
        return .stored
    }

    /// Whether the previous change of the device is in the past of a change.
    private func followsItsDevice(_ change: GroupChange, _ parents: [Int]) -> Bool {
        guard change.seq > 1 else { return true }
        let previous = sequence[Place(device: change.device, seq: change.seq - 1)] ?? []
        return previous.contains { number in
            parents.contains { $0 == number || rules.graph.isBefore(number, $0) }
        }
    }

    private mutating func number(of member: SessionID) -> Int {
        if let number = memberNumbers[member] { return number }
        memberNumbers[member] = members.count
        members.append(member)
        return members.count - 1
    }

    /// Folds the log.
    package func fold() -> GroupState { GroupState(self, GroupFold(rules)) }

    /// Returns the changes with these ids, or `nil` if the log lacks one.
    private func places(_ ids: [GroupID]) -> [Int]? {
        let places = ids.compactMap { numbers[$0] }
        return places.count == ids.count ? places : nil
    }

    /// Returns the rank with which a member wrote a message, or ``GroupRank/nobody`` if it is refused. sotto-formats(5),
    /// GROUPS.
    ///
    /// The message is judged as a change with its heads as parents. A message of a former member counts if each change
    /// that removed them keeps it: `chain` and `iteration` are its place. The log must have the heads.
    package func rank(
        of member: SessionID, at heads: [GroupID], chain: [UInt8], iteration: UInt32
    ) -> GroupRank {
        guard let author = memberNumbers[member], let parents = places(heads) else {
            return .nobody
        }
        func power(_ rules: GroupRules, _ parents: [Int]) -> GroupRank {
            var rules = rules
            let message = GroupRules.Change(author: author, act: .other)
            guard let place = rules.add(message, parents: parents) else { return .nobody }
            return GroupFold(rules).power[place]
        }
        let rank = power(rules, parents)
        guard rank == .nobody else { return rank }
        let limits = cuts(of: member).map { cut in
            cut.first { $0.device == member && $0.chain == chain }?.iteration
        }
        guard !limits.isEmpty, limits.allSatisfy({ $0.map { iteration <= $0 } ?? false }) else {
            return .nobody
        }
        let past = rules.past(of: parents)
        return min(power(past.rules, past.changes), .member)
    }

    /// Returns the limits of each change by which a member left or was removed.
    private func cuts(of member: SessionID) -> [[GroupChange.Limit]] {
        let fold = GroupFold(rules)
        return changes.enumerated().compactMap { number, change in
            if case .leave(let limits) = change.act { return change.by == member ? limits : nil }
            return fold.power[number] >= .moderator ? change.act.removal(of: member) : nil
        }
    }

    /// Whether the last join of one member is before that of another.
    package func joined(_ a: SessionID, before b: SessionID) -> Bool {
        guard let first = lastJoin(of: a), let second = lastJoin(of: b) else { return false }
        return rules.graph.isBefore(first, second)
    }

    /// Whether a person has ever entered the group.
    package func hasEntered(_ id: SessionID) -> Bool { lastJoin(of: id) != nil }

    private func lastJoin(of member: SessionID) -> Int? {
        changes.lastIndex { $0.by == member && $0.act.isEntry }
    }

    /// Returns the ids of all changes before some changes, and of these.
    package func past(of ids: [GroupID]) -> Set<GroupID> {
        guard let places = places(ids) else { return [] }
        return Set(
            changes.indices.filter { number in
                places.contains { $0 == number || rules.graph.isBefore(number, $0) }
            }.map { changes[$0].id })
    }

    /// Returns the changes of some numbers that are before no other of them.
    func latest(of numbers: [Int]) -> [Int] { rules.graph.latest(of: numbers) }
}

/// The state of a group after all changes of a log.
package struct GroupState: Sendable {
    /// The members with a rank above nobody.
    package let ranks: [SessionID: GroupRank]
    package let policy: GroupPolicy
    /// The values that `set` changes set, but nicknames.
    package let values: [String: GroupChange.Value]
    /// The members' names in the group.
    package let nicknames: [SessionID: String]

    init(_ log: GroupLog, _ fold: GroupFold) {
        var ranks: [SessionID: GroupRank] = [:]
        for (member, rank) in zip(log.members, fold.ranks) where rank > .nobody {
            ranks[member] = rank
        }
        self.ranks = ranks
        policy =
            GroupPolicy.strictest(
                fold.policies.compactMap { number in
                    switch log.changes[number].act {
                    case .create(_, let policy, _), .policy(let policy): policy
                    default: nil
                    }
                }) ?? GroupPolicy()
        var setters: [String: [Int]] = [:]
        var named: [SessionID: [(number: Int, name: String)]] = [:]
        for (number, change) in log.changes.enumerated() {
            switch change.act {
            case .set(.nickname(let name)): named[change.by, default: []].append((number, name))
            case .set(let value) where fold.isEffective(number):
                setters[value.key, default: []].append(number)
            case .join(let entry), .doorJoin(let entry, _, _):
                if let name = entry.nickname {
                    named[change.by, default: []].append((number, name))
                }
            default: break
            }
        }
        /// Returns the change with the highest power among those before no other; of several, the one with the smallest id.
        func winner(_ numbers: [Int]) -> Int? {
            log.latest(of: numbers).min { a, b in
                fold.power[a] != fold.power[b]
                    ? fold.power[a] > fold.power[b] : log.changes[a].id < log.changes[b].id
            }
        }
        values = setters.compactMapValues { numbers in
            guard let number = winner(numbers), case .set(let value) = log.changes[number].act
            else { return nil }
            return value
        }
        var nicknames: [SessionID: String] = [:]
        for (member, names) in named where ranks[member] != nil {
            let number = winner(names.map(\.number))
            nicknames[member] = names.first { $0.number == number }?.name
        }
        self.nicknames = nicknames
    }

    /// The canonical JSON of the state: `{"members":{id:rank},"nicknames":{id:name},"policy","values":{…}}`.
    package var canonical: [UInt8] {
        JSON.object([
            "members": .object(
                JSONObject(ranks.map { ($0.description, .string($1.name)) })),
            "nicknames": .object(JSONObject(nicknames.map { ($0.description, .string($1)) })),
            "policy": .object(policy.object),
            "values": .object(JSONObject(values.map { ($0, $1.json) })),
        ]).canonical()
    }

    /// The first 16 bytes of SHA-256 of ``canonical``, with which members compare their states.
    package var digest: [UInt8] { Array(sha256(canonical).prefix(16)) }
}
