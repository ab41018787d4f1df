import Foundation
import Glibc
import Sotto
import TestSupport
import Testing

/// Readers of `history`: what they did not acknowledge is printed again, also after a crash.
@Suite(.timeLimit(.minutes(60))) struct ReaderTests {
    let they: Conversing
    var bob: Party { they.bob }

    init() throws { they = try Conversing() }

    func texts(_ arguments: String...) throws -> [String] {
        let run = try bob.run("history", arguments)
        guard [0, 1].contains(run.status) else { throw Unexpected(run) }
        return try run.records.compactMap { $0.body["text"]?.string }
    }

    @Test func aReaderGetsWhatItHasNotAcknowledged() throws {
        #expect(try bob.run("history", ["--as", "bot", "--from-start"]).status == 1)
        for text in ["one", "two", "three"] { try they.tell(they.alice, text) }
        try they.tell(bob, "mine")
        #expect(try texts("--as", "bot") == ["one", "two", "three"])
        // Printing acknowledges nothing.
        #expect(try texts("--as", "bot", "--limit", "2") == ["one", "two"])
        let numbers = try bob.history("--as", "bot").compactMap { $0["number"]?.integer }
        #expect(try bob.run("history", ["ack", "--as", "bot", "\(numbers[1])"]).status == 0)
        #expect(try texts("--as", "bot") == ["three"])
        #expect(try texts("--as", "other", "--from-start", "alice") == ["one", "two", "three"])
        // A number never goes back.
        let back = try bob.run("history", ["ack", "--as", "bot", "\(numbers[0])"])
        #expect(back.status == 0 && back.stderr.contains("before"))
        #expect(try texts("--as", "bot") == ["three"])
        let high = try bob.run("history", ["ack", "--as", "bot", "1000"])
        #expect(high.status == 64 && high.stderr.contains("no message has the number 1000"))
        #expect(try bob.run("history", ["ack", "--as", "bot", "last"]).status == 0)
        #expect(try bob.run("history", ["--as", "bot"]).status == 1)
        let readers = try bob.history("readers")
        #expect(readers.map { $0["name"]?.string } == ["bot", "other"])
        #expect(try bob.run("history", ["ack", "--as", "bot", "--remove"]).status == 0)
        #expect(try texts("--as", "bot", "--from-start") == ["one", "two", "three"])
        // This made the reader again.
        for status: Int32 in [0, 1] {
            #expect(try bob.run("history", ["ack", "--as", "bot", "--remove"]).status == status)
        }
        // The name is not in the file.
        let names = try FileManager.default.contentsOfDirectory(
            atPath: they.home.files(bob.stateDirectory))
        #expect(!names.contains { $0.contains("bot") })
    }

    /// A new reader says where it begins. Later the option has no effect.
    @Test func aNewReaderSaysWhereItBegins() throws {
        for text in ["one", "two"] { try they.tell(they.alice, text) }
        let follow = ["alice", "--as", "my bot", "--exec", "jq -r .body.text", "--limit=5"]
        let words = "sotto history alice --as 'my bot' --exec 'jq -r .body.text' '--limit=5'"
        let unsaid = try bob.run("history", follow)
        #expect(unsaid.status == 64 && unsaid.stdout.isEmpty)
        #expect(
            unsaid.stderr == """
                history: error: the reader my bot is new, and the command does not say where it begins
                history: hint: with the first message: \(words) --from-start, or with the next one: \(words) --from-now

                """)
        let last = try bob.run("history", ["--as", "last", "--", "alice"])
        #expect(last.stderr.contains(": sotto history --as last --from-start -- alice, or"))
        // No reader was made.
        #expect(try bob.run("history", ["readers"]).status == 1)
        #expect(try bob.run("history", ["--as", "new", "--from-now"]).status == 1)
        #expect(try texts("--as", "old", "--from-start") == ["one", "two"])
        try they.tell(they.alice, "three")
        for option in ["--from-start", "--from-now"] {
            #expect(try texts("--as", "new", option) == ["three"])
            #expect(try texts("--as", "old", option) == ["one", "two", "three"])
        }
        #expect(try texts("--as", "new") == ["three"])
        let readers = try bob.history("readers")
        #expect(readers.map { $0["name"]?.string } == ["new", "old"])
        #expect(readers[1]["acknowledged"] == .integer(0))
        // An acknowledgement makes a reader, too.
        #expect(try bob.run("history", ["ack", "--as", "third", "0"]).status == 0)
        #expect(try texts("--as", "third") == ["one", "two", "three"])
    }

    @Test func withRawAReaderGetsAllRecords() throws {
        let id = try they.tell(they.alice, "one")
        try they.say(bob, ["react", id, "👍"])
        try they.tell(bob, "mine")
        let kinds = try bob.history("--as", "bot", "--from-start", "--raw").map {
            $0.body["type"]?.string
        }
        #expect(kinds == ["text", "reaction", "text"])
    }

    @Test func aDeletedMessageIsNotHandled() throws {
        let id = try they.tell(they.alice, "one")
        try they.tell(they.alice, "two")
        try they.say(they.alice, ["delete", id])
        #expect(try texts("--as", "bot", "--from-start") == ["two"])
    }

    @Test func aCommandAcknowledgesWithStatus0() throws {
        for text in ["one", "two", "three"] { try they.tell(they.alice, text) }
        let files = they.home.files
        // It fails at the second message, once.
        let command =
            "jq -r .body.text >> log; if [ -e fail ] && grep -q two log; then rm fail; exit 3; fi"
        files.write("fail", [])
        let path = ["PATH": "/usr/bin:/bin"].merging(bob.environment) { $1 }
        func run() throws -> Run {
            try they.home.command(
                "history", ["--as", "bot", "--from-start", "--exec", command], environment: path
            ).run()
        }
        let first = try run()
        #expect(first.status == 75)
        #expect(first.stderr.contains("history: error: the command exited with 3"))
        #expect(first.stderr.contains("history ack --as bot"))
        #expect(files.lines("log") == ["one", "two"])
        #expect(try run().status == 0)
        #expect(files.lines("log") == ["one", "two", "two", "three"])
        #expect(try run().status == 1)
    }

    /// With --follow a failed command is tried again, and the following messages wait for it.
    @Test func aFailedCommandIsTriedAgain() throws {
        for text in ["one", "two"] { try they.tell(they.alice, text) }
        let files = they.home.files
        let log = files("log")
        let command = "jq -r .body.text >> '\(log)'; [ $(grep -c one '\(log)') -ge 2 ]"
        let follower = ChildProcess(
            "history", ["--as", "bot", "--from-start", "--follow", "--exec", command],
            environment: they.home.environment.merging(bob.environment) { $1 },
            errors: files("errors"))
        func waitFor(_ lines: [String]) {
            for _ in 0..<3_000 where files.lines("log") != lines { usleep(10_000) }
            #expect(files.lines("log") == lines)
        }
        waitFor(["one", "one", "two"])
        try they.tell(they.alice, "three")
        waitFor(["one", "one", "two", "three"])
        // Another process must not run a command for the same reader.
        let second = try bob.run("history", ["--as", "bot", "--exec", "cat"])
        #expect(second.status == 75 && second.stdout.isEmpty)
        follower.kill(SIGTERM)
        follower.wait()
    }

    /// The last stage is killed at each message: each is handled, and only the killed one twice.
    @Test func aKilledReaderLosesNothing() throws {
        let count = 12
        for number in 0..<count { try they.tell(they.alice, "\(number)") }
        let files = they.home.files
        // The command kills history before or after its work, in turn.
        let command = """
            text=$(jq -r .body.text)
            if [ ! -e killed$text ]; then
                touch killed$text
                [ $((text % 2)) = 0 ] || echo $text >> log
                kill -9 $PPID
                exit 0
            fi
            echo $text >> log
            """
        var runs = 0
        while runs <= count {
            let run = try bob.run(
                "history", ["--as", "bot", "--from-start", "--exec", command])
            runs += 1
            if run.status != 128 + SIGKILL {
                #expect(run.status == 0, "\(run.stderr)")
                break
            }
        }
        #expect(runs == count + 1)
        let expected = (0..<count).flatMap { number in
            [String](repeating: "\(number)", count: number % 2 == 0 ? 1 : 2)
        }
        #expect(files.lines("log") == expected)
    }

    @Test func badUseIsRefused() throws {
        try they.tell(they.alice, "one")
        for arguments in [
            ["--exec", "cat"], ["--as", ""], ["--as", "a\u{7}"], ["ack", "1"],
            ["--as", String(repeating: "x", count: 65)], ["--as", "bot", "--pinned"],
            ["--as", "bot", "--before", "3"], ["ack", "--as", "bot"], ["ack", "--as", "bot", "-1"],
            ["--from-start"], ["--from-now"], ["--as", "bot", "--from-start", "--from-now"],
            ["--as", "bot", "--exec", "cat", "--text"], ["ack", "--as", "bot", "--remove", "1"],
        ] {
            #expect(try bob.run("history", arguments).status == 64, "\(arguments)")
        }
    }
}
