import Sotto
import TestSupport
import Testing

/// People who entered a group by an invitation: the inviter alone gave them its log.
@Suite(.timeLimit(.minutes(60))) struct NewcomerTests {
    private func isUnconfirmed(_ circle: Circle, _ who: String) throws -> Bool {
        try circle.must(who, "group", ["show", "team"]).records[0]["unconfirmed"] == .bool(true)
    }

    /// A newcomer asks two members whom the inviter did not bring in for their heads, and is unconfirmed until one of them
    /// agrees.
    @Test func aNewcomerIsConfirmedByAnotherMember() throws {
        let circle = try Circle("alice", "bob", "carol", "dave", "eve")
        try circle.must("bob", "contact", ["add", circle["eve"].card])
        try circle.must("eve", "contact", ["add", circle["bob"].card])
        try circle.team("alice", "bob", "carol", "dave")
        try circle.group("alice", "role", "team", "bob", "admin")
        try circle.settle()
        try circle.invite("eve", by: "bob")
        #expect(try isUnconfirmed(circle, "eve"))
        try circle.settle()
        try circle.group("bob", "sync")
        try circle.settle()
        // Nothing waits for the answer.
        try circle.say("eve", "hello")
        try circle.settle()
        #expect(try circle.history("bob") == ["hello"])
        try circle.group("eve", "sync")
        try circle.settle()
        var answers = 0
        for name in ["alice", "bob", "carol", "dave"] {
            let answer = try circle.must(name, "group", ["sync"])
            if answer.text.contains("headsAnswer") { answers += 1 }
            #expect(name != "bob" || !answer.text.contains("headsAnswer"))
            try circle.post(name, answer.stdout)
        }
        #expect(answers == 2)
        let opened = try circle.read("eve")
        #expect(opened.text.contains("\"confirmed\"") && opened.status == 0)
        #expect(try !isUnconfirmed(circle, "eve"))
        try circle.settle()
        #expect(try circle.must("eve", "group", ["sync"]).stdout.isEmpty)
    }

    /// The creator brought in all others: the newcomer has nobody to ask, and is not blocked.
    @Test func theCreatorAloneInvited() throws {
        let circle = try Circle("alice", "bob", "carol")
        try circle.team("alice", "bob")
        try circle.invite("carol", by: "alice")
        #expect(try !isUnconfirmed(circle, "carol"))
        let shown = try circle.must("carol", "group", ["show", "team"])
        #expect(try shown.records[0]["knownFromInviterAlone"] == .bool(true))
        #expect(shown.stderr.contains("known from alice alone"), "\(shown.stderr)")
        try circle.settle()
        try circle.say("carol", "hello")
        try circle.settle()
        #expect(try circle.history("bob") == ["hello"])
    }

    /// The first two members of a group have no other one to ask.
    @Test func nobodyElseConfirmsAPair() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        #expect(try !isUnconfirmed(circle, "bob") && !isUnconfirmed(circle, "alice"))
        #expect(try circle.must("bob", "group", ["sync"]).stdout.isEmpty)
    }

    /// A removed admin hides the removal, and invites. The newcomer remains unconfirmed: the others do not know them.
    @Test func aFalseInviterDoesNotConfirm() throws {
        let circle = try Circle("bob", "alice", "carol", "dave")
        for name in ["alice", "dave"] {
            try circle.must("carol", "contact", ["add", circle[name].card])
            try circle.must(name, "contact", ["add", circle["carol"].card])
        }
        try circle.must("alice", "contact", ["add", circle["dave"].card])
        try circle.must("dave", "contact", ["add", circle["alice"].card])
        try circle.team("alice", "bob", "carol")
        try circle.group("alice", "role", "team", "bob", "admin")
        try circle.settle()
        try circle.group("alice", "remove", "team", "bob")
        _ = circle.take("bob")
        try circle.settle()
        try circle.invite("dave", by: "bob")
        #expect(try isUnconfirmed(circle, "dave"))
        for _ in 0..<2 {
            for name in ["dave", "alice", "carol"] {
                try circle.group(name, "sync")
                for other in ["dave", "alice", "carol"] { try circle.read(other) }
            }
        }
        let shown = try circle.must("dave", "group", ["show", "team"]).records[0]
        #expect(
            shown["unconfirmed"] == .bool(true) || shown["standing"] != .string("member"),
            "\(shown)")
        #expect(
            try circle.must("alice", "group", ["show", "team"]).records[0]["members"] == .integer(2)
        )
    }
}
