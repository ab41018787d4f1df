import TestSupport
import Testing

@testable import Sotto

struct GroupLogTests {
    private let keys = (1...4).map {
        SigningKey(seed: SecretBytes(copying: [UInt8](repeating: $0, count: 32)))
    }

    private func id(_ number: Int) -> KeyID { KeyID(publicKey: keys[number].publicKey) }

    private func change(
        _ author: Int, _ act: GroupChange.Act, in log: GroupLog, parents: [GroupID]? = nil,
        seq: Int64? = nil
    ) throws -> GroupChange {
        try GroupChange(
            act, in: log.group, by: keys[author], seq: seq ?? log.nextSeq(of: id(author)),
            parents: parents ?? log.heads)
    }

    private func newLog(_ policy: GroupPolicy = GroupPolicy()) throws -> GroupLog {
        let create = try GroupChange(
            .create(nonce: randomBytes(32), policy), in: nil, by: keys[0], seq: 1, parents: [])
        return try #require(GroupLog(create))
    }

    private let entry = GroupChange.Entry(card: [UInt8](repeating: 1, count: 32), nickname: "bob")

    /// The changes that Tests/Vectors/group.py made and signed, and the state that it concluded.
    @Test func theKnownChangesAreRead() throws {
        let object = try JSON.object(parsing: Vectors.file("group.json"))
        let signed = try #require(object["signed"]?.object)
        var log: GroupLog?
        for item in try #require(signed["changes"]?.array).compactMap(\.object) {
            let bytes = Array(try #require(item["record"]?.string).utf8)
            let change = try GroupChange(JSON.object(parsing: bytes))
            #expect(change.id.description == item["id"]?.string)
            #expect(change.bytes == bytes)
            if log == nil {
                log = GroupLog(change)
            } else {
                #expect(log?.add(change) == .stored)
            }
        }
        let whole = try #require(log)
        #expect(whole.group.description == signed["group"]?.string)
        let state = whole.fold()
        #expect(String(decoding: state.canonical, as: UTF8.self) == signed["state"]?.string)
        #expect(hex(state.digest) == signed["digest"]?.string)
    }

