import Glibc
import Sotto
import TestSupport
import Testing

/// Tests of the behavior on a terminal: prompts, refusals and escapes.
struct TerminalTests {
    let home: Home
    init() throws { home = try Home(people: "alice", "bob") }

    @Test func binaryIsRefusedOnATerminalUnlessForced() throws {
        home.files.write("plain", Array("x".utf8))
        let refused = try TerminalSession(
            home.command("encrypt", ["-r", "bob.card"]), stdin: home.files("plain")
        ).finish()
        #expect(refused.status == 64 && refused.text.contains("refusing to write binary data"))
        #expect(!refused.text.contains("age-encryption.org"))
        let forced = try TerminalSession(
            home.command("encrypt", ["-r", "bob.card", "-o", "-"]), stdin: home.files("plain")
        ).finish()
        #expect(forced.status == 0 && forced.text.contains("age-encryption.org/v1\n"))
        let armored = try TerminalSession(
            home.command("encrypt", ["-r", "bob.card", "-a"]), stdin: home.files("plain")
        ).finish()
        #expect(armored.status == 0 && armored.text.contains("-----BEGIN AGE"))
        let padded = try TerminalSession(
            home.command("pad", []), stdin: home.files("plain")
        ).finish()
        #expect(padded.status == 64)
    }

    @Test func theEndOfTypedInputIsTypedOnce() throws {
        let session = try TerminalSession(
            home.command("encrypt", ["-r", "bob.card"]), stdout: home.files("file"))
        try session.expect("encrypt: note: reads what you type; Ctrl-D ends it")
        try session.type("hi\n\u{4}")
        #expect(try session.finish().status == 0)
        let run = try home.run("decrypt", ["-i", "bob.key", "file"])
        #expect(run.text == "hi\n")
    }

    func show(_ plain: [UInt8], _ more: String...) throws -> Run {
        let file = try home.output("encrypt", ["-r", "bob.card"], stdin: plain)
        home.files.write("file", file)
        return try TerminalSession(
            home.command("decrypt", ["-i", "bob.key"] + more + ["file"])
        ).finish()
    }

    @Test func aDecryptedFileThatIsTextIsShown() throws {
        for text in ["hello, bob\n", "tab\tand é\r\n", ""] {
            for run in try [show(Array(text.utf8)), show(Array(text.utf8), "--hold")] {
                #expect(run.status == 0 && run.stdout == Array(text.utf8), "\(run.text)")
            }
        }
        let forced = try show([0, 1, 2, 0x41], "-o", "-")
        #expect(forced.status == 0 && forced.stdout.contains(0x41))
    }

    @Test func aDecryptedFileThatIsNotTextIsRefused() throws {
        for bytes in [[0xFF], Array("a\u{1B}[2J".utf8), [0x41, 0], [0x41, 0xC3]] as [[UInt8]] {
            let run = try show(bytes)
            #expect(run.status == 64 && run.text.contains("refusing to write binary data"))
            #expect(!run.stdout.contains(0x1B) && !run.stdout.contains(0xFF))
        }
        let overridden = try show(Array("a\u{202E}b\u{9B}c\n".utf8))
        #expect(overridden.status == 0 && overridden.text == "a\\u{202e}b\\u{9b}c\n")
    }

