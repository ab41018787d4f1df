import Glibc
import Sotto
import TestSupport
import Testing

/// C16: `kill -9` in the middle of `encrypt --group`, `decrypt` and `group`. What a killed program did not print is supplied after
/// questions; nothing is twice, and all members have one state.
@Suite(.timeLimit(.minutes(60))) struct KilledGroupTests {
    private static let kills = 70
    private static let names = ["alice", "bob", "carol"]

    private func texts(_ circle: Circle, _ who: String) throws -> [String] {
        try circle[who].history("team", "--limit", "100000").compactMap { $0.body["text"]?.string }
    }

    /// Opens the mail of a person twice: the first `decrypt` is killed.
    private func open(
        _ circle: Circle, _ who: String, _ moment: inout KillMoment, _ random: inout Generator
    ) throws -> Bool {
        let lines = circle.take(who)
        guard !lines.isEmpty else { return false }
        let input = Array(lines.map { $0 + "\n" }.joined().utf8)
        let cut = try KillMoment.kill(
            circle[who].command("decrypt", []), input, &moment, &random)
        let whole = try circle[who].run("decrypt", stdin: input)
        #expect(whole.status == 0, "\(whole.stderr), \(random.comment)")
        return cut.wasKilled == SIGKILL
    }

    @Test func c16KilledGroupProgramsAgree() throws {
        try withGenerator { random in
            let circle = try Circle(Self.names)
            let clock = try MovedClock()
            circle.use(clock)
            try circle.team(Self.names)
            var moments = [KillMoment(), KillMoment(), KillMoment()]
            var killed = [0, 0, 0]
            var round = 0
            while killed.contains(where: { $0 < Self.kills }) {
                let author = Self.names[round % 3]
                let cut = try KillMoment.kill(
                    circle[author].command("encrypt", ["--group", "team", "--elsewhere"]),
                    Array("\(author) \(round)".utf8), &moments[0], &random)
                if cut.wasKilled == SIGKILL { killed[0] += 1 }
                for line in cut.wholeLines { try circle.deliver(line: line) }
                let change = try KillMoment.kill(
                    circle[author].command("group", ["nickname", "team", "\(author)-\(round)"]), [],
                    &moments[1], &random)
                if change.wasKilled == SIGKILL { killed[1] += 1 }
                try circle.post(author, Array(change.wholeLines.map { $0 + "\n" }.joined().utf8))
                for reader in Self.names where reader != author {
                    if try open(circle, reader, &moments[2], &random) { killed[2] += 1 }
                }
                round += 1
                try #require(round < 20 * Self.kills, "the programs end before they can be killed")
            }
            for name in Self.names { try circle.say(name, "last of \(name)") }
            try circle.settle()
            // Questions, answers, and questions that follow from answers.
            for hour in 1...6 {
                clock.set(hour * 3_700)
                for name in Self.names {
                    try circle.group(name, "sync", "--keys")
                    try circle.settle()
                }
            }
            let states = try Set(Self.names.map { try circle.state($0) })
            #expect(states.count == 1, random.comment)
            let expected = try texts(circle, "alice")
            #expect(Set(expected).count == expected.count, random.comment)
            #expect(expected.count > Self.names.count + 5, random.comment)
            for name in ["bob", "carol"] {
                #expect(try texts(circle, name).sorted() == expected.sorted(), random.comment)
            }
        }
    }
}
