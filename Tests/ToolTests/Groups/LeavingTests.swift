import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// `group leave`: the question, and the last owner.
struct LeavingTests {
    private let circle: Circle

    init() throws {
        circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
    }

    private func members(_ who: String) throws -> JSON? {
        try circle.must(who, "group", ["show", "team"]).records[0]["members"]
    }

    @Test func theOnlyOwnerDoesNotLeaveByMistake() throws {
        let refused = try circle["alice"].run("group", ["leave", "--yes", "team"])
        #expect(refused.status == 64 && refused.stdout.isEmpty, "\(refused)")
        #expect(refused.stderr.contains("sotto group role team WHO owner"))
        #expect(try circle["alice"].run("group", ["role", "team", "me", "admin"]).status == 64)
        #expect(try members("alice") == .integer(2))
        // With another owner, an owner steps down or leaves.
        try circle.group("alice", "role", "team", "bob", "owner")
        try circle.settle()
        try circle.group("alice", "role", "team", "me", "admin")
        try circle.settle()
        let rank = try circle.must("bob", "group", ["participants", "--json", "team"]).records
            .first { $0["name"] == .string("alice") }?["role"]
        #expect(rank == .string("admin"))
        try circle.group("alice", "leave", "team")
        try circle.settle()
        // Without others nobody needs an owner.
        #expect(try members("bob") == .integer(1))
        try circle.group("bob", "leave", "team")
        #expect(try members("bob") == .integer(0))
    }

    @Test func theOnlyOwnerLeavesAnyway() throws {
        try circle.group("alice", "leave", "--anyway", "team")
        try circle.settle()
        #expect(try members("bob") == .integer(1))
    }

    /// The group is kept until the members are told of the leaving, or until `--anyway`.
    @Test func anUntoldLeavingIsNotForgottenByMistake() throws {
        try circle.must("bob", "group", ["leave", "team"])
        let refused = try circle["bob"].run("group", ["forget", "team"])
        #expect(refused.status == 64, "\(refused)")
        #expect(refused.stderr.contains("1 change of team not told to 1 member"), "\(refused)")
        #expect(refused.stderr.contains("sotto group sync team --send, or give --anyway"))
        try circle.group("bob", "sync", "team")
        try circle.settle()
        #expect(try members("alice") == .integer(1))
        try circle.must("bob", "group", ["forget", "team"])
        #expect(try circle["bob"].run("group", ["show", "team"]).status == 66)
    }

    @Test func theOnlyMemberIsAskedToo() throws {
        try circle.must("alice", "group", ["create", "alone"])
        let session = try TerminalSession(
            circle.home.command(
                "group", ["leave", "alone"], environment: circle["alice"].environment),
            stdout: circle.home.files("records"))
        try session.expect("Type yes to leave alone, its only member: ")
        try session.type("no\n")
        #expect(try session.finish().status == 1)
        let shown = try circle.must("alice", "group", ["show", "alone"])
        #expect(try shown.records[0]["standing"] == .string("member"))
    }

