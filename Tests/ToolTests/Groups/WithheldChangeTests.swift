import Sotto
import TestSupport
import Testing

/// A relay withholds what one member gets. The heads of later messages tell this member. sotto-formats(5), GROUPS.
@Suite(.timeLimit(.minutes(60))) struct WithheldChangeTests {
    private static let (minute, day) = (60, 86_400)
    private let circle: Circle
    private let clock: MovedClock

    /// All members have Bob's chain. His next change is withheld from Carol, and his message after it is not.
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
        #expect(run.status == 0 && run.stdout.isEmpty, "\(run)")
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
        func readOther(_ text: String) throws -> Run {
            let sealed = try circle["alice"].encrypt(text, to: circle["carol"])
            return try circle["carol"].run("decrypt", stdin: sealed.stdout)
        }
        #expect(try readOther("six days").status == 0)
        clock.set(8 * Self.day)
        let ended = try readOther("eight days")
        #expect(ended.status == 15, "\(ended)")
        let error = try #require(ended.records.first { $0["type"] == .string("error") })
        #expect(error["status"] == .integer(12))
        #expect(ended.stderr.contains("changes of its group did not arrive within a week"))
        // The error is printed once. `group show` shows the gap until the change arrives.
        #expect(try readOther("still eight days").status == 0)
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
