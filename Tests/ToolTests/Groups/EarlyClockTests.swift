import Glibc
import Sotto
import TestSupport
import Testing

/// A clock before 1970, such as that of a machine whose battery is empty, ends no program by a trap.
@Suite(.timeLimit(.minutes(60))) struct EarlyClockTests {
    @Test func aClockBefore1970EndsNoProgram() throws {
        let circle = try Circle("alice", "bob", "carol")
        let clock = try MovedClock()
        circle.use(clock)
        clock.set(-(time(nil) + 400 * 86_400))
        let year = try circle.must("alice", "contact", ["show", "--json", "bob"]).records[0]
        #expect(year["added"] != nil)
        try circle.team("alice", "bob", "carol")
        for (who, text) in [("alice", "one"), ("bob", "two")] {
            try circle.say(who, text)
            try circle.settle()
        }
        // Questions and answers store times.
        for who in ["alice", "bob", "carol"] {
            try circle.group(who, "sync")
            try circle.settle()
        }
        #expect(try circle.history("carol") == ["one", "two"])
        for (tool, arguments) in [
            ("history", ["--text", "team"]), ("history", ["list", "--text"]),
            ("history", ["export", "--format", "html"]), ("history", ["keep", "30d", "team"]),
            ("history", ["read", "team"]), ("history", ["--changed-since", "1969-01-01", "team"]),
            ("keygen", ["prekeys"]), ("contact", ["list"]), ("group", ["show", "team"]),
        ] {
            let run = try circle["carol"].run(tool, arguments)
            #expect([0, 1].contains(run.status), "\(tool) \(arguments): \(run.stderr)")
        }
        let sealed = try circle["alice"].encrypt("to one person", to: circle["bob"])
        #expect(try circle["bob"].run("decrypt", stdin: sealed.stdout).status == 0)
        // The clock is right again.
        clock.set(0)
        try circle.say("alice", "three")
        try circle.settle()
        #expect(try circle.history("carol").last == "three")
    }
}
