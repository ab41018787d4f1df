import Sotto
import TestSupport
import Testing

/// Tests of the errors for wrong command lines.
struct UsageTests {
    let home: Home
    init() throws { home = try Home(people: "alice", "bob") }

    func expectUsage(
        _ tool: String, _ arguments: [String], _ saying: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let run = try home.run(tool, arguments)
        #expect(run.status == 64 && run.stdout.isEmpty, sourceLocation: sourceLocation)
        for text in saying {
            #expect(run.stderr.contains(text), "\(run.stderr)", sourceLocation: sourceLocation)
        }
    }

    @Test func aNegativeNumberIsOutOfRangeAndNotMissing() throws {
        try expectUsage("decrypt", ["--lock-timeout", "-1"], "--lock-timeout must be 0 to")
        try expectUsage("decrypt", ["--lock-timeout", "1e30"], "--lock-timeout must be 0 to")
        try expectUsage(
            "pad", ["--scheme", "iso7816", "--block", "-1"], "--block must be 1 to 2^30")
        try expectUsage("keygen", ["--words", "-12"], "--words must be 12")
    }

    @Test func anUnknownOptionIsReportedFirst() throws {
        try expectUsage("encrypt", ["--bogus"], "unknown option '--bogus'")
        let text = try home.run("encrypt", [], text: "x")
        #expect(text.status == 64 && text.stderr.contains("no recipient is given"))
    }

    @Test func anInvalidChoiceListsTheValidOnes() throws {
        for form in [["new"], ["recover"]] {
            try expectUsage(
                "keygen", form + ["--language", "klingon"], "english, japanese, korean",
                "czech, portuguese\n")
        }
    }

    @Test func onlyDecryptTakesSeveralIdentities() throws {
        for tool in ["encrypt", "fingerprint"] {
            #expect(try !home.run(tool, ["--help"]).text.contains("repeated for files"))
        }
        #expect(try home.run("decrypt", ["--help"]).text.contains("may be repeated for files"))
    }

    @Test func aBlockSizeIsForOneSchemeOnly() throws {
        try expectUsage("pad", ["--scheme", "pow2", "--block", "5"], "--scheme iso7816")
        try expectUsage("pad", ["--block", "256"], "--scheme iso7816")
        let padded = try home.run("pad", ["--scheme", "iso7816", "--block", "5"], text: "abc")
        #expect(padded.stdout == Array("abc".utf8) + [0x80, 0])
        let whole = try home.run("pad", ["--scheme", "iso7816"], text: "abc")
        #expect(whole.stdout.count == 256)
    }

    @Test func theRelayOfACardIsAnAddress() throws {
        for text in ["foo", "127.0.0.1:7667", "tcp://host", "udp://host:1", "tcp://h:1\u{1B}", ""] {
            try expectUsage("keygen", ["public", "--relay", text, "alice.key"], "tcp://host:port")
        }
        let relay = "tcp://relay.example.org:7667"
        let line = try home.output("keygen", ["public", "--relay", relay, "alice.key"])
        #expect(try JSON.object(parsing: line)["relay"] == .string(relay))
        let six = try home.output(
            "keygen", ["public", "--relay", "tcp://[::1]:7667/", "alice.key"])
        #expect(try JSON.object(parsing: six)["relay"] == .string("tcp://[::1]:7667"))
    }

    @Test func anErrorIsOneLineWhateverAFileIsCalled() throws {
        let name = "a\ndecrypt: error: not this\u{1B}[2J\rb"
        for (tool, arguments) in [
            ("decrypt", [name]), ("pad", ["--block", name]), ("encrypt", ["-r", name]),
            ("keygen", ["public", name]),
        ] {
            let run = try home.run(tool, arguments)
            #expect(run.status != 0 && run.stderr.contains("\\u{a}"), "\(tool) \(run.stderr)")
            #expect(!run.stderr.contains("\ndecrypt: error: not this"))
            #expect(!run.stderr.contains("\u{1B}") && !run.stderr.contains("\r"))
        }
        // Only the first word of an unknown option is printed: the text may be a secret key in PEM.
        let run = try home.run("pad", ["--" + name])
        #expect(run.stderr.contains("unknown option '--a'\n") && !run.stderr.contains("not this"))
    }

