import Foundation
import TestSupport
import Testing

@testable import Sotto

struct GroupFoldTests {
    private static let logs: UInt64 = 10_000

    /// C3: five replicas get a log in other orders, with duplicates and gaps that close later, and conclude the same.
    @Test func c3AllReplicasConcludeTheSame() {
        forEachLog { log in
            let expected = Replica(log.lines).state
            for _ in 0..<4 {
                var replica = Replica()
                let order = log.shuffled()
                let gap = log.random(0..<order.count)
                replica.take(Array(order[gap...]), of: log.lines)
                replica.take(Array(order[..<gap]), of: log.lines)
                if replica.state != expected { return "the replicas differ" }
            }
            return nil
        }
    }

    /// The rules as definitions give the same ranks and powers.
    @Test func theNaiveRulesConcludeTheSame() {
        forEachLog { log in
            Self.difference(Replica(log.lines).rules)
        }
    }

    /// Returns a difference between the fold and the definitions, or `nil`.
    private static func difference(_ rules: GroupRules) -> String? {
        let (fold, naive) = (GroupFold(rules), NaiveRules(rules))
        for (number, change) in rules.changes.enumerated() {
            if fold.power[number] != naive.power(of: number) {
                return "another power of change \(number)"
            }
            if case .set = change.act,
                fold.isEffective(number) != naive.isEffective(number)
            {
                return "another effect of change \(number)"
            }
        }
        for member in fold.ranks.indices where fold.ranks[member] != naive.rank(of: member) {
            return "another rank of member \(member)"
        }
        return nil
    }

    /// A message has the power of a change that is added to the log, and a `join` the effect that the fold foretells.
    @Test func aMessageIsJudgedAsAChange() {
        forEachLog(count: 3_000) { log in
            let rules = Replica(log.lines).rules
            let fold = GroupFold(rules)
            for member in 0..<rules.memberCount {
                let parents = [
                    log.random(0..<rules.changes.count), log.random(0..<rules.changes.count),
                ]
                let past = rules.graph.past(of: parents)
                func added(_ act: GroupRules.Act) -> (fold: GroupFold, number: Int)? {
                    var rules = rules
                    let number = rules.add(
                        GroupRules.Change(author: member, act: act),
                        parents: Array(Set(parents)).sorted())
                    return number.map { (GroupFold(rules), $0) }
                }
                guard let message = added(.other), let join = added(.join) else { continue }
                let power = fold.power(of: member, after: past, in: rules.graph)
                if power != message.fold.power[message.number] {
                    return "another power of a message of \(member)"
                }
                if fold.admits(member, after: past) != (join.fold.ranks[member] > .nobody) {
                    return "another effect of a join of \(member)"
                }
            }
            return nil
        }
    }

    /// A `join` after all changes gives an invited person the rank that the fold foretells.
    @Test func anInvitationForetellsTheRank() {
        forEachLog(count: 3_000) { log in
            let rules = Replica(log.lines).rules
            let fold = GroupFold(rules)
            for member in 0..<rules.memberCount where fold.ranks[member] == .nobody {
                var joined = rules
                let number = joined.add(
                    GroupRules.Change(author: member, act: .join),
                    parents: Array(rules.graph.heads))
                let rank = number.map { _ in GroupFold(joined).ranks[member] }
                if fold.rank(afterJoinOf: member) ?? .nobody != rank ?? .nobody {
                    return "another rank after a join of \(member)"
                }
            }
            return nil
        }
    }

    /// C15: what members sign to slow down the others is folded like the definitions say. `make bench` has the times.
    @Test(arguments: HostileLog.allCases)
    func c15HostileLogsAreFoldedAsDefined(_ log: HostileLog) {
        #expect(Self.difference(log.rules(60)) == nil)
    }

