import TestSupport
import Testing

@testable import Sotto

/// The space of a log: a flood of changes does not keep removals out.
struct GroupSpaceTests {
    private let keys = (1...4).map {
        SigningKey(seed: SecretBytes(copying: [UInt8](repeating: $0, count: 32)))
    }

    private func id(_ number: Int) -> KeyID { KeyID(publicKey: keys[number].publicKey) }

    private func change(
        _ author: Int, _ act: GroupChange.Act, in log: GroupLog, parents: [GroupID]? = nil
    ) throws -> GroupChange {
        try GroupChange(
            act, in: log.group, by: keys[author], seq: log.nextSeq(of: id(author)),
            parents: parents ?? log.heads)
    }

    /// A group of an owner, a member, a moderator and an admin, with space for 30 changes.
    private func newLog() throws -> GroupLog {
        var limits = GroupLog.Limits()
        (limits.changes, limits.reservedChanges) = (30, 2)
        let create = try GroupChange(
            .create(nonce: randomBytes(32), GroupPolicy()), in: nil, by: keys[0], seq: 1,
            parents: [])
        var log = try #require(GroupLog(create, limits: limits))
        let entry = GroupChange.Entry(card: [UInt8](repeating: 1, count: 32))
        var changes: [(Int, GroupChange.Act)] = [(0, .invite([id(1), id(2), id(3)], .member))]
        changes += (1...3).map { ($0, .join(entry)) }
        changes += [(0, .role(id(2), .moderator)), (0, .role(id(3), .admin))]
        for (author, act) in changes {
            #expect(log.add(try change(author, act, in: log)) == .stored)
        }
        return log
    }

    /// Adds changes of the member until the log is full.
    private func flood(_ log: inout GroupLog, _ name: String) throws {
        var number = 0
        while !log.isFull {
            number += 1
            let value = GroupChange.Value.nickname("\(name) \(number)")
            #expect(log.add(try change(1, .set(value), in: log)) == .stored)
        }
    }

    @Test func c15AFullLogHasSpaceForARemoval() throws {
        var log = try newLog()
        try flood(&log, "bob")
        #expect(log.changes.count == 30)
        #expect(log.add(try change(1, .set(.nickname("more")), in: log)) == .refused)
        #expect(log.add(try change(1, .leave([]), in: log)) == .refused)
        #expect(log.add(try change(0, .set(.name("more")), in: log)) == .refused)
        // Each rank has space that the ranks below it do not have.
        for (count, author) in [(2, 2), (2, 3), (2, 0)] {
            for _ in 0..<count {
                let change = try change(author, .ban([id(1)], []), in: log)
                #expect(log.add(change) == .stored)
            }
            #expect(log.add(try change(author, .ban([id(1)], []), in: log)) == .refused)
        }
        #expect(log.fold().ranks[id(1)] == nil)
    }

    /// Two members have other parts of a flood: a removal without its last changes is stored by both.
    @Test func c15ARemovalIsStoredByThoseWithAnotherPartOfTheFlood() throws {
        var log = try newLog()
        var other = log
        try flood(&log, "one")
        try flood(&other, "two")
        let whole = try change(0, .remove([id(1)], []), in: log)
        guard case .waits = other.add(whole) else {
            Issue.record("the flood is known")
            return
        }
        let (heads, left) = log.heads(without: [id(1)])
        #expect(left.count == 23)
        let removal = try change(0, .remove([id(1)], []), in: log, parents: heads)
        #expect(log.add(removal) == .stored && other.add(removal) == .stored)
        #expect(log.fold().ranks == other.fold().ranks && log.fold().ranks[id(1)] == nil)
        #expect(log.heads(without: []).heads == log.heads)
    }
}
