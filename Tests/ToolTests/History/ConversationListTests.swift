import Foundation
import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// `history list`: its order, the members of groups, and the pins.
struct ConversationListTests {
    /// A message that waits in the outbox is queued until a relay has it.
    @Test func aMessageInTheOutboxIsQueued() throws {
        let circle = try Circle("alice", "bob")
        let sealed = try circle.encrypt("alice", "hello", ["--to", "bob"])
        #expect(try circle["alice"].history("bob")[0]["status"] == .string("unsent"))
        try circle["alice"].queue(sealed)
        #expect(try circle["alice"].history("bob")[0]["status"] == .string("queued"))
        let text = try circle.must("alice", "history", ["bob", "--text"]).text
        #expect(text.contains("[queued]"))
        let id = try #require(circle["alice"].history("bob")[0]["id"]?.string)
        try circle.must("alice", "send", ["--drop", id])
        #expect(try circle["alice"].history("bob")[0]["status"] == .string("failed"))
    }

    /// The invitation to a group that was declined and forgotten leaves the list; messages of a group do not.
    @Test func aForgottenInvitationIsNoConversation() throws {
        let circle = try Circle("alice", "bob")
        func forget(_ ending: String) throws -> String {
            let id = try circle.onlyGroup("bob")
            try circle.group("bob", ending, id)
            try circle.must("bob", "group", ["forget", id])
            return try circle["bob"].run("history", ["list"]).text
        }
        try circle.post("alice", circle.must("alice", "group", ["create", "club", "bob"]).stdout)
        try circle.texts("bob")
        #expect(try circle["bob"].run("history", ["list"]).records.count == 1)
        #expect(try forget("decline").isEmpty)
        try circle.team("alice", "bob")
        try circle.say("alice", "kept")
        try circle.settle()
        #expect(try forget("leave").contains("kept"))
    }

    /// `history`, `export` and `delete` accept each name and id of the list, and a deleted conversation leaves it until it has a
    /// message again.
    @Test func everyListedNameIsAccepted() throws {
        let circle = try Circle("alice", "bob", "carol")
        let bob = circle["bob"]
        try circle.team("alice", "bob")
        try circle.say("alice", "to the team")
        try circle.deliver(circle.must("alice", "encrypt", ["--to", "bob"], "hello"))
        try circle.settle()
        try circle.group("bob", "leave", "team")
        try circle.must("bob", "group", ["forget", "team"])
        func claim(_ from: KeyID?, _ details: JSONObject? = nil) -> String {
            let record = JSONObject([
                ("v", .integer(1)), ("type", .string("message")),
                ("id", .string(Envelope.newID())),
                ("from", from.map { .string($0.description) }),
                ("to", .string(bob.identity.id.description)),
                ("time", .string("2026-01-01T00:00:00Z")),
                ("body", .object(["type": .string("text"), "text": .string("claim")])),
                ("details", details.map { .object($0) }),
            ])
            return String(decoding: record.serialized(), as: UTF8.self) + "\n"
        }
        let chat: JSONObject = [
            "chat": .object(["id": .string("c1"), "name": .string("family")])
        ]
        try circle.must(
            "bob", "history", ["import"],
            claim(circle["carol"].identity.id) + claim(nil) + claim(bob.identity.id, chat))
        let names = try circle.must("bob", "history", ["list", "--text"]).lines.map {
            $0.components(separatedBy: "  ")[0]
        }
        #expect(names.count == 5 && names.contains("unknown sender"), "\(names)")
        #expect(names.contains("c1") && names.contains("alice"), "\(names)")
        for name in names {
            let page = try circle.must("bob", "history", [name]).records
            #expect(page.contains { $0.body["text"] != nil }, "\(name)")
            try circle.must("bob", "history", ["export", name])
            try circle.must("bob", "history", ["delete", "--all", name])
        }
        #expect(try bob.run("history", ["list"]).status == 1)
        try circle.deliver(circle.must("alice", "encrypt", ["--to", "bob"], "again"))
        try circle.settle()
        #expect(try bob.history("list").map { $0["name"] } == [.string("alice")])
    }

