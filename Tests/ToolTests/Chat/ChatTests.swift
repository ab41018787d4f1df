import Foundation
import Glibc
import Sotto
import TestSupport
import Testing

/// `sotto chat` in terminals, with a relay.
@Suite(.needs(.tmux), .timeLimit(.minutes(60))) struct ChatTests {
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

    /// The messages around a found one are read, and Esc returns to the newest.
    @Test func aFoundMessageIsShownInItsPlace() throws {
        try stage.must(
            they.alice,
            "seq -f 'line %g' 150 | encrypt -q --jsonl --elsewhere --to bob > /dev/null")
        let left = try chat(they.alice)
        try left.waitFor("me  line 150")
        try left.enter("/search line 33")
        try left.wait("no list") { lines in
            lines.contains { $0.hasPrefix("> ") && $0.hasSuffix("me  line 33") }
        }
        try left.press("Enter")
        try left.waitFor("me  line 32")
        try left.waitFor("me  line 34")
        #expect(try !left.lines().contains { $0.contains("me  line 150") })
        try left.press("Escape")
        try left.waitFor("me  line 150")
    }

    @Test func twoPeopleTalk() throws {
        for party in [they.alice, they.bob] {
            let peer = they.peer(of: party).name
            #expect(try party.run("contact", ["set", peer, "receipts=on"]).status == 0)
        }
        let left = try chat(they.alice)
        let right = try chat(they.bob)
        try left.waitFor("no messages yet")
        try right.waitFor("no messages yet")
        try left.enter("dinner at 8?")
        #expect(try right.waitFor("dinner").hasSuffix("alice  dinner at 8?"))
        // The mark changes in place, and a receipt adds no line.
        #expect(try left.waitFor("✓✓ read").hasSuffix("me  dinner at 8? ✓✓ read"))
        #expect(try left.lines().filter { $0.contains("dinner") || $0.contains("read") }.count == 1)
        try right.enter("/reply yes")
        try left.waitFor("bob  ┃ me: dinner at 8?")
        #expect(try left.waitFor("yes").hasSuffix("      yes"))
        try left.enter("/react ❤️")
        #expect(try right.waitFor("❤️").hasSuffix("      ❤️ alice"))
        try left.waitFor("      ❤️ me")
        // The same emoji again removes the reaction.
        try left.enter("/react ❤️")
        try right.waitForEnd(of: "❤️")
        try left.waitForEnd(of: "❤️")
        // Without a number, the user's last message is edited or deleted, and not the last message.
        try left.enter("/edit dinner at 9?")
        try right.waitFor("dinner at 9? [edited]")
        try left.waitFor("dinner at 9? [edited]")
        try right.enter("/edit no")
        try left.waitFor("      no [edited]")
        try right.enter("/delete")
        try right.waitFor("delete your message “no” on both sides?")
        try right.answer("C-y", until: "me  [deleted]")
        try left.waitFor("bob  [deleted]")
        try right.enter("/silly")
        try right.waitFor("no command /silly; begin a text with //, see /help")
        // It stays in the line.
        try right.waitFor("> /silly")
        try right.press("C-u")
        try right.enter("//reply is a command")
        #expect(try left.waitFor("is a command").hasSuffix("bob  /reply is a command"))
        try right.enter("/help")
        try right.waitFor("Alt-Enter")
        try right.press("Escape")
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
        try left.waitFor("ended 0")
        try right.waitFor("good night")
        // One Ctrl-C clears the line, and two on an empty line end.
        try right.press("h", "a", "C-c")
        try right.waitForEnd(of: "> ha")
        try right.press("C-c")
        try right.waitFor("Ctrl-C again ends")
        try right.press("C-c")
        try right.waitFor("ended 130")
        #expect(try they.view().count == 4)
    }

    /// A paste is one message, and its line feeds do not send it. Ctrl-J and Alt-Enter are line breaks too.
    @Test func aPasteIsOneMessage() throws {
        let left = try chat(they.alice)
        try left.waitFor("no messages yet")
        try left.paste("one\n/quit\ntwo\n")
        try left.waitFor("two")
        try left.press("t", "h", "r", "e", "e", "C-j")
        try left.press("M-Enter", "f", "o", "u", "r", "Enter")
        try left.waitFor("four ✓")
        #expect(
            try they.alice.history("bob").map { $0.body["text"]?.string }
                == ["one\n/quit\ntwo\nthree\n\nfour"])
    }

    /// Earlier messages, an unread mark, and a line that is being typed while messages arrive.
    @Test func whatCameBeforeIsShownAndTypingIsKept() throws {
        for number in 1...3 { try tell(they.bob, "message \(number)") }
        try stage.must(they.alice, "recv -q | decrypt -q > /dev/null")
        let terminal = try chat(they.alice, columns: 40)
        try terminal.waitFor("3 unread")
        try terminal.waitFor("message 3")
        // The typed line has two rows here.
        let typed = "half a line that is longer than the terminal"
        for word in typed.split(separator: " ") { try terminal.press(String(word), "Space") }
        try terminal.waitFor("minal")
        try tell(they.bob, "while you type")
        try terminal.waitFor("while you type")
        let shown = try terminal.lines()
        let place = try #require(shown.firstIndex { $0.hasPrefix("> half a line") })
        #expect(shown[..<place].contains { $0.hasSuffix("while you type") })
        #expect(shown.filter { $0.contains("half") }.count == 1)
        // Another width keeps what is typed, in one row now.
        try terminal.resize(columns: 80)
        try terminal.waitFor("> \(typed)")
        try terminal.resize(columns: 40)
        try terminal.press("Enter")
        try terminal.waitFor("me  half a line")
        try terminal.wait("the typed line stays") { $0.last { !$0.isEmpty } == ">" }
        for _ in 0..<500 where try unread() != 0 { usleep(20_000) }
        #expect(try unread() == 0)
    }

    private func unread() throws -> Int64? {
        try they.alice.history("unread").last?["unread"]?.integer
    }

    /// Only what was on the screen is marked as read.
    @Test func messagesAboveTheScreenStayUnread() throws {
        for number in 1...40 { try tell(they.bob, "message \(number)") }
        try stage.must(they.alice, "recv -q | decrypt -q > /dev/null")
        #expect(try unread() == 40)
        let terminal = try chat(they.alice)
        try terminal.waitFor("40 unread")
        // The screen begins with the first unread message.
        try terminal.waitFor("message 1")
        #expect(try !terminal.lines().contains { $0.hasSuffix("message 40") })
        for _ in 0..<500 where try unread() == 40 { usleep(20_000) }
        let rest = try #require(try unread())
        #expect((20..<40).contains(rest))
        for _ in 0..<3 { try terminal.press("NPage") }
        try terminal.waitFor("message 40")
        for _ in 0..<500 where try unread() != 0 { usleep(20_000) }
        #expect(try unread() == 0)
    }

    /// The list opens conversations, and mail of all of them arrives while one is open.
    @Test func theListOpensConversations() throws {
        let list = try stage.chat(they.alice)
        try list.waitFor("bob")
        try tell(they.bob, "knock knock")
        try list.waitFor("knock knock")
        try list.press("Enter")
        try list.waitFor("bob  knock knock")
        try list.enter("who is there?")
        try list.waitFor("who is there? ✓")
        try list.press("Escape")
        try list.waitFor("me: who is there?")
        try list.press("q")
        try list.waitFor("ended 0")
    }

    /// The signals of the other side are in the header and above the typed line. They disappear when they end.
    @Test func signalsEndByThemselves() throws {
        let on = try they.bob.run("contact", ["set", "alice", "typing=on", "presence=on"])
        #expect(on.status == 0)
        func signal(_ words: String) throws {
            try stage.must(they.bob, "compose \(words) alice | encrypt -q | send -q")
        }
        let terminal = try stage.chat(they.alice, with: "bob")
        try terminal.waitFor("no messages yet")
        // A message arrives when the chat is connected.
        try tell(they.bob, "hello")
        try terminal.waitFor("bob  hello")
        try terminal.press("half", "Space", "a")
        try signal("presence")
        try terminal.waitFor("· online")
        try signal("typing")
        try terminal.waitFor("bob is typing")
        try terminal.waitFor("> half a")
        try terminal.waitForEnd(of: "is typing")
        // The other signal lasts longer.
        try terminal.waitFor("· online")
        // A message ends the signal of its author, and the other side can end both.
        try signal("typing")
        try terminal.waitFor("bob is typing")
        try tell(they.bob, "there you are")
        try terminal.waitFor("there you are")
        try terminal.waitForEnd(of: "is typing")
        try signal("presence --offline")
        try terminal.waitForEnd(of: "· online")
        try terminal.press("Enter")
        try terminal.waitFor("me  half a")
        try terminal.press("C-d")
        try terminal.waitFor("ended 0")
    }

    /// A file that is sent while the relay is away leaves by itself, as a text does.
    @Test func aFileWaitsForTheRelay() throws {
        let terminal = try chat(they.alice)
        try terminal.waitFor("no messages yet")
        try terminal.enter("first")
        try terminal.waitFor("me  first ✓")
        they.home.files.write("menu.txt", randomBytes(200_000))
        try stage.withoutRelay {
            try terminal.enter("/file '\(they.home.files("menu.txt"))' for friday")
            try terminal.waitFor("[menu.txt, 200 kB]")
            try terminal.waitFor("relay not reached")
        }
        try terminal.waitFor("for friday ✓")
        let read = try stage.must(they.bob, "recv -q | decrypt -q")
        #expect(try read.records.compactMap { $0.body["name"]?.string } == ["menu.txt"])
    }

    /// What waited before the start, a text or a file, is sent without another text.
    @Test func whatWaitedBeforeTheStartIsSent() throws {
        they.home.files.write("menu.txt", randomBytes(1_000))
        try stage.withoutRelay {
            for make in ["text bob", "file menu.txt bob"] {
                let line = "printf waited | compose \(make) | encrypt -q | send -q || [ $? = 75 ]"
                try stage.must(they.alice, line)
            }
        }
        let terminal = try chat(they.alice)
        try terminal.waitFor("me  waited ✓")
        try terminal.waitFor("      waited ✓")
        try terminal.waitForEnd(of: "waiting")
    }

    @Test func aFileIsSentAndSaved() throws {
        let (left, right) = (try chat(they.alice), try chat(they.bob))
        try left.waitFor("no messages yet")
        try right.waitFor("no messages yet")
        let file = randomBytes(200_000)
        they.home.files.write("a photo", file)
        let path = they.home.files("a photo")
        try left.enter("/file '\(path)' from the lake")
        try right.waitFor("from the lake")
        let number = try #require(try they.bob.history("alice").last?["number"]?.integer)
        try right.enter("/save #\(number)")
        try right.waitFor("saved as ./a photo")
        #expect(try right.scratch.read("a photo") == file)
        try right.enter("/save x")
        try right.waitForEnd(of: "saved as")
        // Ctrl-D waits for the upload.
        try left.enter("/file '\(path)' again")
        try left.press("C-d")
        try left.waitFor("ended 0")
        try right.waitFor("again")
    }

    /// Another terminal adds, renames and removes contacts, brings another key, and makes a group.
    @Test func whatAnotherTerminalChangesIsShown() throws {
        let list = try stage.chat(they.alice)
        let open = try chat(they.alice)
        try list.waitFor("bob")
        try open.waitFor(" bob  not verified")
        try stage.must(
            they.alice,
            """
            keygen --name bob -o other.key && keygen public other.key > other.card
            contact add -q other.card || true
            """)
        try open.waitFor(" bob  CHANGED KEY")
        try list.waitFor("! bob")
        try stage.must(they.alice, "contact keep-key bob")
        try open.waitFor(" bob  not verified")
        try stage.must(they.alice, "contact rename bob robert")
        try open.waitFor(" robert  not verified")
        try list.waitFor("robert")
        try stage.must(
            they.alice,
            "keygen --name carol -o carol.key && keygen public carol.key | contact add -q -")
        try list.waitFor("carol")
        try stage.must(they.alice, "group create team > /dev/null")
        try list.waitFor("team")
        try stage.must(they.alice, "contact remove robert")
        try open.waitFor("not a contact")
        try list.waitForEnd(of: "robert")
    }

    /// The sandboxed helper decodes the small picture of a message.
    @Test func aPictureHasAPreview() throws {
        try stage.must(they.bob, "printf x | qr -t png -o code.png")
        try stage.must(
            they.bob, "compose file -q code.png alice < /dev/null | encrypt -q | send -q")
        let colors = ["NO_COLOR": "", "COLORTERM": "truecolor"]
        let terminal = try stage.chat(they.alice, with: "bob", environment: colors)
        try terminal.waitFor("[code.png, ")
        try terminal.waitFor("      ▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀")
        let plain = try stage.chat(they.alice, with: "bob", environment: ["COLORTERM": "truecolor"])
        try plain.waitFor("[code.png, ")
        try plain.waitFor("/save 1")
        #expect(try !plain.lines().contains { $0.contains("▀") })
    }

    @Test func anUnreachableRelayIsReportedAndMessagesAreSentLater() throws {
        let terminal = try chat(they.alice)
        try terminal.waitFor("no messages yet")
        try terminal.enter("now")
        try terminal.waitFor("me  now ✓")
        try stage.withoutRelay {
            try terminal.waitFor("relay not reached")
            try terminal.enter("for later")
            try terminal.waitFor("me  for later …")
        }
        try terminal.waitFor("me  for later ✓")
        try terminal.waitForEnd(of: "relay not reached")
        let other = try chat(they.bob)
        #expect(try other.waitFor("for later").hasSuffix("alice  for later"))
        // Without a relay, Ctrl-D leaves the line in the outbox. The chat is connected when it has a message.
        try tell(they.bob, "back again")
        try terminal.waitFor("bob  back again")
        stage.relay.end()
        try terminal.waitFor("relay not reached")
        try terminal.enter("for much later")
        try terminal.waitFor("for much later …")
        try terminal.press("C-d")
        try terminal.waitFor("ended 0")
        #expect(try they.alice.run("send", ["--list"]).status == 0)
    }

    /// Envelopes that a killed `send` had not taken are sent by the next one, once.
    @Test func aKilledSendLosesNothing() throws {
        let terminal = try chat(they.alice)
        try terminal.waitFor("no messages yet")
        try terminal.enter("first")
        try terminal.waitFor("me  first ✓")
        let send = try stage.process("send", of: they.alice)
        kill(send, SIGSTOP)
        try terminal.enter("second")
        try terminal.waitFor("me  second …")
        kill(send, SIGKILL)
        try terminal.waitFor("me  second ✓")
        let other = try chat(they.bob)
        try other.waitFor("alice  second")
        #expect(try they.view().map { $0.body["text"]?.string } == ["first", "second"])
    }

    /// Text that is typed while a conversation is opened is for that conversation.
    @Test func aTextAfterOpenGoesToTheNamedPerson() throws {
        let terminal = try chat(they.alice)
        try terminal.waitFor("no messages yet")
        try terminal.type("/open me")
        try terminal.press("Enter", "n", "o", "t", "e", "Enter")
        try terminal.waitFor("notes to yourself")
        if try terminal.lines().contains("> note") { try terminal.press("Enter") }
        try terminal.waitFor("me  note")
        for _ in 0..<500 where try they.alice.history("me").isEmpty { usleep(20_000) }
        #expect(try they.alice.history("me").map { $0.body["text"]?.string } == ["note"])
    }

    /// Two chats of one person: one receives the mail, and both show it.
    @Test func twoChatsShowTheSame() throws {
        let first = try chat(they.alice)
        try first.waitFor("no messages yet")
        try tell(they.bob, "one")
        try first.waitFor("bob  one")
        let second = try chat(they.alice)
        try second.waitFor("another recv receives the mail")
        try second.waitFor("bob  one")
        try tell(they.bob, "two")
        try first.waitFor("bob  two")
        try second.waitFor("bob  two")
        try second.enter("three")
        try first.waitFor("me  three ✓")
        try second.waitFor("me  three ✓")
        for terminal in [first, second] {
            try terminal.press("C-d")
            try terminal.waitFor("ended 0")
            terminal.end()
        }
        #expect(try stage.areEnded(they.alice))
    }

    /// Envelopes that recv gave to a killed decrypt are decrypted by the next one.
    @Test func aKilledDecryptLosesNoMail() throws {
        let terminal = try chat(they.alice, columns: 80)
        try terminal.waitFor("no messages yet")
        try tell(they.bob, "one")
        try terminal.waitFor("bob  one")
        let decrypt = try stage.process("decrypt", of: they.alice)
        kill(decrypt, SIGSTOP)
        try tell(they.bob, "two")
        for _ in 0..<500 where try printed() == 0 { usleep(20_000) }
        kill(decrypt, SIGKILL)
        try terminal.waitFor("no mail is received: decrypt ended with status 137")
        try terminal.waitFor("bob  two")
        try tell(they.bob, "three")
        try terminal.waitFor("bob  three")
        try terminal.press("C-d")
        try terminal.waitFor("ended 0")
    }

    /// The number of envelopes of Alice that recv printed and decrypt has not finished.
    private func printed() throws -> Int {
        try they.alice.run("recv", ["--again", "-q"]).lines.count
    }

    /// A window learns what became of a message that another one sent.
    @Test func aSecondWindowLearnsFates() throws {
        let first = try chat(they.alice)
        try first.waitFor("no messages yet")
        let second = try chat(they.alice)
        // One of the windows receives the mail. The other shows a note about it in place of the first text.
        try second.wait("an empty conversation is not shown") { lines in
            lines.contains {
                $0.contains("no messages yet") || $0.contains("another recv receives the mail")
            }
        }
        try stage.withoutRelay {
            try first.enter("while down")
            try first.waitFor("me  while down …")
            try second.waitFor("me  while down …")
        }
        try first.waitFor("me  while down ✓")
        try second.waitFor("me  while down ✓")
    }

    /// A text cannot write to the terminal, and is not wider than it.
    @Test func textsAndNamesAreEscaped() throws {
        let terminal = try chat(they.alice)
        try terminal.waitFor("no messages yet")
        try tell(they.bob, "\u{1B}[2J\u{1B}]0;title\u{07}\u{202E}evil")
        #expect(try terminal.waitFor("evil").contains("bob"))
        #expect(try terminal.lines().contains { $0.contains("2J") })
        #expect(try terminal.waitFor("not verified").hasPrefix(" bob"))
    }

    @Test func linesOfAPipeAreSent() throws {
        let run = try stage.sotto(they.alice, ["chat", "bob"], "one\ntwo\n\nthree")
        #expect(run.status == 0, "\(run.stderr)")
        let terminal = try chat(they.bob)
        try terminal.waitFor("three")
        #expect(try they.view().map { $0.body["text"]?.string } == ["one", "two", "three"])
    }

    /// On a terminal that has no screen, lines come in and go out.
    @Test func aDumbTerminalHasLines() throws {
        let terminal = try stage.chat(they.alice, with: "bob", environment: ["TERM": "dumb"])
        try tell(they.bob, "hello")
        try terminal.waitFor("bob  hello")
        try terminal.enter("hi")
        try terminal.waitFor("me  hi")
        try terminal.press("C-d")
        try terminal.waitFor("ended 0")
        #expect(try they.alice.history("bob").map { $0.body["text"]?.string } == ["hello", "hi"])
    }

    @Test func badUseIsRefused() throws {
        let nothing = try stage.sotto(they.alice, ["chat"])
        #expect(nothing.status == 64 && nothing.stderr.contains("without a terminal"))
        let unknown = try stage.sotto(they.alice, ["chat", "nobody"])
        #expect(unknown.status == 66 && unknown.stderr.contains("nobody"), "\(unknown)")
        let terminal = try stage.chat(they.alice, with: "nobody")
        try terminal.waitFor("ended 66")
        try terminal.waitFor("sotto chat: error: no contact or group has the name nobody")
    }
}
