import Sotto
import TestSupport
import Testing

/// `history list`: its order, the members of groups, and the pins.
struct ConversationListTests {
    /// A message that waits in the outbox is queued until a relay has it.
    @Test func aMessageInTheOutboxIsQueued() throws {
        let circle = try Circle("alice", "bob")
        let sealed = try circle.must("alice", "encrypt", ["--to", "bob"], "hello")
        #expect(try circle["alice"].history("bob")[0]["status"] == nil)
        let sent = try circle["alice"].run(
            "send", ["--relay", "tcp://127.0.0.1:1"], stdin: sealed.stdout)
        #expect(sent.status == 75, "\(sent)")
        #expect(try circle["alice"].history("bob")[0]["status"] == .string("queued"))
        let text = try circle.must("alice", "history", ["bob", "--text"]).text
        #expect(text.contains("[queued]"))
        let id = try #require(circle["alice"].history("bob")[0]["id"]?.string)
        try circle.must("alice", "send", ["--drop", id])
        #expect(try circle["alice"].history("bob")[0]["status"] == .string("failed"))
    }

    @Test func announcementsAreFirstThenFavouritesThenByActivity() throws {
        let circle = try Circle("alice", "bob", "carol")
        func tell(_ who: String, _ text: String, to peer: String) throws {
            try circle.deliver(circle.must(who, "encrypt", ["--to", peer], text))
            try circle.settle()
        }
        func list() throws -> [JSONObject] { try circle["bob"].history("list") }
        try circle.team("alice", "bob", "carol", options: ["--preset", "announcements"])
        try circle.say("alice", "welcome")
        try circle.settle()
        try tell("alice", "hello", to: "bob")
        let records = try list()
        #expect(records.map { $0["name"]?.string } == ["team", "alice"])
        #expect(records[0]["announcements"] == .bool(true) && records[1]["announcements"] == nil)
        #expect(records[0]["members"] == .integer(3) && records[1]["members"] == nil)
        // A favourite does not precede announcements.
        try circle.must("bob", "history", ["favourite", "alice"])
        #expect(try list().map { $0["name"]?.string } == ["team", "alice"])
        let text = try circle.must("bob", "history", ["list", "--text"]).text
        #expect(text.contains("announcements, 3 members") && text.contains("favourite"))
        // A group in which every member posts is sorted with the others.
        try circle.group("alice", "policy", "team", "post=member")
        try circle.settle()
        #expect(try list().map { $0["name"]?.string } == ["alice", "team"])
        #expect(try list()[1]["announcements"] == nil)
        try circle.group("alice", "remove", "team", "carol")
        try circle.settle()
        #expect(try list()[1]["members"] == .integer(2))
    }

    @Test func thePinnedMessagesAreCounted() throws {
        let they = try Conversing()
        let ids = try (0..<3).map { try they.tell(they.alice, "\($0)") }
        func count() throws -> JSON? { try they.bob.history("list")[0]["pinned"] }
        #expect(try count() == .integer(0))
        for id in ids + [ids[0]] { try they.say(they.bob, ["pin", id]) }
        #expect(try count() == .integer(3))
        try they.say(they.alice, ["unpin", ids[1]])
        #expect(try count() == .integer(2))
        // A deleted message is not pinned, and neither is one whose pin has ended.
        try they.say(they.alice, ["delete", ids[2]])
        #expect(try count() == .integer(1))
        #expect(try they.bob.run("history", ["list", "--text"]).text.contains("1 pinned"))
        #expect(try they.alice.history("list")[0]["pinned"] == .integer(1))
    }
}
