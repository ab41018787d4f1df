import Foundation
import Sotto
import TestSupport
import Testing

/// `sotto COMMAND … --send` is the same as the pipe typed out.
struct SendWordTests {
    /// Commands, and the rest of the pipe of each.
    static let commands: [(command: String, rest: String)] = [
        ("compose text bob", messages), ("compose text team", messages),
        ("compose text -i alice.key bob", messages), ("compose file photo.txt bob", messages),
        ("compose reply -1 --with bob", messages), ("compose edit -1 --with bob", messages),
        ("compose react -2 👍 --with bob", messages), ("compose delete -1 --with bob", messages),
        ("compose pin -2 --with bob", messages),
        ("compose forward -2 --with bob --to carol", messages),
        ("compose text nobody", messages), ("compose edit -2 --with bob", messages),
        ("group create crew bob carol", messages), ("group create alone", messages),
        ("group rename --anyway team crew", messages),
        ("group about --anyway team hikes", messages),
        ("group timer --anyway team 1d", messages),
        ("group policy --anyway team post=admin", messages),
        ("group role --anyway team bob admin", messages),
        ("group remove --anyway team carol", messages),
        ("group ban --anyway team carol", messages), ("group nickname --anyway team Al", messages),
        ("group leave --anyway team", messages), ("group continue team", messages),
        ("group sync", messages), ("group sync nothing", messages),
        ("history read bob", messages), ("history read carol", messages),
        ("history repeat bob", messages), ("history repeat nobody", messages),
        ("encrypt --to bob", envelopes), ("encrypt --group team", envelopes),
        ("encrypt --to bob --attach photo.txt", envelopes), ("encrypt --to nobody", envelopes),
        ("encrypt -q --to bob -i alice.key", envelopes),
        ("keygen set --name Al alice.key", envelopes), ("keygen set --name Al -q", envelopes),
        ("keygen public alice.key", envelopes), ("keygen prekeys -i alice.key", envelopes),
    ]
    static let messages = " | sotto encrypt | sotto send"
    static let envelopes = " | sotto send"

