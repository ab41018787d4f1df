import Foundation
import Glibc
import Sotto
import TestSupport
import Testing

/// `sotto chat` in terminals, with a relay.
@Suite(.needs(.tmux, .python), .timeLimit(.minutes(60))) struct ChatTests {
    let they: Conversing
    private let stage: ChatStage

    init() throws {
        they = try Conversing()
        stage = try ChatStage(they.home)
    }

    private func chat(_ party: Party, columns: Int = 60) throws -> TerminalEmulator {
        try stage.chat(party, with: they.peer(of: party).name, columns: columns)
    }

    /// Sends messages with the other tools.
    private func tell(_ party: Party, _ text: String) throws {
        try stage.must(
            party,
            "printf '%s' \"$0\" | encrypt -q --to \(they.peer(of: party).name) | send -q", text)
    }

    @Test func twoPeopleTalk() throws {
        for party in [they.alice, they.bob] {
            let peer = they.peer(of: party).name
            #expect(try party.run("contact", ["set", peer, "receipts=on"]).status == 0)
        }
        let left = try chat(they.alice)
        let right = try chat(they.bob)
        try left.waitFor(">")
        try right.waitFor(">")
        try left.enter("dinner at 8?")
        #expect(try right.waitFor("dinner").hasSuffix("alice  dinner at 8?"))
        try left.waitFor("[bob: ✓✓ read]")
        try right.enter("/reply yes")
        #expect(try left.waitFor("yes").hasSuffix("   yes"))
        try left.waitFor("bob  > dinner at 8?")
        try left.enter("/react ❤️")
        try right.waitFor("[alice reacted ❤️]")
        try left.waitFor("[you reacted ❤️]")
        try left.enter("/react ❤️")
        try right.waitFor("[alice removed a reaction]")
        try left.waitFor("[you removed a reaction]")
        // Without a number, the user's last message is edited or deleted, and not the last message.
        try left.enter("/edit dinner at 9?")
        try right.waitFor("[alice edited a message: dinner at 9?]")
        try left.waitFor("[you edited a message: dinner at 9?]")
        try right.enter("/edit no")
        try left.waitFor("[bob edited a message: no]")
        try right.enter("/delete")
        try left.waitFor("[bob deleted a message]")
        try right.waitFor("[you deleted a message]")
        try right.enter("/edit nothing")
        try right.waitFor("[you have no message here to change]")
        try right.enter("/silly")
        try right.waitFor("[unknown command /silly; /help lists the commands]")
        try right.enter("//reply is a command")
        try left.waitFor("/reply is a command")
        try right.enter("/help")
        try right.waitFor("/reply [-N] TEXT")
        // The history has what the lines made.
        let messages = try they.view()
        #expect(
            messages.map { $0.body["text"]?.string } == [
                "dinner at 9?", nil, "/reply is a command",
            ])
        #expect(messages[1]["deleted"] == .bool(true))
        // Ctrl-D waits until the lines are sent.
        try left.enter("good night")
        try left.press("C-d")
        #expect(try left.waitFor("ended") == "ended 0")
        try right.waitFor("good night")
        try right.press("C-c")
        #expect(try right.waitFor("ended") == "ended 130")
        #expect(try they.view().count == 4)
    }

    /// Earlier messages, an unread mark, and a line that is being typed while messages arrive.
    @Test func whatCameBeforeIsShownAndTypingIsKept() throws {
        for number in 1...3 { try tell(they.bob, "message \(number)") }
        try stage.must(they.alice, "recv -q | decrypt -q > /dev/null")
        let terminal = try chat(they.alice, columns: 40)
        try terminal.waitFor("[3 unread]")
        try terminal.waitFor("message 3")
        // The typed line has two rows here.
        let typed = "half a line that is longer than the terminal"
        for word in typed.split(separator: " ") { try terminal.press(String(word), "Space") }
        try terminal.waitFor("minal")
        try tell(they.bob, "while you type")
        try terminal.waitFor("while you type")
        let shown = try terminal.lines()
        let place = try #require(shown.firstIndex { $0.hasPrefix("> half a line") })
        #expect(shown[place - 1].hasSuffix("while you type"))
        #expect(shown[place...].filter { $0.contains("half") }.count == 1)
        try terminal.press("Enter")
        try terminal.waitFor("me   ")
        #expect(try they.alice.history("unread").last?["unread"] == .integer(0))
        // The next messages are wrapped for the new width.
        try terminal.resize(columns: 80)
        try terminal.waitFor(">")
        try tell(they.bob, String(repeating: "word ", count: 12))
        #expect(try terminal.waitFor("word").filter { $0 == "w" }.count >= 10)
    }

    /// The signals of the other side are in a line above the typed one. The line disappears when they end.
    @Test func signalsEndByThemselves() throws {
        let on = try they.bob.run("contact", ["set", "alice", "typing=on", "presence=on"])
        #expect(on.status == 0)
        func signal(_ words: String) throws {
            try stage.must(they.bob, "compose \(words) alice | encrypt -q | send -q")
        }
        func shown(_ text: String, in terminal: TerminalEmulator) throws -> Bool {
            try terminal.lines().contains { $0.contains(text) }
        }
        let terminal = try stage.chat(they.alice, with: "bob")
        try terminal.waitFor(">")
        // A message arrives when the chat is connected.
        try tell(they.bob, "hello")
        try terminal.waitFor("bob  hello")
        try terminal.press("half", "Space", "a")
        try signal("presence")
        try terminal.waitFor("[bob is online]")
        let start = ContinuousClock.now
        try signal("typing")
        try terminal.waitFor("[bob is online, bob is typing]")
        let lines = try terminal.lines()
        let place = try #require(lines.firstIndex { $0.hasPrefix("> half a") })
        #expect(lines[place - 1] == "  [bob is online, bob is typing]")
        for _ in 0..<600 where try shown("is typing", in: terminal) { usleep(50_000) }
        // Not earlier; how much later depends on the machine. The other signal lasts longer.
        #expect(ContinuousClock.now - start >= .seconds(15))
        try terminal.waitFor("[bob is online]")
        // A message ends the signal of its author, and the other side can end both.
        try signal("typing")
        try terminal.waitFor("bob is typing")
        try tell(they.bob, "there you are")
        try terminal.waitFor("there you are")
        for _ in 0..<200 where try shown("is typing", in: terminal) { usleep(50_000) }
        #expect(try !shown("is typing", in: terminal))
        try signal("presence --offline")
        for _ in 0..<200 where try shown("is online", in: terminal) { usleep(50_000) }
        #expect(try !shown("is online", in: terminal))
        try terminal.press("Enter")
        try terminal.waitFor("me   half a")
        try terminal.press("C-d")
        #expect(try terminal.waitFor("ended") == "ended 0")
    }

    @Test func aFileIsSentAndSaved() throws {
        let (left, right) = (try chat(they.alice), try chat(they.bob))
        try left.waitFor(">")
        try right.waitFor(">")
        let file = randomBytes(200_000)
        they.home.files.write("a photo", file)
        let path = they.home.files("a photo")
        try left.enter("/file '\(path)' from the lake")
        try right.waitFor("from the lake")
        let number = try #require(try they.bob.history("alice").last?["number"]?.integer)
        try right.enter("/save \(number)")
        try right.waitFor("[saved as ./a photo]")
        #expect(try right.scratch.read("a photo") == file)
        try right.enter("/save x")
        try right.waitFor("needs the number")
        try left.enter("/file missing")
        try left.waitFor("missing")
        // Ctrl-D waits for the upload.
        try left.enter("/file '\(path)' again")
        // A key is lost while the terminal changes its mode between two lines.
        try left.waitFor("photo] again")
        try left.press("C-d")
        #expect(try left.waitFor("ended") == "ended 0")
        try right.waitFor("again")
    }

    @Test func anUnreachableRelayIsReportedAndMessagesAreSentLater() throws {
        let terminal = try chat(they.alice)
        try terminal.waitFor(">")
        let address = stage.relay.address
        stage.relay.end()
        try terminal.waitFor("again")
        try terminal.enter("for later")
        try terminal.waitFor("me  for later")
        stage.relay = try #require(RelayProcess(stage.scratch, listen: address))
        try terminal.waitFor("reconnected")
        let other = try chat(they.bob)
        #expect(try other.waitFor("for later").hasSuffix("alice  for later"))
        // Without a relay, Ctrl-D leaves the line in the outbox.
        stage.relay.end()
        try terminal.enter("for much later")
        try terminal.waitFor("for much later")
        try terminal.press("C-d")
        #expect(try terminal.waitFor("ended") == "ended 0")
        #expect(try they.alice.run("send", ["--list"]).status == 0)
    }

    /// When the terminal is closed, all programs end.
    @Test func aClosedTerminalEndsAllPrograms() throws {
        let terminal = try chat(they.alice)
        try terminal.enter("hello")
        try terminal.waitFor("me  hello")
        #expect(try programs().count > 3)
        terminal.end()
        #expect(try areEnded())
    }

    /// Signals can arrive while another one is handled. A handler then waited for its own lock without end.
    @Test func manySignalsEndAllPrograms() throws {
        for _ in 0..<5 {
            let terminal = try chat(they.alice)
            try terminal.waitFor(">")
            let script = try #require(
                try programs().first {
                    String(
                        decoding: TemporaryDirectory.contents("/proc/\($0)/cmdline"), as: UTF8.self
                    )
                    .contains("sotto-chat")
                })
            for number in 0..<2_000 {
                kill(script, [SIGHUP, SIGTERM, SIGINT][number % 3])
            }
            try terminal.waitFor("ended")
            terminal.end()
            #expect(try areEnded())
        }
    }

    /// The programs of Alice: their environment names her identity.
    private func programs() throws -> [pid_t] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap(pid_t.init).filter {
            String(decoding: TemporaryDirectory.contents("/proc/\($0)/environ"), as: UTF8.self)
                .contains("SOTTO_IDENTITY=\(they.home.files("alice.key"))")
        }
    }

    private func areEnded() throws -> Bool {
        for _ in 0..<3_000 {
            if try programs().isEmpty { return true }
            usleep(10_000)
        }
        return false
    }

    /// A text cannot write to the terminal.
    @Test func textsAndNamesAreEscaped() throws {
        let terminal = try chat(they.alice)
        try terminal.waitFor(">")
        try tell(they.bob, "\u{1B}[2J\u{1B}]0;title\u{07}\u{202E}evil")
        #expect(try terminal.waitFor("evil").contains("bob"))
        #expect(try terminal.lines().contains { $0.contains("2J") })
    }

    @Test func linesOfAPipeAreSent() throws {
        let run = try stage.sotto(they.alice, ["chat", "bob"], "one\ntwo\n\nthree")
        #expect(run.status == 0, "\(run.stderr)")
        let terminal = try chat(they.bob)
        try terminal.waitFor("three")
        #expect(try they.view().map { $0.body["text"]?.string } == ["one", "two", "three"])
    }

    @Test func badUseIsRefused() throws {
        #expect(try stage.sotto(they.alice, ["chat"]).status == 64)
        let unknown = try stage.sotto(they.alice, ["chat", "nobody"])
        #expect(unknown.status == 66 && unknown.stderr.contains("nobody"), "\(unknown)")
        let missing = try stage.sotto(they.alice, ["chat", "bob"], path: "/nonexistent")
        #expect(missing.status == 78 && missing.stderr.contains("sotto-chat"))
    }
}