    @Test func aLongTextIsShownUpToTheFirstBinaryData() throws {
        // Characters of three bytes: chunks end within them.
        let text = Array(String(repeating: "€uro\n", count: (17 << 20) / 7).utf8)
        let run = try show(text + [0x1B])
        #expect(run.status == 64 && !run.stdout.contains(0x1B))
        #expect(
            run.stdout.count >= 16 << 20 && run.stdout.prefix(16 << 20) == text.prefix(16 << 20))
    }

    @Test func theTextOfAMessageIsShownIfStdoutIsNamed() throws {
        let path = try seal(Array("hello".utf8))
        let shown = try TerminalSession(
            home.command("decrypt", ["-i", "bob.key", "-q", "--text", "-o", "-"]), stdin: path
        ).finish()
        #expect(shown.status == 0 && shown.text == "hello\n")
    }

    /// Prints `echo` or `-echo` on a separate line. The words of an identity are all on one line, and can include "echo".
    static let sayEcho = "stty -a | tr ' ;' '\\n\\n' | grep -x -e echo -e -echo"

    @Test func aStoppedPromptRestoresTheEchoAndHidesItAgain() throws {
        let keygen = Programs.path("keygen")
        let script =
            "set -m; \(keygen) --protect -o new.key; \(Self.sayEcho); echo stood; fg; echo ended $?"
        let session = try TerminalSession(home.other("/bin/bash", ["-c", script]))
        try session.expect("New passphrase: ")
        try session.type("\u{1A}")
        try session.expect("stood")
        try session.expect("New passphrase: ")
        try session.type("correct horse\n")
        try session.expect("Repeat the passphrase: ")
        try session.type("correct horse\n")
        try session.expect("ended 0")
        let run = try session.finish()
        #expect(run.lines.contains("echo") && !run.lines.contains("-echo"), "\(run.text)")
        #expect(!run.text.contains("correct horse"))
        #expect(home.files.exists("new.key"))
    }

    @Test func aQuitPromptRestoresTheEcho() throws {
        let keygen = Programs.path("keygen")
        let script =
            "set -m; \(keygen) --protect -o new.key; echo ended $?; \(Self.sayEcho); echo stood"
        let session = try TerminalSession(home.other("/bin/bash", ["-c", script]))
        try session.expect("New passphrase: ")
        try session.type("\u{1C}")
        try session.expect("ended 131")
        try session.expect("stood")
        let run = try session.finish()
        #expect(run.lines.contains("echo") && !run.lines.contains("-echo"), "\(run.text)")
    }

    @Test func wordsAreNotShownWhenTheyAreTyped() throws {
        let words = Array(repeating: "abandon", count: 11).joined(separator: " ") + " about"
        let session = try TerminalSession(home.command("keygen", ["recover", "-o", "new.key"]))
        try session.expect("Words: ")
        try session.type(words + "\n")
        let run = try session.finish()
        #expect(run.status == 0 && !run.text.contains("abandon"))
    }

    @Test func aPromptCannotMoveTheCursor() throws {
        let name = "p\u{1B}[2J\n.key"
        let made = try home.run(
            "keygen", ["--protect", "--passphrase", "@ENV:P", "-o", name],
            environment: ["P": "correct horse"])
        #expect(made.status == 0)
        let session = try TerminalSession(
            home.command("keygen", ["public", name]), stdout: home.files("card"))
        try session.expect(": ")
        try session.type("correct horse\n")
        let run = try session.finish()
        #expect(run.status == 0 && !run.stdout.contains(0x1B))
        #expect(run.text.contains("p\\u{1b}[2J\\u{a}.key"))
    }

    @Test func aPassphraseIsAskedForWithoutEchoAndTwice() throws {
        home.files.write("plain", Array("x".utf8))
        let session = try TerminalSession(
            home.command("encrypt", ["-p"]), stdin: home.files("plain"), stdout: home.files("file"))
        try session.expect("Passphrase: ")
        try session.type("correct horse\n")
        try session.expect("Repeat the passphrase: ")
        try session.type("correct horse\n")
        let run = try session.finish()
        #expect(run.status == 0 && !run.text.contains("correct horse"))
        let opening = try TerminalSession(
            home.command("decrypt", []), stdin: home.files("file"), stdout: home.files("out"))
        try opening.expect("Passphrase: ")
        try opening.type("correct horse\n")
        #expect(try opening.finish().status == 0)
        #expect(try home.files.read("out") == Array("x".utf8))
        let wrong = try TerminalSession(
            home.command("decrypt", []), stdin: home.files("file"), stdout: home.files("out"))
        try wrong.expect("Passphrase: ")
        try wrong.type("wrong\n")
        #expect(try wrong.finish().status == 10)
        #expect(try home.files.read("out") == [])
    }

    func protect(_ name: String) throws {
        let run = try home.run(
            "keygen", ["passwd", "-q", "--passphrase", "@ENV:P", "\(name).key"],
            environment: ["P": "correct horse"])
        try #require(run.status == 0, "\(run.stderr)")
    }

    @Test func twoToolsOfAPipelineAskOneAfterTheOtherAndNothingTypedIsShown() throws {
        try protect("alice")
        try protect("bob")
        let keygen = Programs.path("keygen")
        let script =
            "\(keygen) public alice.key > a & \(keygen) public bob.key > b; wait; \(Self.sayEcho)"
        let session = try TerminalSession(home.other("/bin/bash", ["-c", script]))
        try session.expect("Passphrase for ")
        // Both answers are typed before the second prompt.
        try session.type("correct horse\ncorrect horse\n")
        try session.expect("Passphrase for ")
        let run = try session.finish()
        #expect(!run.text.contains("correct horse"), "\(run.text)")
        // The second prompt has no line feed after it: its answer was typed before.
        let end = run.text.split(whereSeparator: \.isWhitespace).last
        #expect(end == "echo", "\(run.text)")
        #expect(try home.files.read("a").count > 1000 && home.files.read("b").count > 1000)
    }

    @Test func bothAnswersOfANewPassphraseCanBeTypedAtOnce() throws {
        let session = try TerminalSession(home.command("keygen", ["--protect", "-o", "new.key"]))
        try session.expect("New passphrase: ")
        try session.type("correct horse\ncorrect horse\n")
        let run = try session.finish()
        #expect(run.status == 0 && !run.text.contains("correct horse"), "\(run.text)")
    }

    @Test func thePassphraseIsAskedForBeforeTheToolWaitsForInput() throws {
        let envelope = try home.output(
            "encrypt", ["--to", "bob.card", "-i", "alice.key"], stdin: Array("hello".utf8))
        try protect("bob")
        #expect(mkfifo(home.files("later"), 0o600) == 0)
        let script = "cat later | \(Programs.path("decrypt")) -i bob.key --text"
        let session = try TerminalSession(home.other("/bin/bash", ["-c", script]))
        try session.expect("Passphrase for bob.key: ")
        try session.type("correct horse\n")
        // Opening the pipe for writing waits for cat, and the message comes after the prompt.
        try home.files.append("later", envelope)
        let run = try session.finish()
        #expect(run.status == 0 && run.lines.last == "hello", "\(run.text)")
        #expect(!run.text.contains("correct horse"))
    }

    @Test func thePassphraseIsAskedForBeforeAnythingIsMade() throws {
        let session = try TerminalSession(home.command("keygen", ["--protect", "-o", "new.key"]))
        // It is asked three times.
        for _ in 1...3 {
            try session.expect("New passphrase: ")
            try session.type("correct horse\n")
            try session.expect("Repeat the passphrase: ")
            try session.type("wrong horse\n")
        }
        let run = try session.finish()
        // No words are printed for an identity that is not written.
        #expect(run.status == 64 && !run.text.contains("Write them down"), "\(run.text)")
    }

    @Test(arguments: ["encrypt -p plain", "keygen --protect -o new.key"])
    func anEmptyPassphraseIsRefused(_ line: String) throws {
        home.files.write("plain", Array("x".utf8))
        let words = line.split(separator: " ").map(String.init)
        let session = try TerminalSession(
            home.command(words[0], Array(words.dropFirst())), stdout: home.files("out"))
        try session.expect("assphrase: ")
        try session.type("\n\n")
        let run = try session.finish()
        #expect(run.status == 64 && run.text.contains("the passphrase is empty"), "\(run.text)")
        #expect(try home.files.read("out") == [] && !home.files.exists("new.key"))
    }

    @Test(arguments: ["encrypt -p plain", "keygen --protect -o new.key"])
    func aShortPassphraseCausesAWarning(_ line: String) throws {
        home.files.write("plain", Array("x".utf8))
        let words = line.split(separator: " ").map(String.init)
        for (secret, warning) in [
            ("x", "of 1 character can"), ("nine long", "of 9 characters can"),
        ] {
            unlink(home.files("new.key"))
            let session = try TerminalSession(
                home.command(words[0], Array(words.dropFirst())), stdout: home.files("out"))
            try session.expect("assphrase: ")
            try session.type("\(secret)\n\(secret)\n")
            let run = try session.finish()
            #expect(run.status == 0 && run.text.contains(warning), "\(run.text)")
        }
        let session = try TerminalSession(
            home.command("encrypt", ["-p", "plain"]), stdout: home.files("out"))
        try session.expect("assphrase: ")
        try session.type("ten letters\nten letters\n")
        #expect(try !session.finish().text.contains("warning"))
    }

    @Test func twoDifferentPassphrasesAreAskedForAgain() throws {
        let session = try TerminalSession(
            home.command("keygen", ["--protect", "-o", "new.key"]))
        for (first, again) in [("one", "two"), ("correct horse", "correct horse")] {
            try session.expect("New passphrase: ")
            try session.type(first + "\n")
            try session.expect("Repeat the passphrase: ")
            try session.type(again + "\n")
        }
        let run = try session.finish()
        #expect(run.status == 0, "\(run.text)")
        #expect(run.text.contains("the two passphrases differ; type both again"), "\(run.text)")
        #expect(home.files.exists("new.key"))
    }

    @Test func twoDifferentPassphrasesMakeNothing() throws {
        let session = try TerminalSession(
            home.command("keygen", ["--protect", "-o", "new.key"]))
        // It is asked three times.
        for _ in 1...3 {
            try session.expect("New passphrase: ")
            try session.type("one\n")
            try session.expect("Repeat the passphrase: ")
            try session.type("two\n")
        }
        #expect(try session.finish().status == 64)
        #expect(!home.files.exists("new.key"))
    }

    @Test func aProtectedIdentityIsOpenedWithAPrompt() throws {
        let made = try home.run(
            "keygen", ["--protect", "--passphrase", "@ENV:P", "-o", "p.key"],
            environment: ["P": "correct horse"])
        #expect(made.status == 0)
        let session = try TerminalSession(
            home.command("keygen", ["public", "p.key"]), stdout: home.files("card"))
        try session.expect("Passphrase for p.key: ")
        try session.type("correct horse\n")
        #expect(try session.finish().status == 0)
        #expect(try home.files.read("card").first == UInt8(ascii: "{"))
    }

    @Test func anInterruptedPromptRestoresTheEchoAndEnds() throws {
        let session = try TerminalSession(
            home.command("keygen", ["--protect", "-o", "new.key"]))
        try session.expect("New passphrase: ")
        try session.type("\u{3}")
        let run = try session.finish()
        #expect(run.wasKilled == 2)
        #expect(!home.files.exists("new.key"))
    }

    @Test func keygenOnATerminalMakesTheDefaultIdentity() throws {
        let run = try TerminalSession(home.command("keygen", ["--name", "me"])).finish()
        #expect(run.status == 0)
        #expect(home.files.exists("config/sotto/identity"))
        #expect(!run.text.contains("AGE-SECRET-KEY"))
        #expect(try TerminalSession(home.command("keygen", [])).finish().status == 73)
    }

    /// A text with characters that a terminal would interpret or show in another order.
    static let evil = "a\u{1B}[2Jb\u{7}c\u{9B}31md\u{202E}e\u{7F}f\rg\u{90}h\u{2066}i"
    static let dangerous: [Unicode.Scalar] = [
        "\u{1B}", "\u{7}", "\u{9B}", "\u{202E}", "\u{7F}", "\u{90}", "\u{2066}",
    ]

    func seal(_ input: [UInt8]) throws -> String {
        let envelope = try home.output(
            "encrypt", ["--to", "bob.card", "-i", "alice.key"], stdin: input)
        return home.files.write("envelope", envelope)
    }

    /// Characters that are invisible, or that end a line and are not a line feed.
    static let invisible: [Unicode.Scalar] = [
        "\u{AD}", "\u{61C}", "\u{200B}", "\u{200E}", "\u{2028}", "\u{2029}", "\u{2060}", "\u{FEFF}",
        "\u{E0041}", "\u{FFF9}", "\u{3164}",
    ]

    @Test func invisibleCharactersAreEscapedOnATerminal() throws {
        let text = "pay" + Self.invisible.map { "\($0)bob" }.joined() + "."
        let path = try seal(Array(text.utf8))
        for arguments in [["--text"], ["--json"]] {
            let command = home.command("decrypt", ["-i", "bob.key", "--stateless"] + arguments)
            let shown = try TerminalSession(command, stdin: path).finish()
            for scalar in Self.invisible {
                #expect(!shown.text.unicodeScalars.contains(scalar), "\(scalar.value)")
            }
            if arguments == ["--json"] {
                let record = try JSON.object(parsing: Array(shown.stdout.dropLast()))
                #expect(record["body"]?.object?["text"] == .string(text))
            }
        }
        let file = try show(Array(text.utf8))
        for scalar in Self.invisible { #expect(!file.text.unicodeScalars.contains(scalar)) }
    }

    /// Joiners and variation selectors have a meaning in emoji, in Persian and in Indic scripts.
    @Test(arguments: [
        "👩🏽‍🚀 ❤️‍🔥 🏳️‍🌈 👨‍👩‍👧‍👦 ☎️ 1️⃣ 🇯🇵", "می‌خواهم", "क्‍ष ශ්‍රී", "naïve Ωμέγα 東京 서울 é",
    ])
    func ordinaryTextIsNotEscaped(_ text: String) throws {
        let path = try seal(Array(text.utf8))
        let command = home.command("decrypt", ["-i", "bob.key", "--text", "--stateless", "-q"])
        #expect(try TerminalSession(command, stdin: path).finish().text == text + "\n")
        #expect(try show(Array(text.utf8)).text == text)
    }

    @Test(arguments: ["a\u{200D}b", "\u{200D}👩", "😀\u{FE0F}\u{FE0F}", "a\u{FE0F}", "و\u{200C}"])
    func joinersAndSelectorsWithoutAMeaningAreEscaped(_ text: String) throws {
        let path = try seal(Array(text.utf8))
        let command = home.command("decrypt", ["-i", "bob.key", "--text", "--stateless", "-q"])
        #expect(try TerminalSession(command, stdin: path).finish().text.contains("\\u{"))
    }

    /// The line that names a sender begins in the first column; no line of a text with several lines does.
    @Test(arguments: ["\n", "\r", "\r\n", "\u{B}", "\u{C}", "\u{85}", "\u{2028}", "\u{2029}"])
    func noLineEndImitatesALineOfTheTool(_ end: String) throws {
        let text = "hello\(end)decrypt: from bob (verified)\(end)evil"
        let path = try seal(Array(text.utf8))
        let command = home.command("decrypt", ["-i", "bob.key", "--text", "--stateless"])
        let shown = try TerminalSession(command, stdin: path, columns: 120).finish()
        let lines = shown.text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 5 && lines[0].hasPrefix("decrypt: from 05"))
        #expect(lines[1...] == ["  | hello", "  | decrypt: from bob (verified)", "  | evil", ""])
        #expect(
            try command.run(stdin: .whole(home.files.read("envelope"))).text == text + "\n")
    }

    /// A line that the terminal would wrap is wrapped before, with a mark.
    @Test func noLongLineImitatesALineOfTheTool() throws {
        let filler = String(repeating: "x ", count: 18)
        let address = "https://example.org/" + String(repeating: "long/", count: 20)
        let wide = String(repeating: "東", count: 30)
        let text = "\(filler)decrypt: from bob (verified)\n\(address) \(wide)"
        let path = try seal(Array(text.utf8))
        let command = home.command("decrypt", ["-i", "bob.key", "--text", "--stateless", "-q"])
        let shown = try TerminalSession(command, stdin: path, columns: 40).finish()
        let lines = shown.text.split(separator: "\n").map(String.init)
        #expect(lines[0].utf8.count <= 40 && lines[0].hasPrefix("  | x x x"))
        for line in lines { #expect(line.hasPrefix("  | "), "\(line)") }
        #expect(lines.contains("  | decrypt: from bob (verified)"))
        #expect(lines.contains("  | " + address))
        #expect(lines.joined().filter { $0 == "東" }.count == 30)
    }

    /// Each message on a terminal is below a line with its sender, in the order of arrival.
    @Test func eachMessageOnATerminalHasItsSender() throws {
        let envelopes = try ["one", "decrypt: from bob (verified)"].map {
            try home.output(
                "encrypt", ["--to", "bob.card", "-i", "alice.key"], stdin: Array($0.utf8))
        }
        let path = home.files.write("both", Array(envelopes.joined()))
        let command = home.command("decrypt", ["-i", "bob.key", "--text", "--stateless"])
        let lines = try TerminalSession(command, stdin: path).finish().text.split(separator: "\n")
        #expect(
            lines.count == 4 && lines[1] == "one" && lines[3] == "  | decrypt: from bob (verified)")
        for line in [lines[0], lines[2]] { #expect(line.hasPrefix("decrypt: from 05")) }
    }

    /// A text whose first line looks like the line that names a sender, and a single line that looks like a note.
    @Test(arguments: [
        "decrypt: from carol (verified)\npay eve", "recv: note: pay eve", "recv꞉ pay",
    ])
    func noFirstLineImitatesALineOfTheTool(_ text: String) throws {
        let path = try seal(Array(text.utf8))
        let command = home.command("decrypt", ["-i", "bob.key", "--text", "--stateless"])
        let shown = try TerminalSession(command, stdin: path, columns: 120).finish()
        let lines = shown.text.split(separator: "\n")
        #expect(lines.count == 1 + text.split(separator: "\n").count)
        for line in lines.dropFirst() { #expect(line.hasPrefix("  | "), "\(line)") }
    }

    /// On a terminal zero bytes do not separate texts, and texts are escaped as usual.
    @Test func nullDoesNotLetControlCharactersThrough() throws {
        let path = try seal(Array("\u{1B}[1A\u{1B}[2K\rdecrypt: from bob (verified)\nevil".utf8))
        let command = home.command("decrypt", ["-i", "bob.key", "--text", "-0", "--stateless"])
        let shown = try TerminalSession(command, stdin: path).finish().text
        #expect(!shown.contains("\u{1B}[1A") && shown.contains("  | decrypt: from bob (verified)"))
    }

    /// A name with a parenthesis is quoted, so that its end does not look like a trust.
    @Test func aNameDoesNotImitateATrust() throws {
        let name = "bob (verified)"
        _ = try home.output("keygen", ["-q", "--name", name, "-o", "mallory.key"])
        let card = try home.output("keygen", ["public", "mallory.key"])
        _ = try home.output("contact", ["add", "-i", "bob.key"], stdin: card)
        let envelope = try home.output(
            "encrypt", ["--to", "bob.card", "-i", "mallory.key"], stdin: Array("hi".utf8))
        let path = home.files.write("envelope", envelope)
        let shown = try TerminalSession(
            home.command("decrypt", ["-i", "bob.key", "--text"]), stdin: path
        ).finish().text
        #expect(shown.contains("decrypt: from 'bob (verified)' (trusted)"), "\(shown)")
    }

    func expectHarmless(_ run: Run, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(run.status == 0, "\(run.text)", sourceLocation: sourceLocation)
        for scalar in Self.dangerous where run.text.unicodeScalars.contains(scalar) {
            Issue.record(
                "U+\(String(scalar.value, radix: 16)) reached the terminal",
                sourceLocation: sourceLocation)
        }
    }

    @Test func controlCharactersInATextAreEscapedOnlyOnATerminal() throws {
        let path = try seal(Array(Self.evil.utf8))
        let command = home.command("decrypt", ["-i", "bob.key", "--text", "--stateless"])
        let shown = try TerminalSession(command, stdin: path).finish()
        expectHarmless(shown)
        #expect(shown.text.contains("\\u{1b}[2J"))
        #expect(
            try command.run(stdin: .whole(home.files.read("envelope"))).text == Self.evil + "\n")
    }

    @Test func controlCharactersInARecordAreEscapedOnATerminal() throws {
        let path = try seal(Array(Self.evil.utf8))
        let command = home.command("decrypt", ["-i", "bob.key", "--stateless", "--json"])
        let shown = try TerminalSession(command, stdin: path).finish()
        expectHarmless(shown)
        // The displayed text is still the same JSON.
        let record = try JSON.object(parsing: Array(shown.stdout.dropLast()))
        #expect(record["body"]?.object?["text"] == .string(Self.evil))
    }

    @Test func bytesThatAreNotTextDoNotReachATerminal() throws {
        let path = try seal([0xFF] + Array("\u{1B}[2J".utf8))
        let command = home.command("decrypt", ["-i", "bob.key", "--text", "--stateless"])
        let shown = try TerminalSession(command, stdin: path).finish()
        #expect(!shown.stdout.contains(0x1B) && !shown.stdout.contains(0xFF))
    }

    @Test func controlCharactersInAnErrorAreEscaped() throws {
        let run = try home.run("decrypt", ["a\u{1B}[2Jb"])
        #expect(run.status == 66 && !run.stderr.contains("\u{1B}"))
    }

    @Test func aNameWithControlCharactersDoesNotReachATerminal() throws {
        // A card can be signed with any name; keygen would refuse to make it.
        #expect(try home.run("keygen", ["--name", "a\u{1B}b", "-o", "x"]).status == 64)
        let identity = Identity(
            mnemonic: Mnemonic(randomWordCount: 12), name: Self.evil)
        home.files.write("evil.key", identity.record.serialized())
        let card = try #require(identity.card().record).serialized()
        home.files.write("evil.card", card)
        for arguments in [["public", "--json", "evil.key"], ["public", "--uri", "evil.key"]] {
            let shown = try TerminalSession(home.command("keygen", arguments)).finish()
            expectHarmless(shown)
        }
        let signed = try home.output(
            "encrypt", ["-r", "bob.card", "-s", "-i", "evil.key"], stdin: Array("x".utf8))
        let run = try home.run(
            "decrypt", ["-i", "bob.key", "--from", "evil.card"], stdin: .whole(signed))
        #expect(run.status == 0 && !run.stderr.contains("\u{1B}") && !run.stderr.contains("\u{9B}"))
    }
}