    // MARK: fingerprint --check

    @Test func aNumberMayBeWrittenInGroups() throws {
        let digits = try #require(
            home.run("fingerprint", ["--with", "bob.card", "alice.card"]).lines.first)
        for separator in ["", "-", ":", " - ", "\u{2013}", "\n"] {
            let typed = digits.split(separator: " ").joined(separator: separator)
            let run = try home.run(
                "fingerprint", ["--with", "bob.card", "--check=\(typed)", "alice.card"])
            #expect(run.status == 0, "\(separator) \(run.stderr)")
        }
    }

    @Test func aNumberOfAnotherLengthIs65() throws {
        let thirty = try #require(home.run("fingerprint", ["alice.card"]).lines.first)
        for typed in ["12345", "", thirty, "x"] {
            let run = try home.run(
                "fingerprint", ["--with", "bob.card", "--check", typed, "alice.card"])
            #expect(run.status == 65 && run.stderr.contains("60"), "\(run.stderr)")
        }
        let run = try home.run("fingerprint", ["--check", "12345", "alice.card"])
        #expect(run.status == 65 && run.stderr.contains("30"))
    }

    @Test func aCardIsNotComparedWithItself() throws {
        try expectUsage("fingerprint", ["--with", "alice.card", "alice.card"], "same card")
        try expectUsage(
            "fingerprint", ["--with", "alice.card", "-i", "alice.key", "--check", "1"], "same card")
    }

    @Test func argumentsThatAreNotUTF8AreRefused() throws {
        let program = Programs.path("pad")
        let run = try home.other(
            "/bin/sh", ["-c", "'\(program)' -o \"$(printf 'a\\351')\" < /dev/null"]
        ).run()
        #expect(run.status == 64 && run.stderr.contains("argument 2 is not UTF-8"), "\(run.stderr)")
        #expect(
            try home.files.names().filter { $0.hasPrefix("a") }.sorted() == [
                "alice.card", "alice.key",
            ])
    }

    @Test(arguments: [
        ["-r", "-"], ["-R", "-"], ["-r", "-", "-"], ["-r", "bob.card", "-s", "-i", "-"],
    ])
    func standardInputIsReadOnlyOnce(_ arguments: [String]) throws {
        let stdin = try home.files.read(arguments.contains("-s") ? "alice.key" : "bob.card")
        let run = try home.run("encrypt", arguments, stdin: .whole(stdin))
        #expect(run.status == 64 && run.stderr.contains("standard input can be read only once"))
        let once = try home.run(
            "encrypt", ["-r", "-", "alice.card"], stdin: .whole(home.files.read("bob.card")))
        #expect(once.status == 0)
    }

    @Test func theHintNamesTheCommand() throws {
        try expectUsage("keygen", ["chat", "x"], "keygen chat --help")
        try expectUsage("keygen", ["--bogus"], "keygen new --help")
        try expectUsage("pad", ["--bogus"], "hint: list the options: sotto pad --help")
        try expectUsage("sotto", ["add", "--bogus"], "hint: list the options: sotto add --help")
        try expectUsage("contact", ["-i", "alice.key", "list"], "the command must come first")
        try expectUsage("sotto", ["--bogus"], "unknown option '--bogus'")
        #expect(
            try home.run("sotto", ["help", "keygen", "export"]).text.contains("keygen export age"))
    }

    @Test func aNameThatIsTooLongIsAnInputOrAnOutput() throws {
        let name = String(repeating: "n", count: 300)
        #expect(try home.run("pad", [name]).status == 66)
        #expect(try home.run("pad", ["-o", name]).status == 73)
        let secret = try home.run("encrypt", ["--passphrase", "@FILE:/tmp"], text: "a")
        #expect(secret.status == 66 && secret.stderr.contains("is a directory"))
    }
}