    /// Two members have one log after each asked the other once, whatever was lost before. Nobody has heads of the other.
    @Test(arguments: UInt64(0)..<40) func twoQuestionsGiveOneLog(seed: UInt64) throws {
        var generator = SeededGenerator(state: seed)
        var views = Array(repeating: try newLog(), count: keys.count)
        func add(_ change: GroupChange, to view: Int) {
            if views[view].outcome(of: change) == .stored { _ = views[view].add(change) }
        }
        /// Gives a change, and all before it, to another view.
        func deliver(_ change: GroupID, from sender: Int, to reader: Int) {
            let past = views[sender].past(of: [change])
            for change in views[sender].changes where past.contains(change.id) {
                add(change, to: reader)
            }
        }
        let invite = try change(0, .invite((1..<keys.count).map { id($0) }, .member), in: views[0])
        for view in views.indices { add(invite, to: view) }
        for _ in 0..<Int.random(in: 1...60, using: &generator) {
            let author = Int.random(in: views.indices, using: &generator)
            add(try change(author, .set(.nickname("x")), in: views[author]), to: author)
            let (sender, reader) = (
                Int.random(in: views.indices, using: &generator),
                Int.random(in: views.indices, using: &generator)
            )
            let sent = views[sender].changes.randomElement(using: &generator)!.id
            deliver(sent, from: sender, to: reader)
        }
        let all = Set(views[0].changes.map(\.id)).union(views[1].changes.map(\.id))
        for (asker, asked) in [(0, 1), (1, 0)] {
            let wanted = views[asked].heads.filter { !views[asker].contains($0) }
            let known = views[asker].heads + views[asker].landmarks
            let answers = views[asked].answers(to: wanted, known: known)
            let byID = Dictionary(
                uniqueKeysWithValues: views[asked].changes.map { ($0.id, $0) })
            for id in answers { add(try #require(byID[id]), to: asker) }
        }
        #expect(Set(views[0].changes.map(\.id)) == all)
        #expect(Set(views[1].changes.map(\.id)) == all)
    }

    /// A member with one change that the other lacks asks for the last ones of many, and gets little more than these.
    @Test func theAnswerToUnknownHeadsIsShort() throws {
        var log = try newLog()
        #expect(log.add(try change(0, .invite([id(1)], .member), in: log)) == .stored)
        for number in 0..<600 {
            let name = GroupChange.Value.nickname("\(number)")
            #expect(log.add(try change(0, .set(name), in: log)) == .stored)
        }
        var other = log
        #expect(other.add(try change(1, .set(.nickname("bob")), in: other)) == .stored)
        for _ in 0..<20 {
            #expect(log.add(try change(0, .set(.nickname("more")), in: log)) == .stored)
        }
        let answers = log.answers(to: log.heads, known: other.heads + other.landmarks)
        #expect(answers.count < 30 && answers.suffix(20) == log.changes.suffix(20).map(\.id)[...])
        #expect(log.answers(to: log.heads, known: other.heads).count == log.changes.count)
    }

    /// C1: without the signature of its author no byte of a change counts.
    @Test func c1AChangedChangeIsRefused() throws {
        let log = try newLog()
        let change = try change(0, .invite([id(1)], .member), in: log)
        let record = try JSON.object(parsing: change.bytes)
        for (name, value) in [
            ("by", JSON.string(id(1).description)), ("seq", .integer(3)),
            ("rank", .string("reader")), ("who", .array([.string(id(2).description)])),
            ("time", .string("2026-01-01T00:00:00Z")), ("extra", .bool(true)),
            ("parents", .array([.string(String(repeating: "0", count: 64))])),
        ] {
            var changed = record
            changed[name] = value
            if name == "by" { changed["device"] = value }
            #expect(throws: GroupChangeError.signature, "\(name)") { try GroupChange(changed) }
        }
        #expect(try GroupChange(record).id == change.id)
    }

    /// C1: a stranger is not stored, and an invited person is no member before they join.
    @Test func c1NobodyIsAddedWithoutTheirSignature() throws {
        var log = try newLog()
        #expect(log.add(try change(1, .join(entry), in: log)) == .refused)
        #expect(log.add(try change(0, .invite([id(1)], .member), in: log)) == .stored)
        #expect(log.fold().ranks == [id(0): .owner])
        // A member may not invite here.
        #expect(log.add(try change(1, .join(entry), in: log)) == .stored)
        #expect(log.fold().ranks[id(1)] == .member)
        #expect(log.fold().nicknames == [id(1): "bob"])
        #expect(log.add(try change(1, .invite([id(2)], .member), in: log)) == .stored)
        #expect(log.add(try change(2, .join(entry), in: log)) == .stored)
        #expect(log.fold().ranks[id(2)] == nil)
    }

    @Test func aChangeWaitsForItsParents() throws {
        var log = try newLog()
        var later = log
        let invite = try change(0, .invite([id(1)], .member), in: log)
        #expect(log.add(invite) == .stored)
        let join = try change(1, .join(entry), in: log)
        #expect(later.add(join) == .waits([invite.id]))
        #expect(later.add(invite) == .stored && later.add(invite) == .known)
        #expect(later.add(join) == .stored && later.heads == [join.id])
        #expect(log.add(join) == .stored)
        #expect(log.fold().digest == later.fold().digest)
    }

    /// C6: two changes of a device with one number prove that it signs two histories.
    @Test func c6AForkIsProved() throws {
        var log = try newLog()
        let heads = log.heads
        let one = try change(0, .set(.name("one")), in: log, parents: heads)
        let two = try change(0, .set(.name("two")), in: log, parents: heads)
        #expect(log.add(one) == .stored && log.add(two) == .stored)
        #expect(log.forks.count == 1 && log.forks[0] == (one.id, two.id))
        // Both count: the smaller id wins.
        let winner = one.id < two.id ? "one" : "two"
        #expect(log.fold().values["name"] == .name(winner))
        #expect(log.heads.count == 2)
        #expect(log.add(try change(0, .merge, in: log)) == .stored)
        #expect(log.heads.count == 1)
        // A gap in the numbers of a device is refused.
        #expect(log.add(try change(0, .merge, in: log, seq: 9)) == .refused)
        // A third change with the same number proves nothing more.
        let three = try change(0, .set(.name("three")), in: log, parents: heads, seq: two.seq)
        #expect(log.add(three) == .stored && log.forks.count == 1)
    }

    @Test func aDoorAdmitsWithItsSignature() throws {
        let door = keys[3]
        var log = try newLog(GroupPolicy(visibility: .granted, door: door.publicKey))
        func proof(_ newcomer: Int) -> [UInt8] {
            door.sign(GroupChange.doorMessage(log.group, id(newcomer)))
        }
        let join = GroupChange.Act.doorJoin(entry, door: door.publicKey, proof: proof(1))
        #expect(throws: GroupChangeError.signature) { try change(2, join, in: log) }
        let old = log.heads
        #expect(log.add(try change(1, join, in: log)) == .stored)
        #expect(log.fold().ranks[id(1)] == .member)
        // A door that closes voids the joins that are not before it.
        #expect(log.add(try change(0, .policy(GroupPolicy()), in: log)) == .stored)
        let late = GroupChange.Act.doorJoin(entry, door: door.publicKey, proof: proof(2))
        #expect(log.add(try change(2, late, in: log, parents: old)) == .stored)
        #expect(log.fold().ranks == [id(0): .owner, id(1): .member])
    }

    @Test func concurrentPoliciesAreTheStrictest() throws {
        var log = try newLog()
        let heads = log.heads
        let one = GroupPolicy(
            add: .owner, visibility: .global, relays: ["tcp://a:1", "tcp://b:1"])
        let two = GroupPolicy(post: .admin, visibility: .granted, relays: ["tcp://b:1"])
        for policy in [one, two] {
            #expect(
                log.add(try change(0, .policy(policy), in: log, parents: heads, seq: 2))
                    == .stored)
        }
        let policy = log.fold().policy
        #expect(policy.add == .owner && policy.post == .admin && policy.visibility == .granted)
        #expect(policy.relays == ["tcp://b:1"])
    }

    @Test(arguments: [
        #"{"seq":0}"#, #"{"v":2}"#, #"{"type":"message"}"#, #"{"act":"other"}"#, #"{"who":[]}"#,
        #"{"rank":"admin"}"#, #"{"parents":[]}"#, #"{"group":"00"}"#, #"{"time":"now"}"#,
        #"{"device":"05"}"#, #"{"who":["05"]}"#,
    ])
    func aMalformedChangeIsRefused(_ members: String) throws {
        let log = try newLog()
        var record = try JSON.object(
            parsing: change(0, .invite([id(1)], .member), in: log).bytes)
        for (name, value) in try JSON.object(parsing: Array(members.utf8)).members {
            record[name] = value
        }
        SignedRecord.sign(&record, with: keys[0])
        #expect(throws: GroupChangeError.self) { try GroupChange(record) }
    }

    /// C15: a change is at most 24 KiB and has one value.
    @Test func c15AChangeIsBounded() throws {
        let log = try newLog()
        #expect(throws: GroupChangeError.form(.tooLong(limit: 24 << 10))) {
            try change(0, .set(.avatar([UInt8](repeating: 0xFF, count: 25_000))), in: log)
        }
        for picture in [[0xFF, 0xD8, 0xFF] + [UInt8](repeating: 0, count: 8_190), [1, 2, 3, 4]] {
            #expect(throws: GroupChangeError.member("avatar")) {
                try change(0, .set(.avatar(picture)), in: log)
            }
        }
        #expect(throws: GroupChangeError.member("about")) {
            try change(0, .set(.about(String(repeating: "a", count: 2_001))), in: log)
        }
        #expect(throws: GroupChangeError.member("name")) {
            try change(0, .set(.name("a\nb")), in: log)
        }
        #expect(throws: GroupChangeError.member("who")) {
            let ids = (0...200).map { _ in Sample.identity().id }
            return try change(0, .invite(ids, .member), in: log)
        }
    }
}
