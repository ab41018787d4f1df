import Sotto
@testable import SottoState
import TestSupport
import Testing

/// Who confirms a group that the owner knows from one person or from a backup.
@Suite(.timeLimit(.minutes(60))) struct GroupConfirmationTests {
    private let alice: Party
    private let others = (0..<5).map { _ in Sample.identity() }
    private let now = Timestamp.now()

    init() throws { alice = try Party("alice", in: Home()) }

    /// Ends a transaction without storing anything.
    private struct Rollback: Error {}

    private func undone(_ body: (StateTransaction) throws -> Void) throws {
        do {
            try alice.store().transaction {
                try body($0)
                throw Rollback()
            }
        } catch is Rollback {}
    }

    // MARK: Newcomers

    /// The log of a group whose creator is `others[0]` and whose members are all of them, the owner is invited by `others[1]`.
    private func invitation() throws -> SignedLog {
        var log = try SignedLog(by: others[0])
        try log.add(Array(others.dropFirst()), by: others[0])
        try log.sign(.invite([alice.identity.id], .member), by: others[1])
        return log
    }

    private func take(_ log: SignedLog, _ transaction: StateTransaction) throws -> StoredGroup {
        var body = GroupBody(log.group)
        body.changes = try log.records
        _ = try transaction.take(body, from: others[1].id)
        return try #require(try transaction.group(log.group))
    }

    private func join(_ log: SignedLog, _ transaction: StateTransaction) throws -> StoredGroup {
        try transaction.join(take(log, transaction), SignedLog.entry(of: alice.identity))
    }

    /// The people who are asked for their heads.
    private func asked(
        _ group: StoredGroup, _ transaction: StateTransaction, at time: Timestamp
    ) throws -> [(to: KeyID, body: GroupBody)] {
        try transaction.news(of: group, at: time).filter { $0.body.headsRequest != nil }
    }

    private func later(_ seconds: Int64) -> Timestamp { Timestamp(seconds: now.seconds + seconds) }

    /// Two are drawn, at random, of those whom the inviter did not bring in. The draw is stored.
    @Test func aNewcomerAsksMembersWhomChanceChooses() throws {
        let log = try invitation()
        let known = Set([others[0], others[2], others[3], others[4]].map(\.id))
        var draws: Set<Set<KeyID>> = []
        for _ in 0..<12 {
            try undone { transaction in
                let group = try join(log, transaction)
                #expect(group.drawn.count == 2 && known.isSuperset(of: group.drawn))
                draws.insert(Set(group.drawn))
            }
        }
        #expect(draws.count > 1)
        let group = try alice.store().transaction { try join(log, $0) }
        let drawn = Set(group.drawn)
        for _ in 0..<3 {
            let stored = try alice.store().preview { transaction in
                let stored = try #require(try transaction.group(group.id))
                #expect(stored.drawn == group.drawn && stored.awaitsDrawn)
                return try Set(asked(stored, transaction, at: now).map(\.to))
            }
            #expect(stored == drawn)
        }
    }

    /// Another member takes the place of one who does not answer or leaves, and only an answer of a drawn one counts.
    @Test func onlyDrawnMembersConfirm() throws {
        let log = try invitation()
        try alice.store().transaction { transaction in
            var group = try join(log, transaction)
            let silent = group.drawn[0]
            for hour in 0..<4 {
                let time = later(Int64(hour) * 7_200)
                let question = try #require(
                    try asked(group, transaction, at: time).first { $0.to == silent })
                try transaction.noteSealed(question.body, to: silent, at: time)
                group = try #require(try transaction.group(group.id))
            }
            #expect(group.drawn.count == 3 && Set(group.drawn).count == 3)
            let question = try #require(group.question)
            var answer = GroupBody(group.id)
            (answer.headsAnswer, answer.heads) = (question, group.log.heads)
            let undrawn = try #require(
                others.first { !group.drawn.contains($0.id) && $0.id != others[1].id })
            for person in [others[1].id, undrawn.id] {
                _ = try transaction.take(answer, from: person)
                #expect(try transaction.group(group.id)?.awaitsDrawn == true)
            }
            _ = try transaction.take(answer, from: group.drawn[2])
            let confirmed = try #require(try transaction.group(group.id))
            #expect(!confirmed.awaitsDrawn && !confirmed.isKnownFromInviterAlone)
            #expect(confirmed.drawn.isEmpty)
        }
    }

    /// An inviter can make identities, and these can bring in others.
    @Test func theInviterBringsInNoWitness() throws {
        let people = (0..<8).map { _ in Sample.identity() }
        let door = Sample.door()
        let policy = GroupPolicy(add: .member, door: door.id.publicKey)
        let (creator, inviter, carol) = (people[0], people[1], people[2])
        var log = try SignedLog(by: creator, policy)
        try log.add(inviter, carol, by: creator)
        try log.enter(people[3], by: door)
        // The inviter names the door-join.
        try log.add(people[4], by: inviter)
        try log.add(people[5], by: people[4])
        try log.enter(people[6], by: door)
        try log.add(people[7], by: carol)
        try log.sign(.invite([alice.identity.id], .member), by: inviter)
        try alice.store().transaction { transaction in
            let group = try join(log, transaction)
            #expect(group.members.count == 9)
            #expect(
                Set(group.membersBesidesThoseOfInviter)
                    == Set([creator, carol, people[6], people[7]].map(\.id)))
        }
    }

    /// The group is known from the inviter alone. Nothing waits for anybody.
    @Test func withoutWitnessesNothingIsBlocked() throws {
        var log = try SignedLog(by: others[1])
        try log.add(others[2], others[3], by: others[1])
        try log.sign(.invite([alice.identity.id], .member), by: others[1])
        try alice.store().transaction { transaction in
            let group = try join(log, transaction)
            #expect(group.isKnownFromInviterAlone && !group.awaitsDrawn)
            #expect(try asked(group, transaction, at: now).isEmpty)
            #expect(try transaction.readers(of: group).count == 3)
            _ = try transaction.write(.set(.nickname("Al")), in: group)
        }
        let found = try alice.run("group", ["show", log.group.description])
        #expect(found.status == 0 && found.stderr.contains("is known from"), "\(found)")
        let record = try found.records[0]
        #expect(record["knownFromInviterAlone"] == .bool(true) && record["unconfirmed"] == nil)
    }

    // MARK: Restored groups

    /// Restores a group of the owner with other members.
    private func restore(
        _ people: [Identity], _ transaction: StateTransaction
    ) throws -> StoredGroup {
        var log = try SignedLog(by: alice.identity)
        try log.add(people, by: alice.identity)
        var backup = GroupBackup(id: log.group)
        backup.changes = log.log.changes
        #expect(try transaction.restore(backup).isDoubtful)
        return try #require(try transaction.group(log.group))
    }

    private func answer(_ group: StoredGroup, _ heads: [GroupID]? = nil) throws -> GroupBody {
        var answer = GroupBody(group.id)
        answer.headsAnswer = try #require(group.question)
        answer.heads = heads ?? group.log.heads
        return answer
    }

    /// All are asked, eight at once.
    @Test func allMembersAreAsked() throws {
        let people = (0..<12).map { _ in Sample.identity() }
        try undone { transaction in
            let group = try restore(people, transaction)
            var all: Set<KeyID> = []
            func ask(at time: Timestamp) throws -> Int {
                let questions = try asked(group, transaction, at: time)
                for (to, body) in questions {
                    try transaction.noteSealed(body, to: to, at: time)
                    all.insert(to)
                }
                return questions.count
            }
            #expect(try ask(at: now) == 8)
            #expect(try ask(at: now) == 0)
            #expect(try ask(at: later(700)) == 8)
            #expect(all == Set(people.map(\.id)))
        }
    }

    /// The first answer confirms everybody but its author, and nothing is signed before the second one.
    @Test func anAnswerConfirmsTheOthers() throws {
        let people = Array(others.prefix(3))
        try undone { transaction in
            let group = try restore(people, transaction)
            #expect(throws: GroupError.doubtful(id: group.id.short)) {
                try transaction.readers(of: group)
            }
            // An answer that names an unknown change confirms nobody.
            _ = try transaction.take(
                answer(group, [GroupID(randomBytes(32))]), from: people[1].id)
            #expect(throws: GroupError.doubtful(id: group.id.short)) {
                try transaction.readers(of: group)
            }
            for _ in 0..<2 {
                _ = try transaction.take(answer(group), from: people[0].id)
                let first = try #require(try transaction.group(group.id))
                #expect(first.isDoubtful)
                let sending = try transaction.prepareMessage(to: first, at: now)
                #expect(Set(sending.readers) == Set(people.dropFirst().map(\.id)))
                #expect(sending.bodies.allSatisfy { $0.to != people[0].id || $0.body.chain == nil })
                #expect(throws: GroupError.doubtful(id: group.id.short)) {
                    try transaction.write(.set(.name("crew")), in: first)
                }
            }
            _ = try transaction.take(answer(group), from: people[1].id)
            let second = try #require(try transaction.group(group.id))
            #expect(!second.isDoubtful)
            #expect(try Set(transaction.readers(of: second)) == Set(people.map(\.id)))
            _ = try transaction.write(.set(.name("crew")), in: second)
        }
    }

    /// The first one who answers brings in a person, who gets no message and whose answer is not the second one.
    @Test func whoCameLaterIsNoWitness() throws {
        let people = Array(others.prefix(3))
        try undone { transaction in
            let group = try restore(people, transaction)
            let puppet = others[4]
            let invite = try GroupChange(
                .invite([puppet.id], .member), in: group.id, by: people[0].signingKey,
                seq: group.log.nextSeq(of: people[0].id), parents: group.log.heads)
            let join = try GroupChange(
                .join(SignedLog.entry(of: puppet)), in: group.id, by: puppet.signingKey, seq: 1,
                parents: [invite.id])
            var body = try answer(group, [join.id])
            body.changes = try [invite, join].map { try JSON.object(parsing: $0.bytes) }
            _ = try transaction.take(body, from: people[0].id)
            body.changes = []
            _ = try transaction.take(body, from: puppet.id)
            let first = try #require(try transaction.group(group.id))
            #expect(first.members.count == 5 && first.isDoubtful)
            #expect(
                try Set(transaction.readers(of: first)) == Set(people.dropFirst().map(\.id)))
            _ = try transaction.take(body, from: people[1].id)
            let second = try #require(try transaction.group(group.id))
            #expect(!second.isDoubtful)
            #expect(try transaction.readers(of: second).count == 4)
        }
    }

    @Test func oneOtherMemberIsEnough() throws {
        try undone { transaction in
            let group = try restore([others[0]], transaction)
            _ = try transaction.take(answer(group), from: others[0].id)
            #expect(try transaction.group(group.id)?.isDoubtful == false)
        }
    }

    /// The first answer is from a member whom an answer of another one removes.
    @Test func aRemovalCountsAtOnce() throws {
        let people = Array(others.prefix(4))
        try undone { transaction in
            let group = try restore(people, transaction)
            _ = try transaction.take(answer(group), from: people[0].id)
            let removal = try GroupChange(
                .remove([people[0].id, people[1].id], []), in: group.id,
                by: alice.identity.signingKey, seq: group.log.nextSeq(of: alice.identity.id),
                parents: group.log.heads)
            var body = try answer(group, [removal.id])
            body.changes = [try JSON.object(parsing: removal.bytes)]
            _ = try transaction.take(body, from: people[2].id)
            let left = try #require(try transaction.group(group.id))
            #expect(left.members.count == 3 && left.isDoubtful)
            #expect(try transaction.readers(of: left) == [people[3].id])
            _ = try transaction.take(body, from: people[3].id)
            let confirmed = try #require(try transaction.group(group.id))
            #expect(!confirmed.isDoubtful)
            #expect(try transaction.readers(of: confirmed).count == 2)
        }
    }
}
