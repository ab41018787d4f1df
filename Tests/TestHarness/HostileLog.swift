package import Sotto

/// Logs that members made to slow down the programs of the others.
package enum HostileLog: String, CaseIterable, Sendable {
    /// A reader gives ranks to themselves, and leaves, in turns.
    case readerRoles
    /// An invited person joins and leaves again and again, and is given ranks meanwhile.
    case joinsAndLeaves
    /// Many changes with the same number, by one device.
    case forks
    /// A moderator gives a rank to a member and takes it away, and the member writes all the time.
    case grantsAndCuts
    /// An admin signs policies, and a member invites.
    case policies
    /// Concurrent policies and concurrent invitations.
    case forkedPolicies
    /// An owner gives ownership again and again, also to themselves.
    case ownership
    /// Concurrent joins, and changes after different ones of them.
    case forkedJoins
    /// Many heads, which changes with many parents unite.
    case manyHeads
    /// Values and invitations by a reader.
    case refusedActs

    private static let (owner, reader, admin, moderator) = (0, 1, 2, 3)

    /// Returns the rules with `count` changes.
    package func rules(_ count: Int) -> GroupRules {
        var writer = Writer()
        let first = writer.begin()
        switch self {
        case .readerRoles: writer.readerRoles(count)
        case .joinsAndLeaves: writer.joinsAndLeaves(count)
        case .forks: writer.forks(count, after: first)
        case .grantsAndCuts: writer.grantsAndCuts(count)
        case .policies: writer.policies(count)
        case .forkedPolicies: writer.forkedPolicies(count, after: first)
        case .ownership: writer.ownership(count)
        case .forkedJoins: writer.forkedJoins(count, after: first)
        case .manyHeads: writer.manyHeads(count, after: first)
        case .refusedActs: writer.refusedActs(count)
        }
        return writer.rules
    }

    private struct Writer {
        var rules = GroupRules()

        @discardableResult
        mutating func add(_ author: Int, _ act: GroupRules.Act, _ parents: [Int]? = nil) -> Int {
            let change = GroupRules.Change(author: author, act: act)
            guard let number = rules.add(change, parents: parents ?? rules.graph.heads) else {
                preconditionFailure("a change is refused")
            }
            return number
        }

        /// Adds the members. Returns the last change.
        mutating func begin() -> Int {
            add(owner, .create(GroupRules.Policy(add: .member, edit: .member)))
            add(owner, .invite([reader], .reader))
            add(owner, .invite([admin, moderator], .member))
            for member in [reader, admin, moderator] { add(member, .join) }
            add(owner, .role(admin, .admin))
            return add(owner, .role(moderator, .moderator))
        }

        mutating func readerRoles(_ count: Int) {
            let acts: [GroupRules.Act] = [
                .role(reader, .reader), .role(reader, .member), .role(reader, .owner),
                .role(reader, .nobody), .leave,
            ]
            while rules.changes.count < count {
                add(reader, acts[rules.changes.count % acts.count])
            }
        }

        mutating func joinsAndLeaves(_ count: Int) {
            while rules.changes.count < count {
                switch rules.changes.count % 4 {
                case 0: add(reader, .join)
                case 1: add(moderator, .role(reader, .reader))
                case 2: add(reader, .leave)
                default: add(reader, .other)
                }
            }
        }

        mutating func forks(_ count: Int, after first: Int) {
            let acts: [GroupRules.Act] = [
                .role(reader, .reader), .leave, .join, .role(reader, .nobody), .other,
            ]
            while rules.changes.count < count {
                add(reader, acts[rules.changes.count % acts.count], [first])
            }
        }

        mutating func grantsAndCuts(_ count: Int) {
            while rules.changes.count < count {
                switch rules.changes.count % 4 {
                case 0: add(moderator, .role(reader, .member))
                case 1: add(moderator, .remove([reader]))
                case 2: add(moderator, .invite([reader], .reader))
                default: add(reader, .join)
                }
            }
        }

        mutating func policies(_ count: Int) {
            while rules.changes.count < count {
                if rules.changes.count % 2 == 0 {
                    let rank: GroupRank = rules.changes.count % 4 == 0 ? .member : .moderator
                    add(admin, .policy(GroupRules.Policy(add: rank)))
                } else {
                    add(moderator, .invite([reader], .member))
                }
            }
        }

        mutating func forkedPolicies(_ count: Int, after first: Int) {
            let half = count / 2
            let policy = GroupRules.Act.policy(GroupRules.Policy(add: .member, edit: .member))
            let policies = (rules.changes.count..<half).map { _ in add(admin, policy, [first]) }
            var number = 0
            while rules.changes.count < count, policies.count > 1 {
                number += 1
                let parents = (0..<min(64, policies.count)).map {
                    policies[(number * 37 + $0 * 61) % policies.count]
                }
                add(moderator, .invite([reader], .member), Array(Set(parents)).sorted())
            }
        }

        mutating func ownership(_ count: Int) {
            while rules.changes.count < count {
                switch rules.changes.count % 3 {
                case 0: add(owner, .role(owner, .owner))
                case 1: add(owner, .role(admin, .owner))
                default: add(admin, .role(admin, .admin))
                }
            }
        }

        mutating func forkedJoins(_ count: Int, after first: Int) {
            let third = count / 3
            var joins: [Int] = []
            while rules.changes.count < third { joins.append(add(reader, .join, [first])) }
            var grants: [Int] = []
            while rules.changes.count < 2 * third {
                grants.append(add(moderator, .invite([reader], .reader), [first]))
            }
            // Each merge has all joins before one and after another: no set has the next one.
            var merges: [Int] = []
            for (number, join) in joins.enumerated() {
                let before = number > 0 ? [merges[number - 1]] : []
                if rules.changes.count >= count - 1 { break }
                merges.append(add(moderator, .other, before + [join]))
            }
            while rules.changes.count < count {
                let number = rules.changes.count
                let parents = [
                    merges[number * 7919 % merges.count], grants[number % grants.count],
                ]
                add(reader, .other, parents.sorted())
            }
        }

        mutating func manyHeads(_ count: Int, after first: Int) {
            while rules.changes.count < count * 3 / 4 { add(reader, .other, [first]) }
            while rules.changes.count < count {
                add(reader, .leave, Array(rules.graph.heads.prefix(256)))
            }
        }

        mutating func refusedActs(_ count: Int) {
            while rules.changes.count < count {
                add(reader, rules.changes.count % 2 == 0 ? .set : .invite([admin, 4], .reader))
            }
        }
    }
}