    /// C3: each power comes from a grant before the change, whose author had enough power to give it.
    @Test func c3NoAuthorityIsExceeded() {
        forEachLog { log in
            let rules = Replica(log.lines).rules
            let fold = GroupFold(rules)
            func gives(_ number: Int, to member: Int) -> GroupRank? {
                switch rules.changes[number].act {
                case .create: rules.changes[number].author == member ? .owner : nil
                case .doorJoin(let door):
                    // A door that was open before.
                    rules.changes[number].author == member
                        && rules.changes.indices.contains {
                            guard rules.graph.isBefore($0, number) else { return false }
                            switch rules.changes[$0].act {
                            case .create(let policy): return policy.door == door
                            case .policy(let policy):
                                return policy.door == door && fold.power[$0] >= .admin
                            default: return false
                            }
                        } ? .member : nil
                case .invite(let members, let rank):
                    members.contains(member) && fold.power[number] >= .member ? rank : nil
                case .role(let named, let rank):
                    named == member
                        && (fold.power[number] >= .moderator && fold.power[number] > rank
                            || fold.power[number] == .owner && rank == .owner)
                        ? rank : nil
                default: nil
                }
            }
            for (number, change) in rules.changes.enumerated() where fold.power[number] > .nobody {
                // A new device has at most the power of a member.
                let isNew = fold.devices.isNew.contains(number)
                let hasGrant = rules.changes.indices.contains {
                    guard rules.graph.isBefore($0, number),
                        let rank = gives($0, to: change.author)
                    else { return false }
                    return (isNew ? min(rank, .member) : rank) == fold.power[number]
                }
                if !hasGrant { return "no grant for the power of change \(number)" }
            }
            return nil
        }
    }

    /// C20: nobody but an owner takes their ownership away, whatever happens before, after and concurrently.
    @Test func c20NoOwnerIsDeposed() {
        forEachLog { log in
            let whole = Replica(log.lines).state
            let part = Replica(Array(log.lines.prefix(log.random(1..<log.lines.count + 1)))).state
            for (member, rank) in part.ranks where rank == .owner {
                let gaveUp = log.lines.contains { line in
                    guard line.change.author == member else { return false }
                    switch line.change.act {
                    case .leave: return true
                    case .role(let named, let rank): return named == member && rank < .owner
                    default: return false
                    }
                }
                if !gaveUp, whole.ranks[member] != .owner { return "owner \(member) was deposed" }
            }
            return nil
        }
    }

    /// C3: what a removed, banned or muted member writes at old heads has no effect. Only a `leave` takes back what they did
    /// since; a client stores such a change only after a member names it.
    @Test func c3TheRemovedHaveNoLateEffect() {
        forEachLog { log in
            var lines = log.lines
            let rules = Replica(lines).rules
            let owner = 0
            guard GroupFold(rules).ranks[owner] == .owner else { return nil }
            let banned = log.random(1..<log.members)
            let removal: GroupRules.Act =
                [.ban([banned]), .remove([banned]), .role(banned, .reader)][log.random(0..<3)]
            let mayOwn = lines.contains { line in
                if case .role(banned, .owner) = line.change.act { true } else { false }
            }
            if mayOwn { return nil }
            let last = lines.count
            lines.append(
                RandomLog.Line(
                    change: GroupRules.Change(author: owner, act: removal),
                    parents: Array(Replica(lines).numbers.keys).sorted()))
            let before = Replica(lines).state
            // The role of a person who did not join yet counts when they join.
            if case .role = removal, before.ranks[banned] == nil { return nil }
            let acts: [GroupRules.Act] = [
                .join, .doorJoin(door: RandomLog.doors[0]), .role(banned, .admin),
                .invite([banned], .member), .ban([owner]), .remove(Array(0..<log.members)),
                .policy(GroupRules.Policy(add: .nobody)), .role(1, .owner), .join, .set,
            ]
            for act in acts {
                let parent = log.random(0..<last)
                lines.append(
                    RandomLog.Line(
                        change: GroupRules.Change(author: banned, act: act), parents: [parent]))
            }
            let after = Replica(lines).state
            if before.ranks != after.ranks || before.policy != after.policy {
                return "member \(banned) had a late effect"
            }
            let most: GroupRank = if case .role = removal { .reader } else { .nobody }
            return after.power.contains { $0.key > last && $0.value > most }
                ? "member \(banned) had power" : nil
        }
    }