    /// What an import claims is marked, is neither unread nor the last of authentic messages, and takes no name.
    @Test func claimsOfAnImportHideNothing() throws {
        let circle = try Circle("alice", "bob", "carol")
        let bob = circle["bob"]
        func claim(_ text: String, from: KeyID, _ more: [(String, JSON?)] = []) -> String {
            let record = JSONObject(
                [
                    ("v", .integer(1)), ("type", .string("message")),
                    ("id", .string(Envelope.newID())), ("from", .string(from.description)),
                    ("to", .string(bob.identity.id.description)),
                    ("time", .string("2099-01-01T00:00:00Z")),
                    ("body", .object(["type": .string("text"), "text": .string(text)])),
                ] + more)
            return String(decoding: record.serialized(), as: UTF8.self) + "\n"
        }
        try circle.deliver(circle.must("alice", "encrypt", ["--to", "bob"], "hello"))
        try circle.settle()
        let (alice, carol, me) = (
            circle["alice"].identity.id, circle["carol"].identity.id, bob.identity.id
        )
        let chat: (String, JSON?) = (
            "details",
            .object(["chat": .object(["id": .string("c1"), "name": .string("alice")])])
        )
        try circle.must(
            "bob", "history", ["import"],
            claim("false", from: alice) + claim("stranger", from: carol)
                + claim("chat", from: me, [chat]))
        let list = try bob.history("list")
        #expect(list.count == 3)
        #expect(list[0]["with"]?.string == alice.description)
        #expect(list.map { $0["unread"] } == [.integer(1), .integer(0), .integer(0)])
        let last = list.map { $0["last"]?.object ?? [:] }
        #expect(last[0]["body"]?.object?["text"] == .string("hello"))
        #expect(last.map { $0["imported"] } == [nil, .bool(true), .bool(true)])
        let lines = try circle.must("bob", "history", ["list", "--text"]).lines
        #expect(lines.map { $0.contains("imported") } == [false, true, true])
        // The name means the person, and only the authentic message is unread.
        #expect(try bob.history("alice").contains { $0.body["text"] == .string("hello") })
        #expect(try bob.history("unread").last?["unread"] == .integer(1))
        // A later authentic message is the last one of a conversation of claims.
        try circle.must("bob", "contact", ["add", circle["carol"].card])
        try circle.must("carol", "contact", ["add", bob.card])
        try circle.deliver(circle.must("carol", "encrypt", ["--to", "bob"], "true"))
        try circle.settle()
        let second = try bob.history("list").first { $0["with"]?.string == carol.description }
        #expect(second?["last"]?.object?["body"]?.object?["text"] == .string("true"))
        #expect(second?["unread"] == .integer(1))
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
        // The list reads no changes.
        try circle["bob"].state { connection throws(StateError) in
            try connection.run("UPDATE group_change SET sealed = x'00'")
        }
        let damaged = try circle.must("bob", "history", ["list"])
        #expect(try damaged.stderr.isEmpty && damaged.records.count == 2)
        #expect(try list()[1]["members"] == .integer(2))
        #expect(try circle["bob"].run("group", ["show", "team"]).status != 0)
    }

    /// The messages of a forgotten group have its name and the beginning of its id, and a new group can have the name.
    @Test func aForgottenGroupIsFoundByItsName() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        try circle.say("alice", "kept")
        try circle.settle()
        let id = try circle.onlyGroup("bob")
        try circle.group("bob", "leave", "team")
        try circle.settle()
        try circle.must("bob", "group", ["forget", "team"])
        let name = "team (\(id.prefix(8)))"
        let listed = try circle["bob"].history("list")
        #expect(listed.map { $0["name"] } == [.string(name)])
        for who in [name, "team"] {
            let texts = try circle["bob"].history(who).compactMap { $0.at("body", "text") }
            #expect(texts == [.string("kept")], "\(who)")
        }
        let found = try circle.must("bob", "history", ["search", "--text", "kept"]).text
        #expect(found.contains("[in \(name)]"), "\(found)")
        // The name alone means the new group.
        try circle.must("bob", "group", ["create", "team"])
        #expect(
            try circle["bob"].run("encrypt", ["--group", "team", "-q"], stdin: [0x78]).status == 0)
        let texts = try circle["bob"].history("team").compactMap { $0.at("body", "text") }
        #expect(texts == [.string("x")])
    }

    /// The rules of a deleted group let nobody post. It is no group for announcements, and does not stand first.
    @Test func aFormerGroupIsMarked() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        try circle.group("alice", "delete", "--yes", "team")
        try circle.settle()
        try circle.deliver(circle.must("alice", "encrypt", ["--to", "bob"], "hello"))
        try circle.settle()
        for who in ["alice", "bob"] {
            let records = try circle[who].history("list")
            #expect(records.count == 2 && records.last?["name"] == .string("team"))
            #expect(records.allSatisfy { $0["announcements"] == nil })
            let text = try circle.must(who, "history", ["list", "--text"]).lines
            #expect(text.last?.hasSuffix("left") == true, "\(text)")
        }
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
