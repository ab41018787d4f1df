import Sotto
import TestSupport
import Testing

@testable import SottoState

/// Members who withhold, flood and forge, as the state sees them.
@Suite(.timeLimit(.minutes(60))) struct HostileMemberTests {
    private let scratch = TemporaryDirectory()
    private let me = Sample.identity()
    private let alice = Sample.identity()
    private let mal = Sample.identity()

    private func makeStore() throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: scratch.path), identity: me, lockTimeout: 20)
    }

    /// A group of Alice with the owner of the state and Mal.
    private func makeLog(_ policy: GroupPolicy = GroupPolicy(add: .member)) throws -> SignedLog {
        var log = try SignedLog(by: alice, policy)
        try log.add(me, mal, by: alice)
        return log
    }

    private func stored(
        _ id: GroupID, _ transaction: StateTransaction
    ) throws -> StoredGroup {
        try #require(try transaction.group(id))
    }

    // MARK: Changes

    /// A removal by Alice, after a change of Mal that only Alice got.
    private func removal(
        in log: SignedLog
    ) throws -> (removal: GroupChange, withheld: GroupChange) {
        var theirs = log
        try theirs.sign(.set(.nickname("mm")), by: mal)
        try theirs.sign(.remove([mal.id], []), by: alice)
        let changes = theirs.log.changes.suffix(2)
        return (changes[changes.endIndex - 1], changes[changes.startIndex])
    }

    /// Changes whose parents do not exist.
    private func junk(_ count: Int, in group: GroupID, by author: Identity) throws -> [GroupChange]
    {
        try (0..<count).map { number in
            try GroupChange(
                .set(.nickname("\(number)")), in: group, by: author.signingKey,
                seq: Int64(number) + 2, parents: [GroupID(randomBytes(32))])
        }
    }

    /// A removal that waits is displaced neither by changes of strangers nor by those of the removed member.
    @Test(arguments: [true, false]) func c15NoFloodDisplacesARemoval(_ isOfStranger: Bool) throws {
        let log = try makeLog()
        let (removal, withheld) = try removal(in: log)
        let author = isOfStranger ? Sample.identity() : mal
        try makeStore().transaction { transaction in
            _ = try transaction.receive(log.log.changes, of: log.group, from: alice.id)
            func flood() throws {
                for _ in 0..<6 {
                    let changes = try junk(45, in: log.group, by: author)
                    _ = try transaction.receive(changes, of: log.group, from: author.id)
                }
            }
            func waiting() throws -> [GroupChange] {
                try transaction.waitingChanges(of: stored(log.group, transaction))
            }
            try flood()
            #expect(try waiting().count == Int(StateTransaction.mostAside))
            let missing = try transaction.receive([removal], of: log.group, from: alice.id).missing
            #expect(missing.contains(withheld.id))
            try flood()
            #expect(try waiting().count == Int(StateTransaction.mostAside))
            _ = try transaction.receive([withheld], of: log.group, from: alice.id)
            #expect(try stored(log.group, transaction).state.ranks[mal.id] == nil)
        }
    }

    /// Of many waiting changes of equal people, each keeps the newest.
    @Test func c15EachAuthorKeepsTheNewestWaitingChanges() throws {
        let log = try makeLog()
        let group = StoredGroup(
            number: 1, owner: me.id, device: me.id, log: log.log, state: log.log.fold(), places: [:]
        )
        let first = try junk(3, in: log.group, by: me)
        let flood = try junk(9, in: log.group, by: mal)
        let strange = try junk(5, in: log.group, by: Sample.identity())
        let kept = ChangeIntake.kept(first + flood + strange, most: 6, in: group)
        #expect(kept.map(\.id) == (first + flood.suffix(3)).map(\.id))
        let all = ChangeIntake.kept(first + flood + strange, most: 14, in: group)
        #expect(all.map(\.id) == (first + flood + strange.suffix(2)).map(\.id))
    }

    /// The work on entries grows with the number of changes, not with its square. Before, 20,000 took minutes. Each change is here
    /// many times, because signatures take longer.
    @Test func c15ManyEntriesTakeLittleWork() throws {
        let log = try makeLog()
        let group = StoredGroup(
            number: 1, owner: me.id, device: me.id, log: log.log, state: log.log.fold(), places: [:]
        )
        let stranger = Sample.identity()
        let entry = GroupChange.Entry(card: randomBytes(32))
        let joins = try (0..<100).map { _ in
            try GroupChange(
                .join(entry), in: log.group, by: stranger.signingKey, seq: 1,
                parents: [GroupID(randomBytes(32))])
        }
        let pending = (0..<200).flatMap { _ in joins }
        var intake = ChangeIntake(group, pending: pending, isNew: false)
        // With the square of their number this takes an hour.
        intake.findNamed([], by: mal.id)
        #expect(intake.mayFold)
    }

    /// C2: a member whose removal waits for a change that they withhold gets no message, and no earlier record has keys for them.
    @Test func c2AMemberWhoseRemovalWaitsReadsNothing() throws {
        let log = try makeLog()
        let (removal, withheld) = try removal(in: log)
        try makeStore().transaction { transaction in
            _ = try transaction.receive(log.log.changes, of: log.group, from: alice.id)
            let group = try stored(log.group, transaction)
            #expect(try Set(transaction.readers(of: group)) == [alice.id, mal.id])
            var keys = GroupBody(log.group)
            keys.chain = GroupChain(group: log.group, device: me.id).distribution.object()
            #expect(try !transaction.removeLostRights(from: &keys, of: mal.id))
            _ = try transaction.receive([removal], of: log.group, from: alice.id)
            #expect(try transaction.readers(of: group) == [alice.id])
            #expect(try transaction.removeLostRights(from: &keys, of: mal.id))
            #expect(keys.chain == nil)
            // One without the power for it changes nothing.
            var theirs = log
            try theirs.sign(.set(.nickname("x")), by: alice)
            try theirs.sign(.remove([alice.id], []), by: mal)
            _ = try transaction.receive(
                [#require(theirs.log.changes.last)], of: log.group, from: mal.id)
            #expect(try transaction.readers(of: group) == [alice.id])
            _ = try transaction.receive([withheld], of: log.group, from: alice.id)
            #expect(try transaction.readers(of: stored(log.group, transaction)) == [alice.id])
        }
    }

    /// C15: the changes that go with a removal fit one body: those of the removed member first, then the newest.
    @Test func c15FewChangesGoWithARemoval() throws {
        let dave = Sample.identity()
        var log = try makeLog()
        try log.add(dave, by: alice)
        for number in 0..<3 { try log.sign(.set(.nickname("m\(number)")), by: mal) }
        for number in 0..<60 { try log.sign(.set(.nickname("d\(number)")), by: dave) }
        try log.sign(.remove([mal.id], []), by: alice)
        let changes = log.log.changes
        let places = Dictionary(uniqueKeysWithValues: zip(changes.map(\.id), Int64(1)...))
        let group = StoredGroup(
            number: 1, owner: alice.id, device: alice.id, log: log.log, state: log.log.fold(),
            places: places)
        let told = changes.filter { $0.by == alice.id || $0.act.isJoin }
        let dues = GroupDues(
            group: group, time: .now(), notes: [:], told: told, toldPlaces: told.map { _ in 0 },
            lastTold: 0, room: nil,
            ownCard: OwnCard(present: [], first: []), newCard: nil)
        let removal = try #require(changes.last)
        let before = dues.changes(beforeCutsIn: [removal], told: 0)
        #expect(before.prefix(3).allSatisfy { $0.by == mal.id })
        let newest = changes.dropLast().reversed().prefix(before.count - 3).map(\.id)
        #expect(before.dropFirst(3).map(\.id) == newest && newest.count > 10)
        #expect(before.reduce(0) { $0 + $1.bytes.count } <= 12 << 10)
        // A change that takes no rank away brings none, and neither does one that the person has.
        #expect(dues.changes(beforeCutsIn: [changes[1]], told: 0).isEmpty)
    }

    // MARK: Messages

    /// A body with messages that their author shows.
    private func shown(
        _ bodies: [JSONObject], at place: GroupContent.Place, of group: GroupID
    ) -> GroupBody {
        var body = GroupBody(group)
        body.history = bodies.map {
            [
                "place": .object(place.object), "time": .string(Timestamp.now().description),
                "body": .object($0),
            ]
        }
        return body
    }

    private func texts(_ group: GroupID, _ store: IdentityStore) throws -> [String] {
        try store.history(conversation: .group(group), limit: 100).map {
            $0.record["body"]?.object?["text"]?.string ?? "-"
        }
    }

    /// The answer to a question for a lost message has no event that only this machine writes.
    @Test func anAnswerForgesNoEventOfTheMachine() throws {
        let log = try makeLog()
        let store = try makeStore()
        try store.transaction { transaction in
            _ = try transaction.receive(log.log.changes, of: log.group, from: alice.id)
            var chain = GroupChain(group: log.group, device: mal.id)
            try transaction.receive(chain.distribution)
            let lost = GroupContent.Place(next: chain)
            let content = GroupContent(
                group: log.group, time: .now(), heads: log.log.heads, state: randomBytes(16),
                body: Message.textBody("second"), extra: [])
            _ = try chain.seal(content.bytes)
            let sealed = try chain.seal(content.bytes)
            let address = GroupCopy.Address(id: Envelope.newID(), to: me.id, time: content.time)
            let envelope = Envelope(
                id: address.id, suite: .group, to: me.id, time: address.time,
                payload: chain.copy(sealed, for: address).payload)
            let place = try transaction.place(of: envelope)
            try transaction.keep(transaction.open(place, of: envelope))
            for event in ["verified", "unverified", "key-accepted"] {
                let body: JSONObject = ["type": .string("system"), "event": .string(event)]
                _ = try transaction.take(shown([body], at: lost, of: log.group), from: mal.id)
            }
            _ = try transaction.take(
                shown([Message.textBody("first")], at: lost, of: log.group), from: mal.id)
        }
        #expect(try texts(log.group, store) == ["first"])
    }

    /// A deletion that waits for its message is not displaced by the events of another member.
    @Test func c15NoFloodDisplacesADeletion() throws {
        let group = GroupID(randomBytes(32))
        func message(_ body: JSONObject, _ author: Identity, id: String = Envelope.newID())
            -> Message
        {
            var message = Message(
                id: id, from: author.id, to: nil, time: .now(), suite: .group,
                authenticated: true, trust: .unverified, body: body)
            message.group = group.description
            return message
        }
        func target(_ id: String, _ author: Identity) -> JSON {
            .object(["id": .string(id), "from": .string(author.id.description)])
        }
        let id = Envelope.newID()
        let store = try makeStore()
        try store.transaction { transaction in
            func record(_ message: Message) throws {
                try transaction.recordOpened(
                    id: message.id, digest: sha256(Array(message.id.utf8)), message)
            }
            try record(message(["type": .string("delete"), "target": target(id, alice)], alice))
            for _ in 0...StateTransaction.waitingLimit {
                try record(
                    message(
                        [
                            "type": .string("reaction"),
                            "target": target(Envelope.newID(), alice), "emoji": .string("👍"),
                        ], mal))
            }
            try record(message(Message.textBody("deleted"), alice, id: id))
        }
        #expect(try texts(group, store) == ["-"])
    }

    /// A blocked member shows no earlier messages.
    @Test func aBlockedMemberShowsNoMessages() throws {
        let log = try makeLog(GroupPolicy(add: .member, visibility: .global))
        let store = try makeStore()
        let place = GroupContent.Place(next: GroupChain(group: log.group, device: mal.id))
        let body = shown([Message.textBody("hello")], at: place, of: log.group)
        var contact = Contact(name: "mal", id: mal.id, card: nil)
        contact.isBlocked = true
        try store.transaction { transaction in
            _ = try transaction.receive(log.log.changes, of: log.group, from: alice.id)
            try transaction.save(contact)
            _ = try transaction.take(body, from: mal.id)
        }
        #expect(try texts(log.group, store).isEmpty)
        contact.isBlocked = false
        try store.transaction { transaction in
            try transaction.save(contact)
            _ = try transaction.take(body, from: mal.id)
        }
        #expect(try texts(log.group, store) == ["hello"])
    }
}
