import Sotto
import TestSupport
import Testing

/// Invitations without an answer: they are listed, and are taken back.
struct OpenInvitationTests {
    private let circle: Circle

    init() throws {
        circle = try Circle("alice", "bob", "carol", "dave")
        try circle.team("alice", "bob")
    }

    private func id(_ who: String) -> String { circle[who].identity.id.description }

    /// The record of a person that `participants` prints, or `nil`.
    private func participant(_ who: String, for viewer: String) throws -> JSONObject? {
        try circle.must(viewer, "group", ["participants", "--json", "team"]).records.first {
            $0["id"]?.string == id(who)
        }
    }

    /// Opens the mail of a person. Returns the events about groups.
    private func events(_ who: String) throws -> [JSONObject] {
        let run = try circle.read(who)
        guard run.status == 0 else { throw Unexpected(run) }
        return try run.records.flatMap { $0.body["events"]?.array ?? [] }.compactMap(\.object)
    }

    @Test func anInvitedPersonIsListed() throws {
        try circle.group("alice", "invite", "--reader", "team", "carol")
        try circle.settle()
        for viewer in ["alice", "bob", "carol"] {
            let record = try #require(try participant("carol", for: viewer))
            #expect(record["standing"] == .string("invited"))
            #expect(record["role"] == .string("reader") && record["joined"] == nil)
            #expect(record["seesMe"] == .bool(false))
            #expect(try participant("bob", for: viewer)?["standing"] == nil)
        }
        let lines = try circle.must("alice", "group", ["participants", "--text", "team"]).lines
        let line = try #require(lines.last)
        #expect(line.hasPrefix("carol ") && line.hasSuffix("  invited, no answer yet"), "\(lines)")
        try circle.group("carol", "accept", "team")
        try circle.settle()
        try circle.group("alice", "sync")
        try circle.settle()
        for viewer in ["alice", "bob", "carol"] {
            let record = try #require(try participant("carol", for: viewer))
            #expect(record["standing"] == nil && record["joined"] != nil)
        }
    }

    /// The invited person hears of it, also if there are changes in between that only members got.
    @Test func anInvitationIsTakenBack() throws {
        try circle.group("alice", "invite", "team", "carol")
        try circle.settle()
        try circle.group("bob", "nickname", "team", "bobby")
        try circle.settle()
        try circle.group("alice", "remove", "team", "carol")
        let events = try events("carol")
        #expect(events.count == 1 && events[0]["event"] == .string("left"), "\(events)")
        #expect(events.first?["who"]?.string == id("carol"))
        #expect(events.first?["by"]?.string == id("alice"))
        try circle.settle()
        for viewer in ["alice", "bob"] { #expect(try participant("carol", for: viewer) == nil) }
        let shown = try circle.must("carol", "group", ["show", "team"]).records[0]
        #expect(shown["standing"] == .string("left"))
        #expect(try circle["carol"].run("group", ["decline", "team"]).status == 1)
        #expect(try circle["carol"].run("group", ["accept", "team"]).status == 12)
        #expect(try circle.must("alice", "group", ["sync"]).stdout.isEmpty)
        // Another invitation is shown, and is accepted.
        try circle.group("alice", "invite", "team", "carol")
        #expect(try self.events("carol").map { $0["event"] } == [.string("invited")])
        try circle.group("carol", "accept", "team")
        try circle.settle()
        try circle.group("alice", "sync")
        try circle.settle()
        #expect(try circle.state("carol") == circle.state("bob"))
    }

    /// A member who may invite cannot take an invitation back; a higher rank can, whoever invited.
    @Test func onlyAModeratorTakesAnInvitationBack() throws {
        try circle.group("alice", "policy", "team", "add=member")
        try circle.settle()
        try circle.group("bob", "invite", "team", circle["dave"].card)
        try circle.settle()
        #expect(try participant("dave", for: "alice")?["standing"] == .string("invited"))
        let refused = try circle["bob"].run("group", ["remove", "team", id("dave")])
        #expect(refused.status == 12 && refused.stdout.isEmpty, "\(refused)")
        try circle.group("alice", "remove", "team", id("dave"))
        try circle.settle()
        for viewer in ["alice", "bob"] { #expect(try participant("dave", for: viewer) == nil) }
        let unknown = try circle["alice"].run("group", ["remove", "team", id("dave")])
        #expect(unknown.status == 66, "\(unknown)")
    }

    /// A person who never got the invitation hears nothing of the group.
    @Test func anInvitationThatWasNotSentIsTakenBackWithoutAWord() throws {
        func untold() throws -> JSONObject? {
            try circle.must("alice", "group", ["show", "team"]).records[0]["untold"]?.object
        }
        try circle.must("alice", "group", ["invite", "team", "carol"])
        #expect(try untold()?["invited"] == .array([.string(id("carol"))]))
        let run = try circle.must("alice", "group", ["remove", "team", "carol"])
        #expect(try Set(run.records.map { $0["to"]?.string }) == [id("bob")])
        try circle.post("alice", run.stdout)
        #expect(circle.take("carol").isEmpty)
        try circle.settle()
        #expect(try untold() == nil)
        #expect(try circle.must("alice", "group", ["sync"]).stdout.isEmpty)
        #expect(try circle.state("alice") == circle.state("bob"))
    }
}
