import TestSupport

@testable import Sotto

/// A random log of changes whose authors may try anything, often at old heads.
struct RandomLog {
    struct Line {
        var change: GroupRules.Change
        /// The numbers of earlier lines.
        var parents: [Int]
    }

    private(set) var lines: [Line] = []
    let members: Int
    private var generator: SeededGenerator
    static let doors: [[UInt8]] = [[1], [2]]
    static let devices = 2

    init(seed: UInt64) {
        generator = SeededGenerator(state: seed)
        members = Int.random(in: 2...7, using: &generator)
        lines = [Line(change: GroupRules.Change(author: 0, act: .create(policy())), parents: [])]
        let count = Int.random(in: 3...40, using: &generator)
        for number in 1..<count {
            let age = min(number, [1, 1, 1, 2, 3, 8, 40].randomElement(using: &generator)!)
            var parents: Set<Int> = []
            for _ in 0..<Int.random(in: 1...2, using: &generator) {
                parents.insert(Int.random(in: (number - age)..<number, using: &generator))
            }
            // The first two write most, so that there are owners and admins.
            let author = Int.random(in: 0..<(members + 2), using: &generator) % members
            let act = act()
            var device = 0
            if !act.needsIdentity, Int.random(in: 0..<4, using: &generator) == 0 {
                device = Int.random(in: 1...Self.devices, using: &generator)
            }
            lines.append(
                Line(
                    change: GroupRules.Change(author: author, act: act, device: device),
                    parents: parents.sorted()))
        }
        if Int.random(in: 0..<3, using: &generator) == 0 { flood() }
    }

    /// Adds many changes of one member about their own rank, each after the one before it or at an old head, and some of the
    /// others meanwhile.
    private mutating func flood() {
        let author = Int.random(in: 0..<members, using: &generator)
        var last = Int.random(in: 0..<lines.count, using: &generator)
        let ranks: [GroupRank] = [.nobody, .reader, .reader, .member, .moderator, .owner]
        for _ in 0..<Int.random(in: 4...16, using: &generator) {
            let acts: [GroupRules.Act] = [
                .role(author, ranks.randomElement(using: &generator)!), .leave, .join, .join,
                .invite([author], .member), .set, act(),
            ]
            let isOther = Int.random(in: 0..<5, using: &generator) == 0
            let other = Int.random(in: 0..<lines.count, using: &generator)
            let parents: Set<Int> = Int.random(in: 0..<4, using: &generator) == 0 ? [other] : [last]
            lines.append(
                Line(
                    change: GroupRules.Change(
                        author: isOther ? 0 : author,
                        act: isOther ? act() : acts.randomElement(using: &generator)!),
                    parents: parents.sorted()))
            last = lines.count - 1
        }
    }

    private mutating func policy() -> GroupRules.Policy {
        let door = Int.random(in: 0..<4, using: &generator)
        return GroupRules.Policy(
            add: GroupRank(rawValue: Int.random(in: 0...4, using: &generator))!,
            edit: GroupRank(rawValue: Int.random(in: 0...4, using: &generator))!,
            door: door < 2 ? Self.doors[door] : nil)
    }

    private mutating func act() -> GroupRules.Act {
        let who = Int.random(in: 0..<members, using: &generator)
        switch Int.random(in: 0..<29, using: &generator) {
        case 0..<4: return .invite([who], Bool.random(using: &generator) ? .member : .reader)
        case 4:
            return .invite(Array(0..<members), Bool.random(using: &generator) ? .member : .reader)
        case 5..<11: return .join
        case 11..<13: return .doorJoin(door: Self.doors.randomElement(using: &generator)!)
        case 13..<15: return .leave
        case 15..<17: return .remove([who])
        case 17: return .ban([who])
        case 18..<24:
            let ranks: [GroupRank] = [
                .nobody, .reader, .reader, .member, .moderator, .moderator, .admin, .admin, .owner,
            ]
            return .role(who, ranks.randomElement(using: &generator)!)
        case 24: return .policy(policy())
        case 25..<28:
            let states: [DeviceList.State?] = [.new, .full, .full, nil]
            var list: [Int: DeviceList.State] = [:]
            for device in 1...Self.devices {
                list[device] = states.randomElement(using: &generator)!
            }
            return .devices(seq: Int64.random(in: 1...5, using: &generator), list)
        default: return .set
        }
    }

    /// Returns the lines in another order, with duplicates.
    mutating func shuffled() -> [Int] {
        var order = Array(lines.indices)
        for _ in 0..<3 { order.append(lines.indices.randomElement(using: &generator)!) }
        order.shuffle(using: &generator)
        return order
    }

    mutating func random(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
}

extension GroupRules.Act {
    /// Whether only the member's own key signs it.
    fileprivate var needsIdentity: Bool {
        switch self {
        case .create, .join, .doorJoin, .devices, .role(_, .owner): true
        default: false
        }
    }
}

/// A copy of a log as one member has it. A change waits until its parents are there.
struct Replica {
    private(set) var rules = GroupRules()
    /// The number of each stored line.
    private(set) var numbers: [Int: Int] = [:]
    /// The lines, by their numbers.
    private(set) var stored: [Int] = []
    private var waiting: [Int] = []

    /// Takes lines in an order.
    mutating func take(_ order: [Int], of lines: [RandomLog.Line]) {
        waiting += order
        var hasProgressed = true
        while hasProgressed {
            hasProgressed = false
            waiting.removeAll { line in
                if numbers[line] != nil { return true }
                let parents = lines[line].parents.compactMap { numbers[$0] }
                guard parents.count == lines[line].parents.count else { return false }
                if let number = rules.add(lines[line].change, parents: parents) {
                    numbers[line] = number
                    stored.append(line)
                    hasProgressed = true
                }
                return true
            }
        }
    }

    init() {}

    init(_ lines: [RandomLog.Line]) { take(Array(lines.indices), of: lines) }

    /// The conclusion of the replica.
    var state: Conclusion {
        let fold = GroupFold(rules)
        var power: [Int: GroupRank] = [:]
        for (line, number) in numbers { power[line] = fold.power[number] }
        return Conclusion(
            ranks: Dictionary(
                uniqueKeysWithValues: fold.ranks.enumerated().filter { $1 > .nobody }.map {
                    ($0, $1)
                }), power: power, policy: fold.policy)
    }
}

/// The state of a group, without the numbers of a replica.
struct Conclusion: Equatable {
    var ranks: [Int: GroupRank]
    var power: [Int: GroupRank]
    var policy: GroupRules.Policy
}
