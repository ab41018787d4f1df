import Sotto
import SottoState
import TestSupport
import Testing

/// `group grant --newcomers`: the decision about members who join later.
struct NewcomerGrantTests {
    private let circle: Circle

    init() throws {
        circle = try Circle("alice", "bob", "carol", "dave")
    }

    /// The record of a member that `participants` prints for a person.
    private func participant(_ who: String, for viewer: String = "alice") throws -> JSONObject {
        let id = circle[who].identity.id.description
        let all = try circle.must(viewer, "group", ["participants", "--json", "team"]).records
        return try #require(all.first { $0["id"]?.string == id })
    }

    /// Lets a person join, and tells the members. Returns the names of the events that Alice sees.
    private func join(_ who: String) throws -> [JSON?] {
        try circle.invite(who, by: "alice")
        let run = try circle.read("alice")
        guard run.status == 0 else { throw Unexpected(run) }
        try circle.group("alice", "sync")
        try circle.settle()
        return try run.records.flatMap { $0.body["events"]?.array ?? [] }.map {
            $0.object?["event"]
        }
    }

    /// Who joins after the decision reads the author, as after a grant. Who was there before does not.
    @Test func laterMembersAreGranted() throws {
        try circle.team("alice", "bob", options: ["--visibility", "granted"])
        try circle.say("alice", "one")
        let decided = try circle.must("alice", "group", ["grant", "team", "--newcomers"])
        #expect(decided.stdout.isEmpty)
        #expect(decided.stderr == "group: later members can read all your messages\n")
        #expect(try participant("alice")["newcomersSeeMe"] == .bool(true))
        #expect(try participant("bob")["seesMe"] == .bool(false))
        let table = try circle.must("alice", "group", ["participants", "--text", "team"]).text
        #expect(table.contains("later members see your messages"), "\(table)")
        let names = try join("carol")
        #expect(names.contains(.string("joined")) && !names.contains(.string("question")))
        #expect(try participant("carol")["seesMe"] == .bool(true))
        try circle.say("alice", "two")
        try circle.settle()
        #expect(try circle.history("carol") == ["one", "two"] && circle.history("bob") == [])
        // Bob decides for himself.
        #expect(try participant("bob", for: "bob")["newcomersSeeMe"] == nil)
        // The present members need a grant of their own.
        let granted = try circle.group("alice", "grant", "team", "--all")
        #expect(
            granted.stderr
                == "group: 1 more member can read your messages; later members can too\n")
        try circle.settle()
        #expect(try circle.history("bob") == ["one", "two"])
    }

    /// A member who comes back needs a grant: messages can be about the removal.
    @Test func whoComesBackIsNotGranted() throws {
        try circle.team(
            "alice", "bob", "carol", options: ["--visibility", "granted", "--newcomers"])
        #expect(try participant("carol")["seesMe"] == .bool(true))
        try circle.group("alice", "remove", "team", "carol")
        try circle.settle()
        try circle.say("alice", "about carol")
        try circle.settle()
        let names = try join("carol")
        #expect(names.contains(.string("joined")) && names.contains(.string("question")))
        #expect(try participant("carol")["seesMe"] == .bool(false))
        try circle.say("alice", "again")
        try circle.settle()
        #expect(try circle.history("carol") == [])
    }

    /// C2: a second join of one id is no first one, whether its author learns of both joins at once or of one after the other.
    @Test(arguments: [true, false])
    func c2ASecondJoinGetsNoOldMessages(_ arrivesAtOnce: Bool) throws {
        let (alice, bob) = (circle["alice"].identity, circle["bob"].identity)
        let (removed, twice, once) = (Sample.identity(), Sample.identity(), Sample.identity())
        var log = try SignedLog(by: bob, GroupPolicy(add: .member, visibility: .granted))
        try log.add(alice, by: bob)
        let begun = log.log.changes.count
        try log.add(removed, by: bob)
        try log.sign(.remove([removed.id], []), by: bob)
        try log.add(removed, by: bob)
        try log.add(twice, by: bob)
        try log.sign(.join(SignedLog.entry(of: twice)), by: twice)
        try log.add(once, by: bob)
        let records = try log.records
        let parts =
            arrivesAtOnce ? [Array(records[begun...])] : records[begun...].map { [$0] }
        let store = try circle["alice"].store()
        try store.transaction { transaction in
            func take(_ changes: [JSONObject]) throws {
                var body = GroupBody(log.group)
                body.changes = changes
                _ = try transaction.take(body, from: bob.id)
            }
            try take(Array(records[..<begun]))
            let group = try #require(try transaction.group(log.group))
            _ = try transaction.show(toNewcomersOf: group, true)
            for part in parts { try take(part) }
            let grown = try #require(try transaction.group(log.group))
            func isGranted(_ person: Identity) throws -> Bool {
                #expect(grown.state.ranks[person.id] == .member)
                return try transaction.note(of: person.id, in: grown).isGranted
            }
            #expect(try !isGranted(removed) && !isGranted(twice))
            #expect(try isGranted(once))
        }
    }

    /// The decision is one of the visibility `granted`, and ends with it.
    @Test func theDecisionNeedsItsVisibility() throws {
        try circle.team("alice", "bob", options: ["--visibility", "joined"])
        let grant = ["grant", "team", "--newcomers"]
        #expect(try circle["alice"].run("group", grant).status == 64)
        try circle.group("alice", "policy", "team", "visibility=granted")
        try circle.must("alice", "group", grant)
        try circle.group("alice", "policy", "team", "visibility=joined")
        try circle.group("alice", "policy", "team", "visibility=granted")
        #expect(try participant("alice")["newcomersSeeMe"] == nil)
    }

    @Test func theDecisionIsTakenBack() throws {
        try circle.team(
            "alice", "bob", options: ["--visibility", "granted", "--newcomers"])
        try circle.say("alice", "one")
        #expect(try circle.texts("bob") == ["one"])
        let revoked = try circle.must("alice", "group", ["revoke", "team", "--newcomers"])
        #expect(revoked.stdout.isEmpty)
        #expect(try participant("alice")["newcomersSeeMe"] == nil)
        #expect(try join("carol").contains(.string("question")))
        try circle.say("alice", "two")
        #expect(try circle.texts("bob") == ["two"] && circle.texts("carol") == [])
        for line in [
            ["revoke", "team"], ["grant", "team"], ["grant", "team", "bob", "--newcomers"],
            ["create", "--newcomers", "other"],
        ] {
            #expect(try circle["alice"].run("group", line).status == 64, "\(line)")
        }
    }

    /// As a grant, the decision ends when its author leaves or is removed.
    @Test func theDecisionEndsWithTheMembership() throws {
        try circle.team("alice", "bob", options: ["--visibility", "granted"])
        try circle.must("bob", "group", ["grant", "team", "--newcomers"])
        try circle.group("alice", "remove", "team", "bob")
        try circle.settle()
        try circle.invite("bob", by: "alice")
        try circle.settle()
        #expect(try participant("bob", for: "bob")["newcomersSeeMe"] == nil)
    }

    @Test func creatingAsksOnceOnATerminal() throws {
        for (answer, isDecided) in [("yes\n", true), ("no\n", false)] {
            let session = try TerminalSession(
                circle.home.command(
                    "group", ["create", "--visibility", "granted", "team"],
                    environment: circle["alice"].environment),
                stdout: circle.home.files("records"))
            try session.expect("Type yes to show your messages to all who join later: ")
            try session.type(answer)
            #expect(try session.finish().status == 0)
            let expected: JSON? = isDecided ? .bool(true) : nil
            #expect(try participant("alice")["newcomersSeeMe"] == expected)
            try circle.must("alice", "group", ["leave", "team"])
            try circle.must("alice", "group", ["forget", "team"])
        }
        // With other visibilities nothing is to decide.
        let plain = try TerminalSession(
            circle.home.command(
                "group", ["create", "team"], environment: circle["alice"].environment),
            stdout: circle.home.files("records"))
        #expect(try plain.finish().status == 0)
    }

    @Test func aBackupHasTheDecision() throws {
        try circle.team("alice", "bob", options: ["--visibility", "granted"])
        try circle.must("alice", "group", ["grant", "team", "--newcomers"])
        try circle.backUp("alice")
        try circle.loseState(of: "alice")
        try circle.restore("alice")
        #expect(try participant("alice")["newcomersSeeMe"] == .bool(true))
        // Bob was there before.
        #expect(try participant("bob")["seesMe"] == .bool(false))
    }

    /// The hint for an invitation that was not sent works when it is pasted, also for a person who is no contact any more.
    @Test func anInvitationOfAPersonWhoIsNoContactIsSentAgain() throws {
        try circle.must("alice", "group", ["create", "team", "bob"])
        try circle.must("alice", "contact", ["remove", "bob"])
        let shown = try circle.must("alice", "group", ["show", "team"])
        #expect(
            shown.stderr.contains("sotto group sync team | sotto encrypt | sotto send"),
            "\(shown.stderr)")
        try circle.group("alice", "sync", "team")
        try circle.settle()
        try circle.group("bob", "accept", "team")
        try circle.settle()
        #expect(try participant("bob")["role"] == .string("member"))
    }
}