    /// The name of a forgotten group is not taken for the beginning of another name.
    @Test func aForgottenGroupIsNamed() throws {
        try circle.say("alice", "hello")
        try circle.settle()
        try circle.group("bob", "leave", "team")
        try circle.settle()
        try circle.must("bob", "group", ["forget", "team"])
        try circle.must("bob", "group", ["create", "team-two"])
        for (tool, words) in [
            ("group", ["leave", "team"]), ("group", ["rename", "team", "crew"]),
            ("encrypt", ["--group", "team"]), ("compose", ["text", "team"]),
            ("history", ["read", "team"]), ("group", ["show", "team"]),
        ] {
            let run = try circle["bob"].run(tool, words, stdin: Array("x".utf8))
            #expect(run.status == 66, "\(tool): \(run.stderr)")
            #expect(
                run.stderr.contains("team is a group that is not here")
                    && run.stderr.contains("to read them: sotto history 'team ("),
                "\(tool): \(run.stderr)")
        }
        #expect(try circle.must("bob", "history", ["team", "--text"]).text.contains("hello"))
    }

    /// The commands take the abbreviated ids that the lists print.
    @Test func theCommandsTakeListedIds() throws {
        let group = try circle.groupID("alice").description
        let bob = circle["bob"].identity.id.description
        let (short, person) = (String(group.prefix(16)), String(bob.prefix(16)))
        try circle.group("alice", "role", short, person, "admin")
        try circle.group("alice", "role", group, person + "…", "member")
        let early = try circle["alice"].run("group", ["rename", String(group.prefix(10)), "x"])
        #expect(
            early.status == 64 && early.stderr.contains("only the beginning of an id")
                && early.stderr.contains("at least 16 characters of it: \(short)"),
            "\(early.stderr)")
        try circle.must("alice", "contact", ["remove", "bob"])
        // A member who is no contact gets the group again.
        try circle.group("alice", "invite", short + "…", person)
        try circle.group("alice", "remove", short, person)
    }

    @Test func anUntoldLeavingIsForgottenAnyway() throws {
        try circle.must("bob", "group", ["leave", "team"])
        try circle.must("bob", "group", ["forget", "--anyway", "team"])
        #expect(try circle["bob"].run("group", ["show", "team"]).status == 66)
    }

    /// A check belongs to the transaction that acts. While another process writes, no command says what it will find afterwards.
    @Test(
        arguments: [
            ("bob", ["forget", "team"], 64), ("alice", ["forget", "team"], 64),
            ("alice", ["decline", "team"], 1),
        ] as [(String, [String], Int32)])
    func aCommandIsRefusedWhereItWouldAct(
        _ who: String, _ command: [String], _ status: Int32
    ) throws {
        try circle.must("bob", "group", ["leave", "team"])
        let party = circle[who]
        let writer = try DurableDatabase(
            path: circle.home.files(party.database), migrations: [""], lockTimeout: 20)
        let busy = try writer.transaction { (_: StateConnection) throws(StateError) in
            Result { try party.run("group", command + ["--lock-timeout", "0.2"]) }
        }.get()
        try writer.close()
        #expect(busy.status == 75 && busy.stderr.contains("in use"), "\(busy)")
        let refused = try party.run("group", command)
        #expect(refused.status == status && refused.stdout.isEmpty, "\(refused)")
        #expect(try circle[who].run("group", ["show", "team"]).status == 0)
    }

    /// The other owner steps down during the question.
    @Test func theLastOwnerIsKnownWhenTheAnswerComes() throws {
        try circle.group("alice", "role", "team", "bob", "owner")
        try circle.settle()
        let session = try TerminalSession(
            circle.home.command(
                "group", ["leave", "team"], environment: circle["alice"].environment),
            stdout: circle.home.files("records"))
        try session.expect("Type yes to leave team, with 1 other member: ")
        try circle.group("bob", "role", "team", "me", "admin")
        try circle.settle()
        try session.type("yes\n")
        let refused = try session.finish()
        #expect(refused.status == 64, "\(refused.text)")
        #expect(refused.text.contains("you are the only owner of team"), "\(refused.text)")
        #expect(try members("alice") == .integer(2))
        #expect(try circle.home.files.read("records").isEmpty)
    }

    @Test func leavingAsksOnATerminal() throws {
        func leave(_ answer: String) throws -> Run {
            try circle.answer(
                answer, to: "Type yes to leave team, with 1 other member: ", "bob", "leave", "team")
        }
        let kept = try leave("no\n")
        #expect(kept.status == 1 && kept.text.contains("nothing was changed"), "\(kept.text)")
        #expect(try members("bob") == .integer(2))
        #expect(try leave("yes\n").status == 0)
        #expect(try members("bob") == .integer(1))
    }
}
