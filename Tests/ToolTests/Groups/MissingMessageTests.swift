import Sotto
import TestSupport
import Testing

/// Messages of a group that did not arrive: their readers ask the authors, who send them again.
@Suite(.timeLimit(.minutes(60))) struct MissingMessageTests {
    /// The people run `group sync` three times: questions, answers, and questions that follow from answers.
    private func ask(_ circle: Circle, _ names: String...) throws {
        for name in names + names + names {
            try circle.group(name, "sync", "--keys")
            try circle.settle()
        }
    }

    /// The texts at a person, sorted: the order of messages of one second is not known.
    private func texts(_ circle: Circle, _ who: String) throws -> [String] {
        try circle.history(who).sorted()
    }

    @Test func aLostMessageIsSentAgain() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("bob", "one")
        try circle.settle()
        try circle.say("bob", "two")
        let lost = circle.take("carol")
        try circle.say("bob", "three")
        try circle.settle()
        #expect(try texts(circle, "carol") == ["one", "three"])
        try circle.must("carol", "history", ["read", "team"])
        let shown = try circle.must("carol", "group", ["show", "team"])
        let missing = try shown.records[0]["missing"]?.array?.first?.object
        #expect(missing?["messages"] == .integer(1))
        #expect(missing?["from"] == .string(circle["bob"].identity.id.description))
        #expect(shown.stderr.contains("1 message of"))
        try ask(circle, "carol", "bob")
        #expect(try texts(circle, "carol") == ["one", "three", "two"])
        // It stands before a message that was read, and is unread.
        let unread = try circle["carol"].history("team", "--unread")
        #expect(unread.compactMap { $0.body["text"]?.string } == ["two"])
        let two = try #require(
            try circle["carol"].history("team").first { $0.body["text"] == .string("two") })
        #expect(two["from"] == .string(circle["bob"].identity.id.description))
        #expect(two["authenticated"] == .bool(true))
        #expect(try two["id"] == circle["bob"].history("team")[1]["id"])
        let found = try circle.must("carol", "group", ["show", "team"]).records[0]
        #expect(found["missing"] == nil)
        #expect(try circle.must("carol", "group", ["sync"]).stdout.isEmpty)
        // The lost envelope arrives at last, and says nothing new.
        let late = try circle.read("carol", lost)
        #expect(late.status == 0, "\(late.stderr)")
        #expect(try texts(circle, "carol") == ["one", "three", "two"])
    }

    /// Nobody is asked for messages who may not write any more, or who is blocked: the answers count for nothing.
    @Test(arguments: ["reader", "blocked"])
    func onlyThoseAreAskedWhoseMessagesCount(_ kind: String) throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("bob", "one")
        try circle.settle()
        try circle.say("bob", "two")
        _ = circle.take("alice")
        try circle.say("bob", "three")
        try circle.settle()
        func asks() throws -> Bool {
            try circle.must("alice", "group", ["sync"]).records.contains {
                $0.body["messageRequest"] != nil
            }
        }
        #expect(try asks())
        if kind == "blocked" {
            try circle.must("alice", "contact", ["block", "bob"])
        } else {
            try circle.must("alice", "group", ["role", "team", "bob", "reader"])
        }
        #expect(try !asks())
        if kind == "blocked" { try circle.must("alice", "contact", ["unblock", "bob"]) }
        #expect(try asks() == (kind == "blocked"))
    }

    /// A reaction and a deletion are messages too.
    @Test func lostEventsAreSentAgain() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("bob", "one")
        try circle.say("bob", "two")
        try circle.settle()
        let ids = try circle["bob"].history("team").compactMap { $0["id"]?.string }
        try circle.compose("bob", ["react", ids[0], "👍"])
        try circle.compose("bob", ["delete", ids[1]])
        _ = circle.take("carol")
        try circle.say("bob", "three")
        try circle.settle()
        try ask(circle, "carol", "bob")
        #expect(try texts(circle, "carol") == ["one", "three"])
        let one = try circle["carol"].history("team")[0]
        #expect(one["reactions"]?.array?.count == 1, "\(one)")
    }

    @Test func aLostChainIsSentAgain() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("bob", "one")
        let copies = circle.take("carol").filter { $0.contains("\"suite\":\"group\"") }
        try circle.settle()
        #expect(try circle.read("carol", copies).stdout.isEmpty)
        try ask(circle, "carol", "bob")
        #expect(try texts(circle, "carol") == ["one"])
        try circle.say("bob", "two")
        try circle.settle()
        #expect(try texts(circle, "carol") == ["one", "two"])
    }

    /// The last messages of a chain are missed when the next chain begins.
    @Test func theEndOfAChainIsMissed() throws {
        let circle = try Circle("alice", "bob", "carol", "dave")
        try circle.team("alice", "bob", "carol", "dave")
        try circle.say("bob", "one")
        try circle.settle()
        try circle.say("bob", "two")
        _ = circle.take("carol")
        try circle.settle()
        try circle.group("alice", "remove", "team", "dave")
        try circle.settle()
        try circle.say("bob", "three")
        try circle.settle()
        #expect(try texts(circle, "carol") == ["one", "three"])
        try ask(circle, "carol", "bob")
        #expect(try texts(circle, "carol") == ["one", "three", "two"])
    }

    /// A member gets only what they could read when it was written.
    @Test func c2AQuestionBringsNothingEarlier() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("alice", "one")
        try circle.settle()
        try circle.group("alice", "remove", "team", "carol")
        try circle.settle()
        try circle.say("alice", "without carol")
        try circle.settle()
        try circle.group("alice", "invite", "team", "carol")
        try circle.texts("carol")
        try circle.group("carol", "accept", "team")
        try circle.settle()
        try circle.say("alice", "with carol")
        try circle.settle()
        let ids = try circle["alice"].history("team").compactMap { $0["id"] }
        #expect(ids.count == 3)
        let group = try #require(circle.must("alice", "group", ["show", "team"]).records[0]["id"])
        let question: JSONObject = [
            "v": .integer(1), "type": .string("message"),
            "to": .string(circle["alice"].identity.id.description),
            "body": .object([
                "type": .string("group"), "group": group, "messageRequest": .array(ids),
            ]),
        ]
        try circle.post("carol", question.serialized() + [10])
        try circle.settle()
        let answer = try circle.must("alice", "group", ["sync"]).records
        let texts = answer.flatMap { $0.body["history"]?.array ?? [] }.map {
            $0.object?["body"]?.object?["text"]?.string
        }
        #expect(texts == ["with carol"])
    }

    /// C22: a tag that is garbage makes one question in ten minutes, and a member answers once an hour.
    @Test func c22GarbageIsAskedForOnce() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("bob", "one")
        try circle.settle()
        try circle.group("carol", "sync")
        try circle.settle()
        let garbage = Envelope(
            id: Envelope.newID(), suite: .group, to: circle["carol"].identity.id, time: .now(),
            payload: [
                "tag": .string(hex(randomBytes(16))), "box": .base64(randomBytes(300)),
            ])
        let line = String(decoding: garbage.record.serialized(), as: UTF8.self)
        #expect(try circle.read("carol", [line]).stdout.isEmpty)
        // Strangers can send garbage, so nothing is asked without the option.
        #expect(try circle.must("carol", "group", ["sync"]).stdout.isEmpty)
        let questions = try circle.must("carol", "group", ["sync", "--keys"])
        #expect(try questions.records.count == 2)
        try circle.post("carol", questions.stdout)
        #expect(try circle.must("carol", "group", ["sync", "--keys"]).stdout.isEmpty)
        try circle.settle()
        #expect(try circle.group("bob", "sync").records.count == 1)
        try circle.settle()
        // The answer permits a second question, which is not answered.
        let again = try circle.group("carol", "sync", "--keys").records
        #expect(again.contains { $0.body["chainRequest"] != nil })
        try circle.settle()
        #expect(try circle.must("bob", "group", ["sync"]).stdout.isEmpty)
    }

    /// The sender of another message cannot take the id of a message to the group.
    @Test func theIDOfAMessageCannotBeTaken() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob", "carol")
        try circle.say("bob", "one")
        try circle.settle()
        let show = try circle.must("bob", "group", ["show", "team"]).records[0]
        let group = try #require(show["id"]?.string.flatMap { GroupID($0) })
        let object = try #require(try circle.place(ofLastBy: "bob"))
        var next = object
        next["iteration"] = .integer(1)
        let id = try #require(GroupContent.Place(next)).id(group, circle["bob"].identity.id)
        let squatter: JSONObject = [
            "v": .integer(1), "type": .string("message"), "id": .string(id),
            "to": .string(circle["alice"].identity.id.description),
            "body": .object(["type": .string("text"), "text": .string("mine")]),
        ]
        let sealed = try circle.must(
            "carol", "encrypt", ["--jsonl", "--suite", "sealed"],
            String(decoding: squatter.serialized() + [10], as: UTF8.self))
        try circle.deliver(sealed)
        try circle.settle()
        try circle.say("bob", "two")
        try circle.settle()
        #expect(try texts(circle, "alice") == ["one", "two"])
    }
}
