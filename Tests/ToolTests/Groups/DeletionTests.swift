import Sotto
import SottoState
import TestSupport
import Testing

/// `group delete`: a group ends for all.
struct DeletionTests {
    private let circle: Circle

    init() throws {
        circle = try Circle("alice", "bob", "carol", "dave")
        try circle.team("alice", "bob", "carol")
    }

    /// Opens the mail of a person. Returns the events about groups.
    private func events(_ who: String) throws -> [JSONObject] {
        let run = try circle.read(who)
        guard run.status == 0 else { throw Unexpected(run) }
        return try run.records.flatMap { $0.body["events"]?.array ?? [] }.compactMap(\.object)
    }

    private func standing(_ who: String) throws -> JSON? {
        try circle.must(who, "group", ["show", "team"]).records[0]["standing"]
    }

    @Test func theOwnerEndsAGroupForAll() throws {
        try circle.say("alice", "before")
        try circle.settle()
        // Dave is invited, and has not answered.
        try circle.group("alice", "invite", "team", "dave")
        try circle.settle()
        try circle.group("alice", "delete", "--yes", "team")
        let event = try #require(try events("bob").first { $0["event"] != .string("changed") })
        #expect(event["event"] == .string("conversation_deleted"))
        #expect(event["who"]?.string == circle["alice"].identity.id.description)
        #expect(event["name"] == .string("alice"))
        let said = try circle.read("carol", nil, ["--text"]).text
        #expect(said.contains("[team: alice deleted the group]"), "\(said)")
        try circle.settle()
        for who in ["alice", "bob", "carol"] {
            #expect(try standing(who) == .string("left"))
            let refused = try circle[who].run(
                "encrypt", ["--group", "team"], stdin: Array("after".utf8))
            #expect(refused.status == 12 && refused.stdout.isEmpty, "\(refused)")
        }
        // The invitation is void.
        #expect(try circle["dave"].run("group", ["accept", "team"]).status == 12)
        // The messages stay, and the event is in the history.
        let raw = try circle.must("bob", "history", ["--raw"]).text
        #expect(raw.contains("before") && raw.contains("conversation_deleted"))
        #expect(try circle.must("alice", "group", ["sync"]).stdout.isEmpty)
    }

    /// The change of another member that only the owner has goes with the end of the group, and with a removal.
    @Test(arguments: [["delete", "--yes", "team"], ["remove", "team", "bob"]])
    func aRemovedMemberNeedsNoQuestion(_ arguments: [String]) throws {
        try circle.group("carol", "nickname", "team", "Caro")
        #expect(!circle.take("bob").isEmpty)
        #expect(try circle.read("alice").status == 0)
        let told = try circle.must("alice", "group", arguments)
        try circle.post("alice", told.stdout)
        let names = try events("bob").map { $0["event"] }
        #expect(!names.isEmpty, "\(told.text)")
        #expect(try standing("bob") == .string("left"))
    }

    /// The removals of members with many chains need several changes. Each member gets all of them, and so sees the deletion.
    @Test func aDeletionWithSeveralRemovalsIsSeenByAll() throws {
        let id = try circle.groupID("alice")
        try circle["alice"].store().transaction { state in
            for who in ["bob", "carol"] {
                for _ in 0..<54 {
                    var chain = GroupChain(group: id, device: circle[who].identity.id)
                    _ = try chain.seal(Array("one".utf8))
                    try state.receive(chain.distribution)
                }
            }
        }
        try circle.group("alice", "delete", "--yes", "team")
        let acts = try circle.must("alice", "group", ["log", "team"]).records.map { $0["act"] }
        #expect(acts.filter { $0 == .string("remove") }.count == 2)
        for who in ["bob", "carol"] {
            let names = try events(who).map { $0["event"] }
            #expect(names.contains(.string("conversation_deleted")), "\(who): \(names)")
        }
    }

    /// A removal from a group in which owners alone decide ends it for nobody else, and the removed member sees what happened.
    @Test func aRemovalFromAClosedGroupIsNoDeletion() throws {
        try circle.group("alice", "role", "team", "bob", "owner")
        try circle.group(
            "alice", "policy", "team", "add=owner", "edit=owner", "post=owner", "pin=owner")
        try circle.settle()
        try circle.group("alice", "remove", "team", "carol")
        for who in ["bob", "carol"] {
            let events = try events(who)
            #expect(events.map { $0["event"] } == [.string("left")], "\(who): \(events)")
            #expect(events[0]["by"]?.string == circle["alice"].identity.id.description)
        }
        #expect(try standing("bob") == .string("member"))
    }

    /// A person whom a member without the right to it invites hears nothing of the end.
    @Test func onlyOwnInvitationsAreTakenBack() throws {
        try circle.group("alice", "policy", "team", "add=member")
        try circle.settle()
        try circle.group("bob", "invite", "team", circle["dave"].card)
        try circle.settle()
        let log = try circle.must("alice", "group", ["log", "team"]).text
        #expect(log.contains(circle["dave"].identity.id.description))
        let told = try circle.must("alice", "group", ["delete", "--yes", "team"]).records
        let people = told.compactMap { $0["to"]?.string }
        #expect(!people.isEmpty && !people.contains(circle["dave"].identity.id.description))
    }

    @Test func onlyTheOwnerDeletes() throws {
        try circle.group("alice", "role", "team", "bob", "admin")
        try circle.settle()
        #expect(try circle["bob"].run("group", ["delete", "--yes", "team"]).status == 12)
        // Without a terminal nobody can be asked.
        let unasked = try circle["alice"].run("group", ["delete", "team"])
        #expect(unasked.status == 64 && unasked.stderr.contains("give --yes"), "\(unasked)")
        // No owner can remove another one.
        try circle.group("alice", "role", "team", "bob", "owner")
        try circle.settle()
        let refused = try circle["alice"].run("group", ["delete", "--yes", "team"])
        #expect(refused.status == 64 && refused.stderr.contains("another owner"), "\(refused)")
        #expect(try standing("alice") == .string("member"))
    }

    /// An admin can remove all but the owner. That is no deletion, because the owner can invite again.
    @Test func anAdminDeletesNothing() throws {
        try circle.group("alice", "role", "team", "bob", "admin")
        try circle.settle()
        try circle.group(
            "bob", "policy", "team", "add=owner", "edit=owner", "post=owner", "pin=owner")
        try circle.settle()
        // Carol is no contact of Bob.
        try circle.group("bob", "remove", "team", circle["carol"].identity.id.description)
        try circle.group("bob", "leave", "team")
        let names = try events("carol").map { $0["event"] }
        #expect(names.contains(.string("left")), "\(names)")
        #expect(!names.contains(.string("conversation_deleted")), "\(names)")
    }

    @Test func deletingAsksOnATerminal() throws {
        func delete(_ answer: String) throws -> Run {
            try circle.answer(
                answer, to: "Type yes to delete team for you and 2 other members: ", "alice",
                "delete", "team")
        }
        let kept = try delete("no\n")
        #expect(kept.status == 1 && kept.text.contains("nothing was changed"), "\(kept.text)")
        #expect(try standing("alice") == .string("member"))
        #expect(try delete("yes\n").status == 0)
        #expect(try standing("alice") == .string("left"))
    }
}
