import Foundation
import Glibc
import Sotto
import TestSupport
import Testing

/// Tests of `sotto init` and `sotto add`, with and without a relay.
struct FirstMinuteTests {
    let alice: Home
    let bob: Home

    init() throws {
        alice = Home()
        bob = Home()
        for home in [alice, bob] {
            home.files.write("p", Array("correct horse\n".utf8))
        }
    }

    static let identity = "config/sotto/identity"

    /// Returns the environment of a home, with the programs in PATH.
    func path(_ home: Home) -> [String: String] {
        let programs = (Programs.path("sotto") as NSString).deletingLastPathComponent
        return ["PATH": "\(programs):/usr/bin:/bin"]
    }

    func words(in text: String) -> [String] {
        // "12 word" in columns, on lines that begin with a number.
        let grid = text.split(whereSeparator: \.isNewline).filter {
            $0.firstMatch(of: #/^ ?[0-9]+ [a-z]{3,8}( |$)/#) != nil
        }
        let cells = grid.joined(separator: "\n").matches(of: #/ ?([0-9]+) ([a-z]{3,8})\b/#)
        return cells.map { (Int($0.1) ?? 0, String($0.2)) }.sorted { $0.0 < $1.0 }.map(\.1)
    }

    /// Without a terminal, as in a container, the hint names the options of `sotto init`.
    @Test func withoutATerminalThePassphraseIsAnOption() throws {
        let words = ["-w", Programs.path("sotto"), "init", "--name", "alice"]
        let run = try alice.other("/usr/bin/setsid", words).run()
        #expect(run.status == 78 && run.stderr.contains("no terminal is available"))
        #expect(run.stderr.contains("give --passphrase @FILE:PATH, or --no-passphrase"))
        #expect(!FileManager.default.fileExists(atPath: alice.files(Self.identity)))
    }

    @Test func anIdentityIsMadeAtTheDefaultPlaceAndItsWordsAreShown() throws {
        let next = alice.files("next")
        let session = try TerminalSession(
            alice.command("sotto", ["init", "--name", "alice", "--passphrase", "@FILE:p"]),
            stdout: next, columns: 40)
        try session.expect("Word ")
        try session.type("\n")
        let run = try session.finish()
        #expect(run.status == 0, "\(run.text)")
        #expect(run.text.contains(alice.files(Self.identity)))
        let file = try alice.files.read(Self.identity)
        #expect(AgeFormat.isAge(file))
        let kept = try alice.output(
            "keygen", ["words", "--identity-passphrase", "@FILE:p"])
        #expect(
            words(in: run.text).joined(separator: " ") + "\n"
                == String(decoding: kept, as: UTF8.self))
        // No line is wrapped by a terminal of 40 columns.
        for line in run.lines where line.contains("  ") && !line.contains("sotto") {
            #expect(line.count <= 40, "\(line)")
        }
        let lines = String(decoding: try alice.files.read("next"), as: UTF8.self)
            .split(separator: "\n")
        #expect(lines.count == 3 && lines.allSatisfy { $0.contains("sotto ") }, "\(lines)")
    }

    /// A log gets the command that shows the words, and not the words.
    @Test func withoutATerminalTheWordsAreNotShown() throws {
        let run = try alice.run("sotto", ["init", "--name", "alice", "--no-passphrase"])
        #expect(run.status == 0 && words(in: run.stderr).isEmpty, "\(run.stderr)")
        let kept = String(decoding: try alice.output("keygen", ["words"]), as: UTF8.self)
        #expect(kept.split(whereSeparator: \.isWhitespace).count == 24)
        #expect(!run.stderr.contains(kept.trimmingCharacters(in: .newlines)))
        #expect(run.stderr.components(separatedBy: "  sotto keygen words\n").count == 2)
        #expect(run.lines.count == 3, "\(run.text)")
    }

    /// An empty passphrase is asked once, and the answer names the way without one.
    @Test func anEmptyPassphraseHasAHint() throws {
        let session = try TerminalSession(alice.command("sotto", ["init", "--name", "alice"]))
        try session.expect("assphrase: ")
        try session.type("\n")
        let run = try session.finish()
        #expect(run.status == 64 && !run.text.contains("Repeat"), "\(run.text)")
        #expect(
            run.text.contains("type five random words, or give --no-passphrase"), "\(run.text)")
        #expect(!alice.files.exists(Self.identity))
    }

