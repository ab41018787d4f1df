import Sotto
import TestSupport
import Testing

/// Members who write before they know of each other: all who were members get the messages after the joins are known.
@Suite(.timeLimit(.minutes(60))) struct NewcomerMessageTests {
    private static let newcomers = ["bob", "carol", "dave"]

    /// The members who lack the messages of a person to the team, as `group show` tells.
    private func owed(_ who: String, _ circle: Circle) throws -> [JSON] {
        try circle.must(who, "group", ["show", "team"]).records[0]["owed"]?.array ?? []
    }

    /// Three invited people join, and each writes before any of them knows of another one.
    @Test func severalNewcomersWriteFirstThing() throws {
        let circle = try Circle("alice", "bob", "carol", "dave")
        try circle.group("alice", "create", "team", "bob", "carol", "dave")
        for name in Self.newcomers {
            try circle.texts(name)
            let joined = try circle.group(name, "accept", "team")
            #expect(joined.stderr.contains("with 2 members; 2 more are invited"), "\(joined)")
        }
        for name in Self.newcomers {
            let said = try circle.must(name, "encrypt", ["--group", "team"], "by \(name)")
            #expect(said.stderr.contains(" are invited to team: if they have joined already"))
            try circle.deliver(said)
            let shown = try circle.must(name, "history", ["team", "--text"]).text
            #expect(shown.contains(", invited]"), "\(shown)")
            let record = try circle[name].history("team").last
            #expect(record?["invited"]?.array?.count == 2 && record?["lacking"] == nil)
            #expect(
                try circle.must(name, "group", ["show", "team"]).records[0]["invited"]
                    == .integer(2))
            #expect(try circle[name].run("history", ["unsent"]).status == 1)
        }
        let all = Set(Self.newcomers.map { "by \($0)" })
        try circle.settle()
        #expect(try Set(circle.history("alice")) == all)
        try circle.group("alice", "sync")
        try circle.settle()
        for name in Self.newcomers {
            #expect(try circle.history(name) == ["by \(name)"])
            let record = try circle[name].history("team").last
            #expect(record?["lacking"]?.array?.count == 2 && record?["invited"] == nil)
            #expect(try owed(name, circle).count == 2)
            #expect(try circle[name].run("history", ["unsent"]).status == 0)
        }
        for name in Self.newcomers { try circle.group(name, "sync") }
        try circle.settle()
        for name in Self.newcomers {
            #expect(try Set(circle.history(name)) == all, "\(name)")
            #expect(try owed(name, circle).isEmpty)
            #expect(try circle[name].run("history", ["unsent"]).status == 1)
        }
        // Nothing comes twice.
        try circle.say("dave", "again")
        try circle.settle()
        for name in ["alice", "bob", "carol"] {
            #expect(try circle.history(name).count == 4 && circle.history(name).last == "again")
        }
    }

    /// A message gets to a member who joined before it, and not to one who joined after it, or whose invitation its author did not know:
    /// the time of a join is a claim.
    @Test(arguments: [true, false]) func theTimeOfTheJoinDecides(_ isKnown: Bool) throws {
        let clock = try MovedClock()
        let circle = try Circle("alice", "bob", "carol", clock: clock)
        try circle.team("alice", "bob")
        try circle.group("alice", "invite", "team", "carol")
        if isKnown { try circle.texts("bob") } else { _ = circle.take("bob") }
        clock.set(10)
        try circle.say("bob", "before")
        clock.set(20)
        try circle.texts("carol")
        try circle.group("carol", "accept", "team")
        clock.set(30)
        try circle.say("bob", "after")
        clock.set(40)
        try circle.settle()
        for _ in 0..<2 {
            for name in ["alice", "bob", "carol"] {
                try circle.group(name, "sync")
                try circle.settle()
            }
        }
        #expect(try circle.history("carol") == (isKnown ? ["after"] : []))
        #expect(try circle.history("alice") == ["before", "after"])
    }

    /// Bob and Carol join at once, and Bob writes before he knows of Carol's join.
    private func firstMessage() throws -> Circle {
        let circle = try Circle("alice", "bob", "carol")
        try circle.group("alice", "create", "team", "bob", "carol")
        for name in ["bob", "carol"] {
            try circle.texts(name)
            try circle.group(name, "accept", "team")
        }
        try circle.say("bob", "first")
        try circle.settle()
        return circle
    }

    /// A member who sends nothing else brings the messages with the next one.
    @Test func theNextMessageBringsThem() throws {
        let circle = try firstMessage()
        try circle.say("alice", "welcome")
        try circle.settle()
        try circle.say("bob", "second")
        try circle.settle()
        #expect(try Set(circle.history("carol")) == ["first", "welcome", "second"])
    }

    /// A person who was removed, or whose invitation was taken back, gets nothing.
    @Test func aRemovedPersonGetsNothing() throws {
        let circle = try firstMessage()
        try circle.group("alice", "remove", "team", "carol")
        for _ in 0..<2 {
            for name in ["alice", "bob", "carol"] { try circle.group(name, "sync") }
            try circle.settle()
        }
        #expect(try circle.history("carol").isEmpty)
        #expect(try owed("bob", circle).isEmpty)
    }
}
