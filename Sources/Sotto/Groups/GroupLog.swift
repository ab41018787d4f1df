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

    /// The most changes of a log and their bytes.
    package struct Limits: Sendable {
        package var changes = 20_000
        package var bytes = 16 << 20
        /// Further changes and bytes for each rank from moderator on: a full log still has space for a removal, and a
        /// higher rank has space that a lower one cannot use.
        package var reservedChanges = 1_000
        package var reservedBytes = 1 << 20

        package init() {}
    }

    private let limits: Limits
    /// The changes, in the order in which they were stored.
    package private(set) var changes: [GroupChange] = []
    /// The bytes of all changes.
    package private(set) var byteCount = 0
    /// Pairs of changes with one device and one number, which prove a fork: one pair for each number.
    package private(set) var forks: [(GroupID, GroupID)] = []
    private var numbers: [GroupID: Int] = [:]
    private var rules = GroupRules()
    /// The members and all whom a change named, by their numbers.
    package private(set) var members: [KeyID] = []
    private var memberNumbers: [KeyID: Int] = [:]
    /// The devices that signed a change or are on a list, by their numbers from 1.
    private var deviceNumbers: [KeyID: Int] = [:]
    /// The last list of devices of each member.
    private var lists: [KeyID: DeviceList] = [:]
    /// The members of the devices that are on any list.
    private var owners: [KeyID: KeyID] = [:]
    /// For each device and `seq` the changes, usually one.
    private var sequence: [Turn: [Int]] = [:]
    /// The highest `seq` of each device.
    private var lastSeq: [KeyID: Int64] = [:]
    /// For each person the last change with which they entered.
    private var entries: [KeyID: Int] = [:]

    private struct Turn: Hashable {
        let device: KeyID
        let seq: Int64
    }

    /// Begins a log with its first change, or returns `nil` if that is not a `create`.
    package init?(_ create: GroupChange, limits: Limits = Limits()) {
        self.limits = limits
        guard case .create = create.act, create.seq == 1, add(create) == .stored else {
            return nil
        }
    }

    /// The group's id.
    package var group: GroupID { changes[0].group }

    /// The changes that are no parent of another one: the parents of the next change.
    package var heads: [GroupID] { rules.graph.heads.map { changes[$0].id } }

    /// Returns the changes that no other change has as a parent, without the last changes of some people: those that no
    /// change of another person is after. `left` are these, the last one first.
    package func heads(
        without people: Set<KeyID>
    ) -> (heads: [GroupID], left: [GroupChange]) {
        var isParent = Array(repeating: false, count: changes.count)
        var (heads, left): ([GroupID], [GroupChange]) = ([], [])
        for (number, change) in changes.enumerated().reversed() {
            if !isParent[number], number > 0 {
                guard !people.contains(change.by) else {
                    left.append(change)
                    continue
                }
            }
            if !isParent[number] { heads.append(change.id) }
            for parent in rules.graph.parents[number] { isParent[parent] = true }
        }
        return (heads.reversed(), left)
    }

    /// Older changes at growing distances from the last stored one, and the first one. They show a person without any of
    /// the heads what both logs have.
    package var landmarks: [GroupID] {
        var numbers: [Int] = []
        var distance = 1
        while distance < changes.count {
            numbers.append(changes.count - 1 - distance)
            distance *= 2
        }
        return Set(numbers + [0]).sorted().map { changes[$0].id }
    }

    /// Returns whether the log has a change.
    package func contains(_ id: GroupID) -> Bool { numbers[id] != nil }

    /// Whether a change is by a person or names them.
    package func names(_ id: KeyID) -> Bool { memberNumbers[id] != nil }

    /// Returns the number of the next change of a device.
    package func nextSeq(of device: KeyID) -> Int64 { (lastSeq[device] ?? 0) + 1 }

    /// Returns what adding a change whose signature was verified would give.
    package func outcome(of change: GroupChange) -> Outcome {
        switch place(for: change, wasStored: false) {
        case .success: .stored
        case .failure(let obstacle): obstacle.outcome
        }
    }

    /// The parents of a change, and these with all changes before them.
    private typealias Place = (parents: [Int], past: ChangeSet)

    private struct Obstacle: Error { let outcome: Outcome }

    private func place(
        for change: GroupChange, wasStored: Bool
    ) -> Result<Place, Obstacle> {
        func obstacle(_ outcome: Outcome) -> Result<Place, Obstacle> {
            .failure(Obstacle(outcome: outcome))
        }
        if numbers[change.id] != nil { return obstacle(.known) }
        guard changes.isEmpty || change.group == group else { return obstacle(.refused) }
        let missing = change.parents.filter { numbers[$0] == nil }
        guard missing.isEmpty else { return obstacle(.waits(missing)) }
        let parents = change.parents.compactMap { numbers[$0] }
        let past = rules.graph.past(of: parents)
        guard followsItsDevice(change, past),
            rules.admits(memberNumbers[change.by], door: change.act.door, after: past),
            wasStored || hasSpace(for: change, after: parents)
        else { return obstacle(.refused) }
        return .success((parents, past))
    }

    /// Adds a change whose signature was verified. One that `wasStored` before has space.
    package mutating func add(_ change: GroupChange, wasStored: Bool = false) -> Outcome {
        let place: Place
        switch self.place(for: change, wasStored: wasStored) {
        case .success(let found): place = found
        case .failure(let obstacle): return obstacle.outcome
        }
        let author = number(of: change.by)
        let act = change.act.rule({ number(of: $0) }, device: { number(ofDevice: $0) })
        let rule = GroupRules.Change(
            author: author, act: act,
            device: change.device == change.by ? 0 : number(ofDevice: change.device))
        guard let number = rules.add(rule, parents: place.parents, past: place.past) else {
            return .refused
        }
        changes.append(change)
        numbers[change.id] = number
        byteCount += change.bytes.count
        lastSeq[change.device] = max(lastSeq[change.device] ?? 0, change.seq)
        if case .devices(let list) = change.act {
            if list.supersedes(lists[change.by]) { lists[change.by] = list }
            for device in list.devices { owners[device.id] = change.by }
        }
        if change.act.isEntry { entries[change.by] = number }
        let key = Turn(device: change.device, seq: change.seq)
        if let others = sequence[key], others.count == 1 {
            forks.append((changes[others[0]].id, change.id))
        }
        sequence[key, default: []].append(number)
        return .stored
    }

    /// Returns the power of the author of a change when it was made, in the state of this log.
    package func power(of change: GroupChange, in state: GroupState) -> GroupRank {
        numbers[change.id].map { state.fold.power[$0] } ?? .nobody
    }

    /// Returns whether the rules let a change do what it does, in the state of this log. Other changes can overrule it, and a removal
    /// removes only members below its author.
    package func isEffective(_ change: GroupChange, in state: GroupState) -> Bool {
        guard let number = numbers[change.id] else { return false }
        guard !state.fold.devices.isVoid.contains(number) else { return false }
        let power = state.fold.power[number]
        switch change.act {
        case .create, .join, .leave, .merge, .devices, .set(.nickname): return true
        case .invite, .doorJoin, .set: return state.fold.isEffective(number)
        case .role(_, let rank):
            return power >= .moderator && power > rank || power == .owner && rank == .owner
        case .policy: return power >= .admin
        case .remove, .ban: return power > .nobody
        }
    }

    /// Returns the state after further changes, each after its parents, or `nil` if the rules refuse one of them. The log does
    /// not change.
    package func adding(_ changes: [GroupChange]) -> GroupState? {
        var log = self
        guard changes.allSatisfy({ log.add($0) == .stored }) else { return nil }
        return log.fold()
    }

    /// Whether the previous change of the device is in the past of a change.
    private func followsItsDevice(_ change: GroupChange, _ past: ChangeSet) -> Bool {
        guard change.seq > 1 else { return true }
        let previous = sequence[Turn(device: change.device, seq: change.seq - 1)] ?? []
        return previous.contains { past.contains($0) }
    }

    // MARK: Space

    /// Whether the log has space for no more than what ``Limits/reservedChanges`` is for.
    package var isFull: Bool { changes.count >= limits.changes || byteCount >= limits.bytes }

    /// Whether the log has space for some changes of any rank.
    package func hasSpace(forChanges count: Int, bytes: Int) -> Bool {
        changes.count + count <= limits.changes && byteCount + bytes <= limits.bytes
    }

    /// Whether the log has space for a change. A full log has some for a member who has at least the rank moderator with
    /// only the changes before this one.
    private func hasSpace(for change: GroupChange, after parents: [Int]) -> Bool {
        let bytes = byteCount + change.bytes.count
        if changes.count < limits.changes, bytes <= limits.bytes { return true }
        guard change.act.usesReserve, let author = memberNumbers[change.by] else { return false }
        let rank = Self.power(of: author, with: rules.past(of: parents))
        let shares = rank.rawValue - GroupRank.member.rawValue
        return shares > 0 && changes.count < limits.changes + shares * limits.reservedChanges
            && bytes <= limits.bytes + shares * limits.reservedBytes
    }

    /// Returns the power of a member after some changes, with only these and those before them.
    private static func power(
        of member: Int, with past: (rules: GroupRules, changes: [Int])
    ) -> GroupRank {
        let graph = past.rules.graph
        return GroupFold(past.rules).power(
            of: member, after: graph.past(of: past.changes), in: graph)
    }

    private mutating func number(of member: KeyID) -> Int {
        if let number = memberNumbers[member] { return number }
        memberNumbers[member] = members.count
        members.append(member)
        return members.count - 1
    }

    private mutating func number(ofDevice device: KeyID) -> Int {
        if let number = deviceNumbers[device] { return number }
        deviceNumbers[device] = deviceNumbers.count + 1
        return deviceNumbers.count
    }

    /// Returns the last list of devices that a member put into the log; `nil` without one.
    package func devices(of member: KeyID) -> DeviceList? { lists[member] }

    /// Returns the member of whom a device is or was; the id itself if it is on no list.
    package func member(of device: KeyID) -> KeyID { owners[device] ?? device }

    /// Folds the log.
    package func fold() -> GroupState { GroupState(self, GroupFold(rules)) }

    /// Returns the changes with these ids, or `nil` if the log lacks one.
    private func places(_ ids: [GroupID]) -> [Int]? {
        let places = ids.compactMap { numbers[$0] }
        return places.count == ids.count ? places : nil
    }

    /// Whether the lists before some heads name a device of a member as full. `state` is that of the log.
    package func names(
        _ device: KeyID, of member: KeyID, at heads: [GroupID], in state: GroupState
    ) -> Bool {
        guard let owner = memberNumbers[member], let number = deviceNumbers[device],
            let parents = places(heads)
        else { return false }
        let past = rules.graph.past(of: parents)
        return state.fold.devices.state(of: number, of: owner, after: past) == .full
    }

    /// Returns the rank with which a member wrote a message, or ``GroupRank/nobody`` if it is refused, and whether it is of a
    /// membership that ended. sotto-formats(5), GROUPS.
    ///
    /// The message is judged as a change with its heads as parents. A message of a former member counts if each change
    /// that removed them keeps it: `chain` and `iteration` are its place. That of a device counts as a change of the device does:
    /// `device` wrote the chain. The log must have the heads. `state` is that of the log.
    package func rank(
        of member: KeyID, device: KeyID, at heads: [GroupID], chain: [UInt8], iteration: UInt32,
        in state: GroupState
    ) -> (rank: GroupRank, isLate: Bool) {
        guard let author = memberNumbers[member], let parents = places(heads) else {
            return (.nobody, false)
        }
        let past = rules.graph.past(of: parents)
        var most = GroupRank.owner
        if device != member {
            let found = deviceNumbers[device].flatMap {
                state.fold.devices.state(of: $0, of: author, after: past)
            }
            guard let found else { return (.nobody, false) }
            if found == .new { most = .member }
        }
        let rank = state.fold.power(of: author, after: past, in: rules.graph)
        guard rank == .nobody else { return (min(rank, most), false) }
        let former = Self.power(of: author, with: rules.past(of: parents))
        // The rank at the heads has the removals before them. Those that could not take it have no effect.
        let limits = state.fold.removals(of: author, from: former, in: rules).filter {
            !past.contains($0)
        }.map { number in
            changes[number].act.limits.first { $0.device == device && $0.chain == chain }?.iteration
        }
        guard !limits.isEmpty, limits.allSatisfy({ $0.map { iteration <= $0 } ?? false }) else {
            return (.nobody, false)
        }
        // A member again has no more than the present rank: a muted member cannot use an earlier membership.
        return (min(former, .member, state.ranks[member] ?? .member), true)
    }

    /// Whether a `join`, whose parents the log has, would make its author a member. `state` is that of the log.
    package func admits(_ join: GroupChange, in state: GroupState) -> Bool {
        guard let author = memberNumbers[join.by], let parents = places(join.parents) else {
            return false
        }
        return state.fold.admits(author, after: rules.graph.past(of: parents))
    }

    /// Returns the rank that an invited person gets who joins now, or `nil` for a member and for a person without an invitation.
    /// `state` is that of the log.
    package func invitation(of id: KeyID, in state: GroupState) -> GroupRank? {
        memberNumbers[id].flatMap { state.fold.rank(afterJoinOf: $0) }
    }

    /// Whether the last join of one member is before that of another.
    package func joined(_ a: KeyID, before b: KeyID) -> Bool {
        guard let first = entries[a], let second = entries[b] else { return false }
        return rules.graph.isBefore(first, second)
    }

    /// Returns when a person says to have entered the group, or `nil` for one who never entered it.
    package func joined(_ id: KeyID) -> Timestamp? { entries[id].map { changes[$0].time } }

    /// Whether a person has ever entered the group.
    package func hasEntered(_ id: KeyID) -> Bool { entries[id] != nil }

    /// Returns the change with which a person last entered the group, or `nil`.
    package func entry(of id: KeyID) -> GroupID? { entries[id].map { changes[$0].id } }

    /// Returns the ids of a person's own changes, and of the effective removals and invitations of the person, that are before no
    /// other of them. A person who is no member may know these changes and those before them.
    package func knownHeads(of id: KeyID) -> [GroupID] {
        let known = Set(horizon(of: id))
        let numbers = changes.indices.filter {
            changes[$0].by == id || known.contains(changes[$0].id)
        }
        return latest(of: numbers).map { changes[$0].id }
    }

    /// Returns the ids of the effective removals and invitations of a person.
    package func horizon(of id: KeyID) -> [GroupID] {
        let fold = GroupFold(rules)
        return changes.enumerated().compactMap { number, change in
            let isRemoval =
                change.act.removal(of: id) != nil && fold.power[number] >= .moderator
            let isInvitation = change.act.invites(id) && fold.isEffective(number)
            return isRemoval || isInvitation ? change.id : nil
        }
    }

    /// Returns the ids of all changes before some changes, and of these.
    package func past(of ids: [GroupID]) -> Set<GroupID> {
        guard let places = places(ids) else { return [] }
        let past = rules.graph.past(of: places)
        return Set(changes.indices.filter { past.contains($0) }.map { changes[$0].id })
    }

    /// Returns some changes and those before them, the earliest first, without the changes `known` and those before them.
    package func changes(before ids: [GroupID], notBefore known: [GroupID]) -> [GroupChange] {
        var past = rules.graph.past(of: places(ids) ?? [])
        past.subtract(rules.graph.past(of: places(known) ?? []))
        return changes.indices.filter { past.contains($0) }.map { changes[$0] }
    }

    /// Returns the ids of some changes and of those before them, the earliest first, for a person whose log has the heads
    /// `known`: without these and those before them. Without heads, only the changes themselves. Ids that the log lacks are ignored.
    package func answers(to wanted: [GroupID], known: [GroupID]) -> [GroupID] {
        let wanted = wanted.filter { contains($0) }
        guard !known.isEmpty, !wanted.isEmpty else { return wanted }
        let past = past(of: known.filter { contains($0) })
        let needed = self.past(of: wanted)
        return changes.map(\.id).filter { needed.contains($0) && !past.contains($0) }
    }

    /// Returns the changes of some numbers that are before no other of them.
    func latest(of numbers: [Int]) -> [Int] { rules.graph.latest(of: numbers) }
}

/// The state of a group after all changes of a log.
package struct GroupState: Sendable {
    /// The members with a rank above nobody.
    package let ranks: [KeyID: GroupRank]
    package let policy: GroupPolicy
    /// The values that `set` changes set, but nicknames.
    package let values: [String: GroupChange.Value]
    /// The members' names in the group.
    package let nicknames: [KeyID: String]
    let fold: GroupFold

    init(_ log: GroupLog, _ fold: GroupFold) {
        self.fold = fold
        var ranks: [KeyID: GroupRank] = [:]
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
        var named: [KeyID: [(number: Int, name: String)]] = [:]
        for (number, change) in log.changes.enumerated()
        where !fold.devices.isVoid.contains(number) {
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
        var nicknames: [KeyID: String] = [:]
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