    /// The first next step works on a terminal of any size.
    @Test func theFirstNextStepDrawsTheCode() throws {
        let run = try alice.run("sotto", ["init", "--name", "alice", "--no-passphrase"])
        let step = "sotto keygen public --uri | sotto qr -o code.png"
        #expect(run.text.contains(step), "\(run.text)")
        let card = try alice.output("keygen", ["public", "--uri"])
        #expect(try alice.run("qr", ["-o", "code.png"], stdin: .whole(card)).status == 0)
        #expect(alice.files.exists("code.png"))
    }

    @Test func anExistingIdentityIsNotReplaced() throws {
        #expect(try alice.run("sotto", ["init", "--no-passphrase"]).status == 0)
        let before = try alice.files.read(Self.identity)
        let run = try alice.run("sotto", ["init", "--no-passphrase"])
        #expect(
            run.status == 73 && run.stderr.contains(alice.files(Self.identity)), "\(run.stderr)")
        #expect(try alice.files.read(Self.identity) == before)
    }

    @Test func withoutAPassphraseThereIsAWarning() throws {
        let run = try alice.run("sotto", ["init", "--no-passphrase"])
        #expect(run.status == 0 && run.stderr.contains("warning: without a passphrase"))
        #expect(
            try alice.run("sotto", ["init", "--no-passphrase", "--passphrase", "@FILE:p"]).status
                == 64)
        // Without a terminal, no prompt is possible.
        #expect(try bob.run("sotto", ["init"]).status == 78)
        #expect(!bob.files.exists(Self.identity))
    }

    @Test(arguments: [UInt16(40), 80, 200])
    func onATerminalThePassphraseIsAskedForFirst(_ columns: UInt16) throws {
        let session = try TerminalSession(
            alice.command("sotto", ["init", "--name", "alice"]), columns: columns)
        try session.expect("New passphrase: ")
        try session.type("correct horse\n")
        try session.expect("Repeat the passphrase: ")
        try session.type("correct horse\n")
        try session.expect(" 1 ")
        try session.expect("Word ")
        try session.type("\n")
        let run = try session.finish()
        #expect(run.status == 0 && !run.text.contains("correct horse"), "\(run.text)")
        let shown = words(in: run.text)
        #expect(shown.count == 24)
        for line in run.lines where line.contains(" 1 ") || line.contains(" 8 ") {
            #expect(line.count <= Int(columns), "\(line)")
        }
    }

    /// Ctrl-C at the question for a word leaves an identity that works, and says so.
    @Test func anInterruptedInitNamesTheNextStep() throws {
        let session = try TerminalSession(
            alice.command("sotto", ["init", "--name", "alice", "--no-passphrase"]), columns: 200)
        try session.expect("Word ")
        try session.type("\u{3}")
        let run = try session.finish()
        #expect(run.wasKilled == SIGINT, "\(run.text)")
        let note =
            "your identity is \(alice.files(Self.identity)), and its card is not published yet; to see what is missing: sotto whoami"
        #expect(run.text.contains(note), "\(run.text)")
        let shown = try alice.run("sotto", ["whoami"])
        #expect(shown.status == 0 && shown.text.contains("none; to publish them"), "\(shown.text)")
        let again = try alice.run("sotto", ["init", "--name", "alice", "--no-passphrase"])
        #expect(again.status == 73 && again.stderr.contains("sotto whoami"), "\(again.stderr)")
    }

    /// A wrong address is reported before a passphrase is asked for.
    @Test(arguments: [[], ["--recover"]]) func aWrongAddressIsReportedFirst(
        _ words: [String]
    ) throws {
        let session = try TerminalSession(
            alice.command("sotto", ["init", "--relay", "localhost:7667"] + words), columns: 200)
        let run = try session.finish()
        #expect(run.status == 64 && run.text.contains("scheme://host:port"), "\(run.text)")
        #expect(!run.text.contains("assphrase: ") && !run.text.contains("words: "), "\(run.text)")
        #expect(!alice.files.exists(Self.identity))
    }

    /// Wrong words and a wrong address are asked for again at once, before the passphrase.
    @Test func whatIsTypedToRecoverIsCheckedAtOnce() throws {
        #expect(try alice.run("keygen", ["-o", "lost.key"]).status == 0)
        let words = String(
            decoding: try alice.output("keygen", ["words", "lost.key"]), as: UTF8.self)
        let wrong = "sotto " + words.split(separator: " ").dropFirst().joined(separator: " ")
        let session = try TerminalSession(
            bob.command("sotto", ["init", "--recover", "--name", "bob"]), columns: 200)
        try session.expect("Your recovery words: ")
        try session.type(wrong)
        try session.expect("word 1 ")
        try session.expect("Your recovery words: ")
        try session.type(words)
        try session.expect("The address of your relay")
        try session.type("localhost:7667\n")
        try session.expect("scheme://host:port")
        try session.expect("The address of your relay")
        try session.type("\n")
        try session.expect("New passphrase: ")
        try session.type("correct horse\n")
        try session.expect("Repeat the passphrase: ")
        try session.type("correct horse\n")
        let run = try session.finish()
        #expect(run.status == 0, "\(run.text)")
        #expect(!run.text.contains(words.prefix(30)) && !run.text.contains(wrong.prefix(30)))
        #expect(bob.files.exists(Self.identity))
    }

    @Test func threeWrongAnswersEndTheRecovery() throws {
        let session = try TerminalSession(
            bob.command("sotto", ["init", "--recover", "--name", "bob"]), columns: 200)
        for _ in 1...3 {
            try session.expect("Your recovery words: ")
            try session.type("abandon abandon\n")
        }
        let run = try session.finish()
        #expect(run.status == 65 && !run.text.contains("assphrase: "), "\(run.text)")
        #expect(!bob.files.exists(Self.identity))
    }

    /// Answers the questions for words on a terminal: right after one wrong answer for the first word, or wrong.
    private func confirm(
        _ arguments: [String], rightly: Bool
    ) throws -> (run: Run, words: [String]) {
        let session = try TerminalSession(alice.command("keygen", arguments), columns: 200)
        var words: [String] = []
        if arguments.first != "words" {
            try session.expect("id 05")
            words =
                session.text.split(whereSeparator: \.isNewline)
                .map { $0.split(separator: " ").map(String.init) }.first { $0.count == 24 } ?? []
        } else {
            words = String(
                decoding: try alice.output("keygen", ["words", "-i", "alice.key"]), as: UTF8.self
            )
            .split(whereSeparator: \.isWhitespace).map(String.init)
        }
        for question in 0..<3 {
            try session.expect("Word ")
            try session.expect(" of 24: ")
            let asked = session.text.components(separatedBy: "Word ").last ?? ""
            let place = try #require(Int(asked.prefix { $0.isNumber }))
            if question == 0 || !rightly {
                try session.type("wrong\n")
                try session.expect("this is not word \(place)")
                guard rightly else { continue }
                try session.expect(" of 24: ")
            }
            try session.type(words[place - 1].uppercased() + "\n")
        }
        return (try session.finish(), words)
    }

    @Test func theWordsAreConfirmedBeforeTheIdentityIsWritten() throws {
        let wrong = try confirm(["--confirm", "-o", "alice.key"], rightly: false)
        #expect(wrong.run.status == 14 && !alice.files.exists("alice.key"), "\(wrong.run.text)")
        let right = try confirm(["--confirm", "-o", "alice.key"], rightly: true)
        #expect(right.run.status == 0 && alice.files.exists("alice.key"), "\(right.run.text)")
        #expect(right.run.text.contains("keygen: the words are confirmed"))
        let later = try confirm(["words", "--confirm", "-i", "alice.key"], rightly: true)
        #expect(later.run.status == 0, "\(later.run.text)")
        #expect(!later.run.text.contains(right.words.joined(separator: " ")))
    }

    @Test func withoutATerminalWordsAreNotConfirmed() throws {
        #expect(try alice.run("keygen", ["--confirm", "-o", "alice.key"]).status == 64)
        #expect(!alice.files.exists("alice.key"))
        #expect(try alice.run("keygen", ["-q", "-o", "alice.key"]).status == 0)
        #expect(try alice.run("keygen", ["words", "--confirm", "alice.key"]).status == 78)
    }

    @Test func whoShowsTheWordsIsWarned() throws {
        #expect(try alice.run("keygen", ["-q", "-o", "alice.key"]).status == 0)
        let shown = try TerminalSession(alice.command("keygen", ["words", "alice.key"])).finish()
        #expect(shown.text.contains("note: whoever sees these words can read your messages"))
        #expect(try alice.run("keygen", ["words", "alice.key"]).stderr.isEmpty)
    }

    /// A relay that ends with the test.
    final class Relay {
        let address: String
        private let pipeline: Pipeline

        init(in home: Home, _ options: String = "") throws {
            pipeline = try Pipeline([
                home.other(
                    "/bin/sh",
                    [
                        "-c",
                        "exec \(Programs.path("relay")) --listen 127.0.0.1:0 --store relay.db \(options) --ready-fd 3 3>&1",
                    ])
            ])
            var text = ""
            try pipeline.collect { bytes in
                text = String(decoding: bytes, as: UTF8.self)
                return bytes.contains(0x0A)
            }
            address = "tcp://" + (text.split(separator: "\n").first.map(String.init) ?? "")
        }

        deinit { pipeline.signal(15) }
    }

    @Test func twoPeopleMeetThroughARelay() throws {
        let relay = try Relay(in: alice)
        for (name, home) in [("alice", alice), ("bob", bob)] {
            let run = try home.run(
                "sotto",
                ["init", "--name", name, "--relay", relay.address, "--passphrase", "@FILE:p"])
            #expect(run.status == 0, "\(run.stderr)")
        }
        let unlocked = ["--identity-passphrase", "@FILE:p"]
        // The identity names the relay; the environment does not.
        let environment: [String: String] = [:]
        func card(_ home: Home, _ more: String...) throws -> String {
            String(
                decoding: try home.output("keygen", ["public"] + more + unlocked), as: UTF8.self
            ).trimmingCharacters(in: .newlines)
        }
        // A URI is completed by the signed card, with the post-quantum key and the name.
        let added = try alice.run(
            "sotto", ["add", try card(bob, "--uri")] + unlocked, environment: environment)
        #expect(
            added.status == 0 && added.text.contains("sotto contact verify bob"), "\(added.stderr)")
        let shown = try alice.output("contact", ["show", "--json", "bob"] + unlocked)
        let record = try JSON.object(parsing: Array(shown.dropLast()))
        let number = try #require(record["safetyNumber"]?.string)
        let typed = added.text.filter(\.isNumber)
        #expect(typed == number)
        let whole = try alice.output("contact", ["show", "--card", "bob"] + unlocked)
        #expect(try Card(record: JSON.object(parsing: Array(whole.dropLast()))).hybrid != nil)
        // An id and a picture.
        let id = try JSON.object(parsing: Array(card(alice).utf8))["id"]?.string
        let byID = try bob.run(
            "sotto", ["add", "--name", "al", try #require(id)] + unlocked, environment: environment)
        #expect(byID.status == 0 && byID.text.filter(\.isNumber) == number, "\(byID.stderr)")
        try bob.run("contact", ["remove", "al"] + unlocked)
        try bob.files.write(
            "code.png",
            bob.output("qr", ["-t", "png"], stdin: Array(card(alice, "--uri").utf8)))
        let scanned = try bob.run(
            "sotto", ["add", "code.png"] + unlocked, environment: environment)
        #expect(
            scanned.status == 0 && scanned.text.contains("sotto contact verify alice"),
            "\(scanned.stderr)")
        // The number that both see verifies the contact.
        let verified = try bob.run("contact", ["verify", "alice", number] + unlocked)
        #expect(verified.status == 0, "\(verified.stderr)")
        // recv --card accepts the name.
        let fetched = try alice.run(
            "recv", ["--card", "bob"] + unlocked, environment: environment)
        #expect(fetched.status == 0 && fetched.stdout == whole, "\(fetched.stderr)")
    }

    @Test func withoutARelayAShortFormIsKeptAndNoted() throws {
        for (name, home) in [("alice", alice), ("bob", bob)] {
            try home.run("sotto", ["init", "--name", name, "--no-passphrase"])
        }
        let uri = try bob.output("keygen", ["public", "--uri"])
        alice.files.write("bob.uri", uri)
        let run = try alice.run("sotto", ["add", "bob.uri"])
        #expect(run.status == 0 && run.stderr.contains("no post-quantum key"), "\(run.stderr)")
        let card = try bob.output("keygen", ["public"])
        alice.files.write("bob.card", card)
        let whole = try alice.run("sotto", ["add", "bob.card"])
        #expect(
            whole.status == 0 && !whole.stderr.contains("no post-quantum key"), "\(whole.stderr)")
        let id = try JSON.object(parsing: Array(card.dropLast()))["id"]?.string
        let alone = try alice.run("sotto", ["add", try #require(id)])
        #expect(alone.status == 78 && alone.stderr.contains("--relay"), "\(alone.stderr)")
        #expect(try alice.run("sotto", ["add", "missing"]).status == 66)
        #expect(try alice.run("sotto", ["add"]).status == 64)
    }

    /// On a terminal the receipts of a new contact are asked for, once.
    @Test(arguments: [("yes\n", true), ("\n", false), ("no\n", false)])
    func onATerminalReceiptsAreAskedForOnce(_ answer: String, _ isOn: Bool) throws {
        for (name, home) in [("alice", alice), ("bob", bob)] {
            try home.run("sotto", ["init", "--name", name, "--no-passphrase"])
        }
        alice.files.write("bob.card", try bob.output("keygen", ["public"]))
        let question =
            "Send bob receipts for messages that arrive and are read here? Type yes to send them: "
        let session = try TerminalSession(
            alice.command("sotto", ["add", "bob.card"]), columns: 200)
        try session.expect("sotto contact verify bob NUMBER")
        try session.expect(question)
        try session.type(answer)
        let added = try session.finish()
        #expect(added.status == 0 && added.text.contains("bob: receipts=on") == isOn)
        let shown = try alice.output("contact", ["show", "--json", "bob"])
        let record = try JSON.object(parsing: Array(shown.dropLast()))
        #expect(record["receipts"] == (isOn ? .bool(true) : nil))
        let again = try TerminalSession(
            alice.command("sotto", ["add", "bob.card"]), columns: 200
        ).finish()
        #expect(again.status == 0 && !again.text.contains("receipts for"), "\(again.text)")
    }

    @Test func anUnreachableRelayLeavesTheIdentityAndTheCardWaits() throws {
        let run = try alice.run(
            "sotto",
            ["init", "--name", "alice", "--relay", "tcp://127.0.0.1:1", "--no-passphrase"])
        #expect(run.status == 75 && run.lines.count == 3, "\(run.stderr)")
        #expect(alice.files.exists(Self.identity) && words(in: run.stderr).isEmpty)
    }

    /// On a terminal a wrong code is asked for three times.
    @Test func aMistypedInvitationIsAskedForAgain() throws {
        let relay = try Relay(in: alice, "--invited")
        let session = try TerminalSession(
            alice.command("sotto", ["init", "--no-passphrase", "--relay", relay.address]),
            stdout: alice.files("next"), columns: 200)
        try session.expect("Word ")
        try session.type("\n")
        for place in 1...3 {
            try session.expect("or Enter for none: ")
            // Each answer has another number of words, so that each refusal is seen.
            try session.type(String(repeating: "abandon ", count: place) + "\n")
            try session.expect("the invitation has \(place) words instead of 8")
        }
        let run = try session.finish()
        #expect(run.status == 65, "\(run.text)")
        #expect(run.text.components(separatedBy: "or Enter for none: ").count == 4, "\(run.text)")
        let next = String(decoding: try alice.files.read("next"), as: UTF8.self)
        #expect(
            next.hasPrefix("sotto recv --relay \(shellWord(relay.address)) --invitation @FILE:code")
                && next.filter { $0 == "\n" }.count == 1, "\(next)")
    }

    /// On a terminal a code is redeemed, and the relay keeps the mail for a command that can read it.
    @Test func onATerminalAnInvitationBringsNoEnvelopes() throws {
        let relay = try Relay(in: alice, "--invited")
        for (name, home) in [("alice", alice), ("bob", bob)] {
            try home.run("sotto", ["init", "--name", name, "--no-passphrase"])
        }
        bob.files.write("alice.card", try alice.output("keygen", ["public"]))
        let redeem = ["--relay", relay.address, "--invitation", "@FILE:code"]
        for isMember in [false, true] {
            let code = try alice.output("relay", ["invite", "-q", "--store", "relay.db"])
            alice.files.write("code", code)
            let run = try TerminalSession(alice.command("recv", redeem), columns: 200).finish()
            #expect(
                run.status == 0 && run.text.contains("has your card and prekeys")
                    && !run.text.contains("{"), "\(run.text)")
            guard !isMember else { break }
            let sealed = try bob.run("encrypt", ["--to", "alice.card"], text: "hello")
            let sent = try bob.run(
                "send", ["--relay", relay.address], stdin: .whole(sealed.stdout))
            #expect(sent.status == 0, "\(sent.stderr)")
        }
        let mail = try alice.run("recv", ["--relay", relay.address])
        #expect(mail.status == 0 && mail.lines.count == 1, "\(mail.stderr)")
    }

    /// Only the status 0 of `recv` tells that the relay accepted the code.
    @Test func aCodeThatWasNotSentIsNotAccepted() throws {
        let programs = ["sotto", "keygen"].map { Programs.path($0) }.joined(separator: " ")
        let run = try alice.other(
            "/bin/sh",
            [
                "-c",
                """
                mkdir bin && cp \(programs) bin && echo code > code || exit 1
                printf '#!/bin/sh\\nexit 75\\n' > bin/recv && chmod +x bin/recv
                bin/sotto init --name alice --no-passphrase --relay tcp://127.0.0.1:1 --invitation @FILE:code
                """,
            ]
        ).run(stdin: .whole([]))
        #expect(
            run.status == 75 && run.lines.count == 1
                && run.text.hasPrefix("sotto recv --relay 'tcp://127.0.0.1:1' --invitation "),
            "\(run.text) \(run.stderr)")
    }

    @Test func aNewAndARecoveredIdentitySayWhatTheWordsRestore() throws {
        let made = try alice.run("keygen", ["--name", "alice", "-o", "alice.key"])
        #expect(made.stderr.contains("restore your keys") && !made.stderr.contains("everything"))
        #expect(made.stderr.contains("history export --backup"))
        let words = try alice.output("keygen", ["words", "alice.key"])
        let back = try alice.run("keygen", ["recover", "-o", "back.key"], stdin: .whole(words))
        #expect(back.status == 0)
        for text in [
            "restored: the keys", "not restored: sessions", "history import",
            "not in the words: the relay; to set it: sotto keygen set --relay URL back.key\n",
            "the passphrase of the file; to set one: sotto keygen passwd back.key\n",
            "sotto keygen prekeys | sotto send",
        ] {
            #expect(back.stderr.contains(text), "\(back.stderr)")
        }
        alice.files.write("secret", Array("correct horse\n".utf8))
        let whole = try alice.run(
            "keygen",
            [
                "recover", "-o", "whole.key", "--relay", "tcp://127.0.0.1:1", "--protect",
                "--passphrase", "@FILE:secret",
            ], stdin: .whole(words))
        #expect(whole.status == 0 && !whole.stderr.contains("not in the words"), "\(whole.stderr)")
        let quiet = try alice.run("keygen", ["recover", "-q", "-o", "-"], stdin: .whole(words))
        #expect(quiet.status == 0 && quiet.stderr.isEmpty)
    }

    @Test func theHelpOfInitAndAddNamesThem() throws {
        for verb in ["init", "add"] {
            #expect(try alice.run("sotto", [verb, "--help"]).text.contains("sotto \(verb)"))
            #expect(try alice.run("sotto", ["help", verb]).text.contains("sotto \(verb)"))
            let wrong = try alice.run("sotto", [verb, "--wrong"])
            #expect(
                wrong.status == 64 && wrong.stderr.contains("sotto \(verb) --help"),
                "\(wrong.stderr)")
        }
    }
}
