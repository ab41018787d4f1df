import Foundation
import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// Members who send too much, too late, or name what nobody has.
@Suite(.timeLimit(.minutes(60))) struct GroupFloodTests {
    /// Signs nicknames of a person, each after the one before it.
    private func nicknames(
        _ circle: Circle, _ who: String, _ count: Int
    ) throws -> [GroupChange] {
        let log = try circle.must(who, "group", ["log", "team"]).records.map { try GroupChange($0) }
        let author = circle[who].identity
        let known = Set(log.flatMap(\.parents))
        var parents = log.map(\.id).filter { !known.contains($0) }
        var seq = Int64(log.count { $0.by == author.id })
        return try (0..<count).map { number in
            seq += 1
            let change = try GroupChange(
                .set(.nickname("\(who) \(number)")), in: log[0].group, by: author.signingKey,
                seq: seq, parents: parents)
            parents = [change.id]
            return change
        }
    }

    /// Sends changes from one person to another.
    private func send(
        _ circle: Circle, _ changes: [GroupChange], from sender: String, to reader: String
    ) throws {
        for start in stride(from: 0, to: changes.count, by: 50) {
            var body = GroupBody(changes[0].group)
            body.changes = try changes[start..<min(start + 50, changes.count)].map {
                try JSON.object(parsing: $0.bytes)
            }
            let line: JSONObject = [
                "v": .integer(1), "type": .string("message"),
                "to": .string(circle[reader].identity.id.description),
                "body": .object(body.record),
            ]
            try circle.post(sender, line.serialized() + [10])
        }
    }

    private func count(_ circle: Circle, _ who: String, by author: String) throws -> Int {
        let id = circle[author].identity.id
        return try circle.must(who, "group", ["log", "team"]).records.count {
            $0["by"] == .string(id.description)
        }
    }

    /// C15: of many changes of one member, some are stored at once, and the rest after another member names or sends them.
    @Test func c15AFloodOfChangesWaits() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        let first = try count(circle, "alice", by: "bob")
        let flood = try nicknames(circle, "bob", 300)
        try send(circle, flood, from: "bob", to: "alice")
        try circle.settle()
        #expect(try count(circle, "alice", by: "bob") == 200)
        // Another message does not let in more.
        try circle.say("carol", "hello")
        try circle.group("carol", "nickname", "team", "cc")
        try circle.settle()
        #expect(try count(circle, "alice", by: "bob") == 200)
        try send(circle, flood, from: "carol", to: "alice")
        try circle.settle()
        #expect(try count(circle, "alice", by: "bob") == first + 300)
        try circle.group("alice", "remove", "team", "bob")
        #expect(
            try !circle.must("alice", "group", ["participants", "--text", "team"]).text.contains(
                "bob"))
    }

    /// C2: changes that a member shows to the remover alone delay no removal, neither this one nor later ones, and if they are many the
    /// removals do not come after them.
    @Test(arguments: [3, 100]) func c2HiddenChangesDelayNoRemoval(_ count: Int) throws {
        let circle = try Circle("alice", "bob", "mal", "dave")
        try circle.team("alice", "bob", "mal", "dave")
        let hidden = try nicknames(circle, "mal", count)
        try send(circle, hidden, from: "mal", to: "alice")
        try circle.settle()
        #expect(try self.count(circle, "alice", by: "mal") == 1 + count)
        for name in ["mal", "dave"] {
            try circle.group("alice", "remove", "team", name)
            _ = circle.take("mal")
            try circle.settle()
            let members = try circle.must("bob", "group", ["participants", "--json", "team"])
            let id = circle[name].identity.id.description
            #expect(try !members.records.contains { $0["id"] == .string(id) }, "\(members)")
            let shown = try circle.must("bob", "group", ["show", "team"]).records[0]
            #expect(shown["missingChanges"] == nil)
        }
        try circle.say("bob", "without them")
        #expect(circle.take("mal").isEmpty && circle.take("dave").isEmpty)
        #expect(try circle.texts("alice") == ["without them"])
        #expect(try self.count(circle, "bob", by: "mal") == (count < 10 ? 1 + count : 1))
    }

    /// C15: a person who is no member passes on the changes of a member. The limit counts them too, and so does one of bytes.
    @Test func c15AStrangerPassesOnNoFlood() throws {
        let circle = try Circle("alice", "bob", "zed")
        try circle.team("alice", "bob")
        let first = try count(circle, "alice", by: "bob")
        let flood = try nicknames(circle, "bob", 300)
        try send(circle, flood, from: "zed", to: "alice")
        try circle.settle()
        #expect(try count(circle, "alice", by: "bob") == 200)
        #expect(first == 1)
    }

    /// C17: a member who left, came back and was muted writes with a chain of the first membership that nobody has seen.
    @Test func c17AMutedMemberHasNoEarlierRank() throws {
        let circle = try Circle("alice", "bob", "mal")
        try circle.team("alice", "bob", "mal")
        let log = try circle.must("mal", "group", ["log", "team"]).records.map {
            try GroupChange($0)
        }
        let mal = circle["mal"].identity
        let known = Set(log.flatMap(\.parents))
        let heads = log.map(\.id).filter { !known.contains($0) }
        var chain = GroupChain(group: log[0].group, device: mal.id)
        let limit = GroupChange.Limit(device: mal.id, chain: chain.id, iteration: 999)
        let leave = try GroupChange(
            .leave([limit]), in: log[0].group, by: mal.signingKey,
            seq: Int64(log.count { $0.by == mal.id }) + 1, parents: heads)
        try send(circle, [leave], from: "mal", to: "alice")
        try send(circle, [leave], from: "mal", to: "bob")
        try circle.settle()
        try send(circle, [leave], from: "alice", to: "mal")
        try circle.settle()
        try circle.group("alice", "invite", "team", "mal")
        try circle.settle()
        try circle.group("mal", "accept", "team")
        try circle.settle()
        try circle.group("alice", "role", "team", "mal", "reader")
        try circle.settle()
        var body = GroupBody(log[0].group)
        body.chain = chain.distribution.object()
        try circle.tell("mal", "bob", body)
        try circle.settle()
        let content = GroupContent(
            group: log[0].group, time: .now(), heads: heads, state: randomBytes(16),
            body: Message.textBody("muted"), extra: [])
        let sealed = try chain.seal(content.bytes)
        let address = GroupCopy.Address(
            id: Envelope.newID(), to: circle["bob"].identity.id, time: content.time)
        let envelope = Envelope(
            id: address.id, suite: .group, to: address.to, time: address.time,
            payload: chain.copy(sealed, for: address).payload)
        let line = String(decoding: envelope.record.serialized(), as: UTF8.self)
        let run = try circle.read("bob", [line])
        #expect(run.status == 12, "\(run)")
        #expect(try circle.history("bob") == [])
    }

    /// A reader does not take over the continuation of a group: it waits as a message request.
    @Test func aReaderContinuesNoGroup() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.group("alice", "role", "team", "carol", "reader")
        try circle.settle()
        let records = try circle.must("carol", "group", ["continue", "team"]).records
        let bob = circle["bob"].identity.id.description
        let invitation = try #require(records.first { $0["to"] == .string(bob) })
        try circle.post("carol", invitation.serialized() + [10])
        _ = try circle.read("bob")
        #expect(try circle.must("bob", "group", ["list", "--json"]).records.count == 1)
    }

    /// C17: a message of a former member that arrives after the removal is marked: nothing proves that it was written before.
    @Test func c17ALateMessageIsMarked() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("carol", "one")
        let early = circle.take("bob")
        try circle.texts("alice")
        try circle.group("alice", "remove", "team", "carol")
        try circle.texts("bob")
        let text = try circle.read("bob", early, ["--text"])
        #expect(text.status == 0 && text.stderr.contains(", late)"), "\(text.stderr)")
        let record = try #require(circle["bob"].history("team").first)
        #expect(record["details"]?.object?["group"]?.object?["late"] == .bool(true))
        #expect(try circle.must("bob", "history", ["team", "--text"]).text.contains("[late]"))
        // The message of a member has no mark.
        let member = try #require(circle["alice"].history("team").first)
        #expect(member["details"]?.object?["group"]?.object?["late"] == nil)
    }

    /// A message whose author lacks the rank until a change arrives waits, which is said, and ends with an error after a week.
    @Test func aMessageWithUnknownChangesEndsWithAnError() throws {
        let (circle, _) = try Circle.withWithheldRank()
        for text in ["one", "two"] { try circle.say("carol", text) }
        let waiting = try circle.read("bob")
        #expect(waiting.status == 0 && waiting.stdout.isEmpty, "\(waiting.stderr)")
        #expect(
            waiting.stderr.components(separatedBy: "note: a message waits for changes").count == 2)
        func age(_ days: Int64) throws {
            try circle["bob"].state { connection throws(StateError) in
                try connection.run("UPDATE held SET time = time - ?", days * 86_400)
            }
        }
        func readOther(_ text: String) throws -> Run {
            let sealed = try circle["alice"].encrypt(text, to: circle["bob"])
            return try circle["bob"].run("decrypt", stdin: sealed.stdout)
        }
        try age(6)
        #expect(try readOther("six days").status == 0)
        try age(2)
        let ended = try readOther("eight days")
        let error = try #require(ended.records.first { $0["type"] == .string("error") })
        #expect(error["status"] == .integer(12), "\(ended)")
        #expect(ended.stderr.contains("changes of its group did not arrive within a week"))
        // It is reported once.
        #expect(try readOther("nine days").status == 0)
    }

    /// A held message that is damaged in the state is reported once, and stops no other message.
    @Test(arguments: [false, true]) func aDamagedHeldMessageIsReported(_ isOld: Bool) throws {
        let (circle, withheld) = try Circle.withWithheldRank()
        for text in ["one", "two"] { try circle.say("carol", text) }
        #expect(try circle.read("bob").stdout.isEmpty)
        try circle["bob"].state { connection throws(StateError) in
            try connection.run(
                "UPDATE held SET sealed = zeroblob(200) WHERE number = (SELECT min(number) FROM held)"
            )
            if isOld { try connection.run("UPDATE held SET time = time - ?", 8 * 86_400) }
        }
        let run =
            try isOld
            ? circle["bob"].run(
                "decrypt",
                stdin: circle["alice"].encrypt("x", to: circle["bob"]).stdout)
            : circle.read("bob", withheld)
        let errors = try run.records.filter { $0["type"] == .string("error") }
        #expect(errors.count == (isOld ? 1 : 0), "\(run.text)")
        #expect(run.stderr.contains("cannot be read and is deleted"), "\(run.stderr)")
        let texts = try run.records.compactMap { $0.body["text"]?.string }
        #expect(texts == (isOld ? ["x"] : ["two"]))
        let left = try circle["bob"].state { connection throws(StateError) in
            try connection.integer("SELECT count(*) FROM held")
        }
        #expect(left == 0)
    }

    /// C15: at most 2,000 messages wait for changes, whoever wrote them. The author with the most loses the oldest.
    @Test func c15HeldMessagesAreLimited() throws {
        let circle = try Circle("alice")
        let store = try circle["alice"].store()
        let group = GroupID(randomBytes(32))
        func envelopes(_ count: Int) throws -> [Envelope] {
            try (0..<count).map { _ in
                try Envelope(record: [
                    "v": .integer(1), "type": .string("envelope"), "id": .string(Envelope.newID()),
                    "suite": .string("group"),
                    "to": .string(circle["alice"].identity.id.description),
                    "time": .string("2026-11-25T10:00:00Z"),
                    "payload": .object(["tag": .base64([1]), "box": .base64([2])]),
                ])
            }
        }
        let honest = Sample.identity().id
        let first = try envelopes(50)
        try store.transaction { transaction in
            for envelope in first {
                try transaction.hold(envelope, .changes(group, author: honest, missing: []))
            }
            for _ in 0..<21 {
                let author = Sample.identity().id
                for envelope in try envelopes(100) {
                    try transaction.hold(envelope, .changes(group, author: author, missing: []))
                }
            }
        }
        let held = try store.preview { try $0.held().map(\.id) }
        #expect(held.count == 2_000 && Set(first.map(\.id)).isSubset(of: held))
    }
}