    /// A removal at an old head takes what was granted meanwhile, and a grant after it counts.
    @Test func theLastWordAfterARemovalIsThatOfTheAdmins() throws {
        var rules = GroupRules()
        func add(_ author: Int, _ act: GroupRules.Act, _ parents: Int...) throws -> Int {
            let number = rules.add(
                GroupRules.Change(author: author, act: act), parents: parents)
            return try #require(number)
        }
        let (owner, bob) = (0, 1)
        let create = try add(owner, .create(GroupRules.Policy(add: .admin)))
        let invite = try add(owner, .invite([bob], .member), create)
        let join = try add(bob, .join, invite)
        #expect(GroupFold(rules).ranks[bob] == .member)
        let remove = try add(owner, .remove([bob]), invite)
        #expect(GroupFold(rules).ranks[bob] == .nobody)
        let again = try add(owner, .invite([bob], .reader), join, remove)
        #expect(GroupFold(rules).ranks[bob] == .nobody)
        _ = try add(bob, .join, again)
        #expect(GroupFold(rules).ranks[bob] == .reader)
        #expect(rules.graph.heads.count == 1)
        // A stranger's change is not stored.
        #expect(rules.add(GroupRules.Change(author: 2, act: .join), parents: [again]) == nil)
        #expect(
            rules.add(
                GroupRules.Change(author: 2, act: .create(GroupRules.Policy(add: .member))),
                parents: []) == nil)
    }

    // MARK: Known answers

    @Test(arguments: [("logs", 65), ("deviceLogs", 52)]) func theKnownLogsAreFolded(
        _ name: String, _ count: Int
    ) throws {
        let object = try JSON.object(parsing: Vectors.file("group.json"))
        let logs = try #require(object[name]?.array)
        #expect(logs.count == count)
        for (number, log) in logs.enumerated() {
            let lines = try #require(log.object?["log"]?.array).compactMap(\.object)
            let result = try #require(log.object?["result"]?.object)
            #expect(
                JSON.object(try fold(lines)).canonical() == JSON.object(result).canonical(),
                "log \(number)")
        }
    }

    /// Returns the result of an abstract log, in the form of the known answers.
    private func fold(_ lines: [JSONObject]) throws -> JSONObject {
        var rules = GroupRules()
        var (names, stored, ids): ([String], [String: Int], [String]) = ([], [:], [])
        func number(_ name: String?) -> Int {
            let name = name ?? ""
            if let index = names.firstIndex(of: name) { return index }
            names.append(name)
            return names.count - 1
        }
        for line in lines {
            let rank = GroupRank(rawValue: Int(line["rank"]?.integer ?? 0)) ?? .nobody
            let door = Array((line["door"]?.string ?? "").utf8)
            let policy = GroupRules.Policy(
                add: GroupRank(rawValue: Int(line["add"]?.integer ?? 0)) ?? .nobody,
                door: door.isEmpty ? nil : door)
            let author = number(line["by"]?.string)
            let who = number(line["who"]?.string)
            let act: GroupRules.Act
            switch line["act"]?.string {
            case "create": act = .create(policy)
            case "invite": act = .invite([who], rank)
            case "join": act = .join
            case "door-join": act = .doorJoin(door: door)
            case "leave": act = .leave
            case "remove": act = .remove([who])
            case "ban": act = .ban([who])
            case "role": act = .role(who, rank)
            case "policy": act = .policy(policy)
            case "devices":
                let states = (line["states"]?.object ?? [:]).members.compactMap { member in
                    Int(member.name).flatMap { device in
                        member.value.string.flatMap { DeviceList.State(rawValue: $0) }.map {
                            (device, $0)
                        }
                    }
                }
                act = .devices(
                    seq: line["seq"]?.integer ?? 0, Dictionary(uniqueKeysWithValues: states))
            default: act = .set
            }
            let parents = (line["parents"]?.array ?? []).compactMap(\.string)
            let numbers = parents.compactMap { stored[$0] }
            let id = try #require(line["id"]?.string)
            guard numbers.count == parents.count,
                let place = rules.add(
                    GroupRules.Change(
                        author: author, act: act, device: Int(line["device"]?.integer ?? 0)),
                    parents: numbers)
            else { continue }
            stored[id] = place
            ids.append(id)
        }
        let fold = GroupFold(rules)
        var ranks: JSONObject = [:]
        for (number, rank) in fold.ranks.enumerated() where rank > .nobody {
            ranks[names[number]] = .integer(Int64(rank.rawValue))
        }
        var power: JSONObject = [:]
        for (place, id) in ids.enumerated() {
            power[id] = .integer(Int64(fold.power[place].rawValue))
        }
        let result: JSONObject = [
            "add": .integer(Int64(fold.policy.add.rawValue)),
            "door": .string(String(decoding: fold.policy.door ?? [], as: UTF8.self)),
            "power": .object(power), "ranks": .object(ranks),
        ]
        return result
    }

    /// Runs a check on random logs, on both processors. The check returns what is wrong.
    private func forEachLog(
        count: UInt64 = Self.logs, _ check: @escaping @Sendable (inout RandomLog) -> String?
    ) {
        let group = DispatchGroup()
        for part in 0..<2 {
            group.enter()
            let thread = Thread {
                for seed in stride(from: UInt64(part), to: count, by: 2) {
                    var log = RandomLog(seed: seed)
                    if let problem = check(&log) { Issue.record("log \(seed): \(problem)") }
                }
                group.leave()
            }
            // The definitions recur deeply.
            thread.stackSize = 64 << 20
            thread.start()
        }
        group.wait()
    }
}
