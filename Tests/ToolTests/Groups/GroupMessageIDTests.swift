import Sotto
import TestSupport
import Testing

/// The id of a message to a group belongs to the group, the author, the chain and the number. A sender who knows it and chooses
/// it for another message takes nothing.
@Suite(.timeLimit(.minutes(60))) struct GroupMessageIDTests {
    private let circle: Circle
    private let group: GroupID

    init() throws {
        circle = try Circle("alice", "bob", "mallory")
        try circle.team("alice", "bob", "mallory")
        group = try circle.groupID("alice")
    }

    /// Bob writes to the group. The copies wait. Returns the id.
    private func write(_ text: String) throws -> String {
        try circle.say("bob", text)
        return try #require(try circle["bob"].history("team").last?["id"]?.string)
    }

    /// Alice reads a body with an id that the sender chose.
    private func tellAlice(_ body: JSONObject, by name: String, id: String) throws -> Run {
        let envelope = try Sotto.Sealed.seal(
            body: body, from: circle[name].identity, to: circle["alice"].identity.card(),
            time: .now(), id: id)
        let line = String(decoding: envelope.record.serialized(), as: UTF8.self)
        return try circle.read("alice", [line])
    }

    private func texts(_ conversation: String) throws -> [String] {
        try circle["alice"].history(conversation).compactMap { $0.body["text"]?.string }
    }

    /// Another member sends bodies of each kind with the id of Bob's next message. Alice reads them first.
    @Test func noBodyTakesTheIDOfAMessageOfTheGroup() throws {
        var about = GroupBody(group)
        about.request = [group]
        let from = circle["bob"].identity.id.description
        let earlier = try write("earlier")
        #expect(try circle.texts("alice") == ["earlier"])
        let target: JSON = .object(["id": .string(earlier), "from": .string(from)])
        let bodies: [JSONObject] = [
            about.record, Message.textBody("false"),
            ["type": .string("reaction"), "target": target, "emoji": .string("👍")],
            ["type": .string("delete"), "target": target], ["type": .string("poll")],
        ]
        for (number, body) in bodies.enumerated() {
            let id = try write("message \(number)")
            #expect(try tellAlice(body, by: "mallory", id: id).status == 0)
            #expect(try circle.texts("alice") == ["message \(number)"])
            let found = try circle.must("alice", "history", ["show", id]).records
            #expect(found.map { $0.body["text"] } == [.string("message \(number)")], "\(found)")
        }
        #expect(try texts("team") == ["earlier"] + bodies.indices.map { "message \($0)" })
        // In the other order too.
        let id = try write("first")
        #expect(try circle.texts("alice") == ["first"])
        #expect(try tellAlice(about.record, by: "mallory", id: id).status == 0)
        #expect(try tellAlice(Message.textBody("second"), by: "mallory", id: id).status == 13)
        #expect(try texts("team").last == "first")
    }

    /// The author of both messages cannot make the one to Alice vanish.
    @Test func aMessageToOnePersonStays() throws {
        let id = try write("to all")
        #expect(try tellAlice(Message.textBody("to alice"), by: "bob", id: id).status == 0)
        #expect(try circle.texts("alice") == ["to all"])
        #expect(try texts("bob") == ["to alice"])
        #expect(try texts("team") == ["to all"])
        // A deletion in the group is one in the group.
        try circle.compose("bob", ["delete", id])
        try circle.settle()
        #expect(try texts("bob") == ["to alice"])
        #expect(try texts("team").isEmpty)
    }

    /// A message that is missing is asked for, although another one has its id.
    @Test func aMissingMessageIsAskedFor() throws {
        #expect(try !write("one").isEmpty)
        try circle.settle()
        let id = try write("two")
        _ = circle.take("alice")
        #expect(try tellAlice(Message.textBody("false"), by: "bob", id: id).status == 0)
        #expect(try !write("three").isEmpty)
        try circle.settle()
        #expect(try texts("team") == ["one", "three"])
        for name in ["alice", "bob", "alice", "bob"] {
            try circle.group(name, "sync", "--keys")
            try circle.settle()
        }
        #expect(try texts("team").sorted() == ["one", "three", "two"])
        #expect(try texts("bob") == ["false"])
    }
}