    @Test func itIsTheSameAsThePipeTypedOut() throws {
        let front = try FrontWorld()
        try front.keepState()
        for (command, rest) in Self.commands {
            func run(_ line: String) throws -> (run: Run, history: [String]) {
                try front.restoreState()
                let run = try front.world.paste(line, text: "some text\n")
                return (run, try front.history())
            }
            let typed = try run("sotto \(command)\(rest)")
            let sent = try run("sotto \(command) --send")
            #expect(typed.run.status == sent.run.status, "\(command): \(sent.run.stderr)")
            #expect(
                FrontWorld.comparable(typed.run.text).sorted()
                    == FrontWorld.comparable(sent.run.text).sorted(), "\(command)")
            #expect(
                FrontWorld.comparable(typed.run.stderr).sorted()
                    == FrontWorld.comparable(sent.run.stderr).sorted(), "\(command)")
            #expect(typed.history == sent.history, "\(command)")
        }
    }

    @Test func aRelayThatIsNotThereKeepsTheMessages() throws {
        let front = try FrontWorld()
        try front.keepState()
        for line in [
            "sotto compose text bob | sotto encrypt | sotto send", "sotto compose text bob --send",
        ] {
            try front.restoreState()
            let run = try front.world.paste(
                "SOTTO_RELAY=tcp://127.0.0.1:1; \(line)", text: "later\n")
            #expect(run.status == 75, "\(run.stderr)")
            #expect(run.text.contains(#""status":"queued""#))
            #expect(try front.must("sotto send --list --json").lines.count == 1)
        }
    }

    /// A question that was answered with no ends the pipe: older mail is not sent either.
    @Test func aDeclinedQuestionSendsNothing() throws {
        let front = try FrontWorld()
        let queued = "SOTTO_RELAY=tcp://127.0.0.1:1 sotto say -q bob later"
        #expect(try front.world.paste(queued).status == 75)
        for command in [["leave", "--anyway"], ["delete", "--anyway"]] {
            let run = try front.typing(
                "no\n", at: "Type yes to \(command[0]) team", "sotto",
                ["group"] + command + ["team", "--send"])
            #expect(run.status == 1 && run.text.contains("nothing was changed"), "\(run.text)")
            #expect(!run.text.contains("127.0.0.1:1"), "\(run.text)")
        }
        // The typed pipe sends nothing new either.
        #expect(try front.must("sotto send --list --json").lines.count == 1)
        #expect(try front.world.paste("sotto compose text nobody --send", text: "x").status == 66)
    }

    @Test(arguments: [
        "group list --send", "history unsent --send", "group show team --send",
        "history bob --send", "contact list --send",
        "keygen --send", "recv --send", "send --send", "pad --send", "fingerprint --send",
    ])
    func aCommandWithNothingToSendIsRefused(_ line: String) throws {
        let run = try Home().run("sotto", line.split(separator: " ").map(String.init))
        #expect(
            run.status == 64 && run.stderr.contains("prints nothing that can be sent"),
            "\(run.stderr)")
    }

    @Test func theWordAfterTheEndOfOptionsIsAnArgument() throws {
        let front = try FrontWorld()
        let run = try front.world.run("sotto", ["compose", "text", "--", "--send"], text: "x")
        #expect(run.status == 66 && run.stderr.contains("has the name --send"), "\(run.stderr)")
        let word = try front.world.run(
            "sotto", ["compose", "text", "--send", "--", "--help"], text: "x")
        #expect(word.status == 66 && word.stderr.contains("has the name --help"), "\(word.stderr)")
        let help = try front.world.run("sotto", ["group", "sync", "--send", "--help"])
        #expect(help.status == 0 && help.text.contains("group sync"))
        let wrong = try front.world.run("sotto", ["gruop", "sync", "--send"])
        #expect(
            wrong.status == 64 && wrong.stderr.contains("did you mean 'group'?"), "\(wrong.stderr)")
    }

    @Test func aTerminalGetsOneLine() throws {
        let front = try FrontWorld()
        func shown(_ arguments: [String], text: String = "x\n") throws -> String {
            let run = try front.onTerminal("sotto", arguments, text: text)
            try #require(run.status == 0, "\(run.text)")
            return run.lines.last ?? ""
        }
        #expect(try shown(["compose", "text", "bob", "--send"]) == "sent to bob")
        #expect(try shown(["encrypt", "--to", "bob", "--send"]) == "sent to bob")
        #expect(try shown(["encrypt", "--group=team", "--send"]) == "sent to team, 2 members")
        #expect(
            try shown(["compose", "text", "team", "--send"]) == "sent to team, 2 members")
        #expect(
            try shown(["group", "rename", "--anyway", "team", "crew", "--send"])
                .wholeMatch(of: #/sent to (bob and carol|carol and bob)/#) != nil)
        #expect(
            try shown(["keygen", "public", "alice.key", "--send"]).hasPrefix("published at tcp://"))
        let relay = try #require(front.world.relayURL)
        #expect(
            try shown(["keygen", "set", "--relay", relay, "alice.key", "--send"])
                .hasPrefix("published at tcp://"))
        // Nothing to send, nothing to say.
        #expect(try shown(["history", "read", "-q", "carol", "--send"]) == "")
        #expect(try shown(["encrypt", "-q", "--to", "bob", "--send"]) == "")
        let session = try TerminalSession(
            front.world.home.command(
                "sotto", ["encrypt", "--to", "bob", "--send"],
                environment: front.world.environment("alice").merging(FrontWorld.noRelay) { $1 }),
            stdin: front.world.home.files("photo.txt"))
        let queued = try session.finish()
        #expect(queued.status == 75 && queued.lines.last == "queued for bob", "\(queued.text)")
    }

    /// Only the members who get the message are counted as reached, and `-q` prints nothing about a sent message.
    @Test func aMessageToAGroupIsCounted() throws {
        let front = try FrontWorld()
        try front.must("sotto contact block carol")
        let run = try front.onTerminal("sotto", ["say", "team", "hi"])
        let line = "sent to 1 of 2 members of team"
        #expect(run.status == 0 && run.lines.last == line, "\(run.text)")
        // A file goes to the relay of the sender, who is no recipient.
        try front.must("sotto contact unblock carol")
        let relay = try #require(front.world.relayURL)
        try front.must("sotto keygen set -q --relay \(relay) alice.key > card.json")
        let file = try front.onTerminal("sotto", ["say", "team", "--attach", "photo.txt"])
        #expect(file.lines.last == "sent to team, 2 members", "\(file.text)")
        let quiet = try front.must("sotto say -q bob hi")
        #expect(quiet.stdout.isEmpty && quiet.stderr.isEmpty, "\(quiet)")
        let failed = try front.world.paste("SOTTO_RELAY=tcp://127.0.0.1:1 sotto say -q bob hi")
        #expect(failed.status == 75 && failed.text.contains(#""status":"queued""#))
    }

    /// Texts have the name that the owner gave a group; records have that name and the group's own one.
    @Test func aTextHasTheLocalNameOfAGroup() throws {
        let front = try FrontWorld()
        let home = front.world.home
        for person in ["alice", "bob"] {
            try front.must("sotto history rename team crew", as: person)
        }
        home.files.write("typed", Array("x\n".utf8))
        let run = try TerminalSession(
            home.command(
                "encrypt", ["--group", "team"], environment: front.world.environment("alice")),
            stdin: home.files("typed"), stdout: home.files("sealed"), columns: 200
        ).finish()
        #expect(run.text.contains("to the group crew, 2 members\n"), "\(run.text)")
        let compose = ["compose", "text", "team", "--send"]
        let sent = try front.onTerminal("sotto", compose, text: "x\n")
        #expect(sent.lines.last == "sent to crew, 2 members", "\(sent.text)")
        // The first message, which is in the file, has the key of the group.
        let sealed = home.files("sealed")
        let read = try front.world.paste("sotto decrypt --text < '\(sealed)'", as: "bob")
        #expect(
            read.stderr.contains(" in crew (") && !read.stderr.contains("in team"),
            "\(read.stderr)")
        #expect(try front.must("sotto group list --text").text.hasPrefix("crew "))
        let record = try front.must("sotto group list --json").records[0]
        #expect(record["name"] == .string("team") && record["called"] == .string("crew"))
        let refused = try front.world.paste("sotto group grant team --newcomers")
        #expect(refused.stderr.contains("in crew the rules decide"), "\(refused.stderr)")
        let typing = try front.world.paste("sotto compose typing team")
        #expect(typing.stderr.contains("no member of crew gets typing"), "\(typing.stderr)")
    }

    /// Without `--send`, `encrypt` tells a person to whom the messages go; with it, the line at the end does.
    @Test func encryptTellsToWhomOnATerminal() throws {
        let front = try FrontWorld()
        let home = front.world.home
        func told(_ arguments: [String], text: String = "x\n") throws -> [Substring] {
            home.files.write("typed", Array(text.utf8))
            let run = try TerminalSession(
                home.command("encrypt", arguments, environment: front.world.environment("alice")),
                stdin: home.files("typed"), stdout: home.files("sealed"), columns: 200
            ).finish()
            try #require(run.status == 0, "\(run.text)")
            return run.text.split(separator: "\n").filter { $0.hasPrefix("to ") }
        }
        #expect(try told(["--to", "bob"]) == ["to bob"])
        #expect(try told(["--to", "bob.card", "--stateless"]) == ["to bob"])
        #expect(try told(["--to", "bob", "--to", "carol"]) == ["to bob and carol"])
        #expect(try told(["--to", "bob", "--jsonl"], text: "x\ny\n") == ["to bob"])
        #expect(try told(["--group", "team"]) == ["to the group team, 2 members"])
        #expect(
            try told([], text: #"{"to":"me","body":{"type":"text","text":"x"}}"#) == ["to me"])
        #expect(try told(["-q", "--to", "bob"]).isEmpty)
        let piped = try front.must("echo x | sotto encrypt --to bob")
        #expect(!piped.stderr.split(separator: "\n").contains { $0.hasPrefix("to ") })
        for words in [["encrypt", "--to", "bob"], ["compose", "text", "bob"]] {
            let sent = try front.onTerminal("sotto", words + ["--send"], text: "x\n")
            #expect(
                sent.lines.last == "sent to bob" && !sent.lines.contains("to bob"), "\(sent.text)")
        }
    }

    /// Nothing is sent, so nothing is told.
    @Test func aFailureTellsNoRecipient() throws {
        let front = try FrontWorld()
        let run = try front.onTerminal("encrypt", ["--json", "--to", "nobody"], text: "x\n")
        #expect(run.status == 66 && !run.text.contains("\nto "), "\(run.text)")
    }

    /// The message of a recipient without a card is not encrypted.
    @Test func aTerminalNamesOnlyThoseWhoGetIt() throws {
        let front = try FrontWorld()
        try front.world.makeOther("dave")
        try front.must("echo x | sotto encrypt -q --to bob --elsewhere > /dev/null")
        try front.must("echo y | sotto encrypt -q --to other.card --elsewhere > /dev/null")
        let numbers = try front.must("sotto history --raw --limit 1000").records.suffix(2)
            .compactMap { $0["number"]?.integer }
        try #require(numbers.count == 2)
        let run = try front.onTerminal(
            "sotto", ["history", "repeat"] + numbers.map(String.init) + ["--send"])
        #expect(run.status != 0 && run.lines.last == "1 sent", "\(run.text)")
    }

    /// The passphrase of a locked identity is asked for once, and no program that uses the network gets it.
    @Test func thePassphraseIsAskedForOnce() throws {
        let front = try FrontWorld()
        front.world.home.files.write("p", Array("correct horse\n".utf8))
        try front.world.must("keygen", ["passwd", "-q", "--passphrase", "@FILE:p", "alice.key"])
        let typed = try front.typing(
            "correct horse\n", at: "Passphrase for ", "sotto",
            ["group", "rename", "--anyway", "team", "crew", "--send"])
        #expect(
            typed.status == 0 && typed.lines.last?.hasPrefix("sent to ") == true, "\(typed.text)")
        #expect(typed.text.components(separatedBy: "Passphrase for").count == 2)
        for source in ["@FILE:p", "@FD:3", "@ENV:PASSWORD"] {
            let run = try front.world.paste(
                "PASSWORD='correct horse' sotto compose text --identity-passphrase \(source) bob --send 3< p",
                text: "x")
            #expect(run.status == 0 && run.text.contains("stored"), "\(run.stderr)")
        }
        // Without a terminal and a source nothing is sent, and the way to unlock the identity is named.
        for command in ["compose text bob --send", "say bob", "read"] {
            let run = try front.world.paste("sotto \(command)", text: "x")
            #expect(
                run.status == 78 && run.stderr.contains(" is locked, ")
                    && run.stderr.contains("sotto keygen unlock"), "\(command): \(run.stderr)")
        }
        let exposed = try front.world.paste(
            "sotto compose text --identity-passphrase horse bob --send", text: "x")
        #expect(exposed.status == 64 && exposed.stderr.contains("cannot be an argument"))
    }

    /// The pages have the pipes: each documented one can be written with the word.
    @Test func eachDocumentedPipeHasIt() throws {
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
        let pages = try FileManager.default.contentsOfDirectory(
            atPath: root.appending(path: "man").path)
        let home = Home()
        var count = 0
        for page in pages {
            let text = try String(contentsOf: root.appending(path: "man/\(page)"), encoding: .utf8)
            for match in text.matches(
                of:
                    #/(?m)^\$ (?:sotto )?(compose|group|history|keygen|bridge) ([a-z]+)[^|\n]*\| (?:sotto )?(?:encrypt \| (?:sotto )?)?send$/#
            ) {
                count += 1
                let run = try home.run(
                    "sotto", [String(match.1), String(match.2), "--send", "--help"])
                #expect(run.status == 0, "\(page): \(match.output.0)")
            }
        }
        #expect(count > 15)
    }
}
