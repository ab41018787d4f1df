import Sotto
import TestSupport
import Testing

/// A relay withholds what one member gets. The heads of later messages tell this member. sotto-formats(5), GROUPS.
@Suite(.timeLimit(.minutes(60))) struct WithheldChangeTests {
    private static let (minute, day) = (60, 86_400)
    private let circle: Circle
    private let clock: MovedClock

    /// All members have Bob's chain. His next change is withheld from Carol, and his message after it is not. She reads it.
    init() throws {
        circle = try Circle("alice", "bob", "carol", "dave")
        clock = try MovedClock()
        circle.use(clock)
        try circle.team("alice", "bob", "carol", "dave")
        try circle.say("bob", "one")
        try circle.settle()
        try circle.group("bob", "nickname", "team", "Bobby")
        _ = circle.take("carol")
        try circle.settle()
        try circle.say("bob", "two")
        let run = try circle.read("carol")
        #expect(try run.status == 0 && run.records.map { $0.body["text"] } == [.string("two")])
        try circle.settle()
    }

    /// The names of the people whom Carol asks now. The questions are delivered.
    private func ask() throws -> Set<String> {
        let run = try circle.must("carol", "group", ["sync"])
        try circle.post("carol", run.stdout)
        let names = Dictionary(
            uniqueKeysWithValues: circle.people.map { ($1.identity.id.description, $0) })
        return Set(
            try run.records.filter { $0.body["request"] != nil }.compactMap {
                $0["to"]?.string.flatMap { names[$0] }
            })
    }

    /// The people answer, and the relay withholds the answers from Carol.
    private func answer(withholding names: Set<String>) throws {
        for name in ["alice", "bob", "dave"] {
            try circle.texts(name)
            try circle.group(name, "sync")
            if names.contains(name) { _ = circle.take("carol") }
        }
    }

    private func show() throws -> Run { try circle.must("carol", "group", ["show", "team"]) }

    @Test func otherMembersSupplyAWithheldChange() throws {
        let shown = try show()
        #expect(try shown.records[0]["missingChanges"] == .integer(1))
        #expect(try shown.records[0]["missingSince"] != nil)
        #expect(shown.stderr.contains("1 change of the group did not arrive: ask again"))
        #expect(try ask() == ["bob"])
        try answer(withholding: ["bob"])
        // The author has ten minutes.
        #expect(try ask() == [])
        clock.set(9 * Self.minute)
        #expect(try ask() == [])
        clock.set(11 * Self.minute)
        #expect(try ask() == ["alice", "bob", "dave"])
        try answer(withholding: ["bob"])
        let run = try circle.read("carol")
        #expect(run.status == 0, "\(run.stderr)")
        #expect(try circle.history("carol") == ["one", "two"])
        let after = try show().records[0]
        #expect(after["missingChanges"] == nil && after["missingSince"] == nil)
        #expect(try circle.state("carol") == circle.state("bob"))
        #expect(try ask() == [])
    }

    @Test func aChangeThatNobodySuppliesIsSaid() throws {
        for minutes in [0, 11, 35, 2 * 60, 24 * 60, 6 * 24 * 60] {
            clock.set(minutes * Self.minute)
            #expect(try !ask().isEmpty, "\(minutes)")
            try answer(withholding: ["alice", "bob", "dave"])
        }
        clock.set(8 * Self.day)
        // `group show` shows the gap until the change arrives.
        let shown = try show()
        #expect(try shown.records[0]["missingChanges"] == .integer(1))
        #expect(shown.stderr.contains("did not arrive in 8 days, and no member supplied them"))
        // The others have said that they do not have it, as far as Carol knows.
        #expect(try ask() == ["bob"])
        try answer(withholding: [])
        try circle.read("carol")
        #expect(try show().records[0]["missingChanges"] == nil)
        #expect(try circle.state("carol") == circle.state("bob"))
    }

    /// C15: a member shows a change to Bob alone. The messages of Bob, who names it, are read at once, and who reads them asks him.
    @Test func c15AHiddenChangeDelaysNoMessage() throws {
        let id = circle["dave"].identity.id
        let bob = JSON.string(circle["bob"].identity.id.description)
        for (number, text) in ["three", "four"].enumerated() {
            let records = try circle.must("dave", "group", ["nickname", "team", "dd \(number)"])
            for record in try records.records where record["to"] == bob {
                try circle.post("dave", record.serialized() + [10])
            }
            try circle.settle()
            try circle.say("bob", text)
            #expect(try circle.texts("alice") == [text])
        }
        #expect(
            try circle.must("alice", "group", ["show", "team"]).records[0]["missingChanges"] != nil)
        for name in ["alice", "bob", "alice", "bob"] {
            try circle.group(name, "sync")
            try circle.settle()
        }
        #expect(try circle.state("alice") == circle.state("bob"))
        let log = try circle.must("alice", "group", ["log", "team"]).records
        #expect(log.count { $0["by"] == .string(id.description) } == 3)
    }

    /// A message that its author's rank does not permit yet waits for the change that gives the rank, and is read after it.
    @Test func aMessageWaitsForTheRankOfItsAuthor() throws {
        let (circle, _) = try Circle.withWithheldRank()
        try circle.say("carol", "by a moderator")
        let waiting = try circle.read("bob")
        #expect(waiting.status == 0 && waiting.stdout.isEmpty, "\(waiting)")
        let command = "sotto group sync | sotto encrypt | sotto send"
        #expect(waiting.stderr.contains("a message waits for changes of its group: " + command))
        try circle.group("bob", "sync")
        try circle.settle()
        try circle.group("carol", "sync")
        #expect(try circle.texts("bob") == ["by a moderator"])
    }

    /// Carol has a change that nobody else has, so the others know none of her heads. The answer is not the whole log.
    @Test func theAnswerToUnknownHeadsIsShort() throws {
        try circle.group("carol", "nickname", "team", "Caro")
        for name in ["alice", "bob", "dave"] { _ = circle.take(name) }
        clock.set(11 * Self.minute)
        #expect(try ask().contains("bob"))
        try circle.texts("bob")
        let answer = try circle.must("bob", "group", ["sync"])
        let carol = circle["carol"].identity.id.description
        let changes = try answer.records.filter { $0["to"]?.string == carol }
            .flatMap { $0.body["changes"]?.array ?? [] }
        #expect((1...2).contains(changes.count), "\(changes.count)")
        try circle.post("bob", answer.stdout)
        #expect(try circle.read("carol").status == 0)
        #expect(try circle.history("carol") == ["one", "two"])
    }

    /// An author who left the group is not the only one who is asked.
    @Test func theChangeOfALeaverIsAskedForFromOthers() throws {
        try circle.group("bob", "leave", "team")
        try circle.settle()
        try circle.say("alice", "three")
        try circle.settle()
        #expect(try ask() == ["alice", "bob"])
        try answer(withholding: [])
        try circle.settle()
        #expect(try circle.state("carol") == circle.state("alice"))
        #expect(try Set(circle.history("carol")) == ["one", "two", "three"])
    }
}
