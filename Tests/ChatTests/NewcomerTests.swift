import Foundation
import Testing

@testable import SottoChat

/// The first half hour of a new user with the chat.
struct NewcomerTests {
    private let alice = ChatStage.alice
    private let bob = ChatStage.bob
    private let carol = ChatStage.carol
    private let group = ChatStage.group

    /// The conversation with bob, without a screen. The tools that read are answered by the test.
    private func lines(_ page: [String] = []) -> ChatStage {
        var stage = ChatStage(who: "bob", form: .lines)
        stage.answers["compose text -- bob"] = (
            [#"{"v":1,"type":"message","to":"\#(bob)","body":{}}"#], 0
        )
        stage.answers["contact list"] = ([ChatStage.contact(bob, "bob")], 0)
        stage.answers["history page"] = (page, page.isEmpty ? 1 : 0)
        return stage
    }

    private func told(_ stage: ChatStage) -> [String] {
        stage.effects.compactMap { effect in
            switch effect {
            case .warn(let line), .print(let line): line
            default: nil
            }
        }
    }

    /// The conversation of a group with bob, who is a contact, and carol.
    private func inGroup(_ page: [String] = [], rows: Int = 16, record: String? = nil) -> ChatStage
    {
        var stage = ChatStage(columns: 80, rows: rows)
        stage.answers["contact list"] = ([ChatStage.contact(bob, "bob")], 0)
        stage.answers["history list"] = ([ChatStage.conversation(group, "climbing")], 0)
        stage.answers["group list"] = ([record ?? ChatStage.groupRecord("climbing")], 0)
        stage.answers["group sync"] = ([], 1)
        stage.answers["group participants"] = (
            [
                #"{"v":1,"type":"participant","id":"\#(alice)","role":"owner","name":"me","me":true,"seesMe":true}"#,
                #"{"v":1,"type":"participant","id":"\#(bob)","role":"member","name":"bob","seesMe":true}"#,
            ], 0
        )
        stage.answers["history page"] = (page, page.isEmpty ? 1 : 0)
        stage.start()
        stage.wait()
        stage.press(.enter)
        stage.wait()
        return stage
    }

    private func change(_ event: String, number: Int64? = nil, minutes: Int64 = -20) -> String {
        let place = number.map { #""number":\#($0),"# } ?? ""
        return
            #"{"v":1,"type":"change","group":"\#(group)",\#(place)"time":"\#(ChatStage.time(minutes))","body":{"type":"group","group":"\#(group)","events":[\#(event)]}}"#
    }

    // MARK: Scripts

    @Test func commandsOfAScriptWaitForTheConversation() {
        var stage = lines([ChatStage.message(1, "dinner?")])
        stage.give(
            .entered("/react 👍"), .entered("/file menu.pdf"), .entered("at 8"), .inputEnded)
        stage.start()
        for _ in 0..<5 { stage.wait() }
        stage.end("compose react", 0, 0)
        #expect(
            stage.commands.contains { $0.hasPrefix("compose react --with \(bob) -- 1 👍") }
                && stage.commands.contains { $0.hasPrefix("compose file -q -- menu.pdf \(bob)") },
            "\(stage.commands)")
        #expect(!told(stage).contains { $0.contains("needs an open conversation") })
    }

    @Test func aFailureOfAScriptIsOneLine() {
        var stage = lines()
        stage.start()
        for _ in 0..<5 { stage.wait() }
        let before = told(stage).count
        stage.give(.entered("/file my photo.png"))
        stage.say("compose file", "compose: error: cannot read my: no such file or directory")
        stage.end("compose file", 66, 0)
        #expect(
            Array(told(stage).dropFirst(before)) == [
                "sotto chat: not sent: “/file my photo.png”: cannot read my: no such file or directory; quote a name with spaces"
            ])
        stage.give(.inputEnded)
        #expect(!told(stage).contains { $0.contains("ending") })
    }

    @Test func anUnknownNameIsSaidInWords() {
        var stage = lines()
        stage.answers["compose text -- bob"] = nil
        stage.start()
        stage.say("compose text", "compose: error: no contact, group or file has the name bob")
        stage.say("compose text", "compose: hint: list the contacts: sotto contact list")
        stage.end("compose text", 66)
        #expect(
            told(stage) == [
                "sotto chat: error: no contact or group has the name bob",
                "sotto chat: hint: list the contacts: sotto contact list",
            ])
        #expect(stage.isEnded(66))
    }

    // MARK: Commands

    @Test func mistypedCommandsDoNothing() {
        var stage = ChatStage.withBob(
            columns: 100, [ChatStage.message(1, "one"), ChatStage.message(2, from: alice, "two")])
        stage.wait()
        for line in [
            "/ help", "/reply #xyz hi", "/reply -x hi", "/pin abc", "/delete 2 x", "/quit now",
            "/mute foo", "/info abc", "/older x", "/lock x", "/members all",
        ] {
            stage.forgetCommands()
            stage.enter(line)
            #expect(stage.commands == [] && !stage.state.isFinishing, "\(line)")
            #expect(stage.state.questions.first == nil, "\(line)")
            #expect(stage.state.editor.text == line, "the line stays")
            stage.press(.control("u"))
        }
    }

    @Test func aCommandEndsForwarding() {
        var stage = ChatStage.withBob([ChatStage.message(1, "one")])
        stage.wait()
        stage.enter("/forward")
        stage.forgetCommands()
        stage.enter("hello dear")
        #expect(stage.state.editor.text == "hello dear" && stage.commands == [])
        #expect(stage.screen.contains("no contact or group has the name hello dear"))
        stage.press(.control("u"))
        stage.enter("/help")
        #expect(stage.state.subject == nil)
    }

    @Test func whatCannotBeDoneIsSaid() {
        var stage = ChatStage.withBob(columns: 80, [ChatStage.message(1, "one")])
        stage.wait()
        for (line, words) in [
            ("/rename", "/rename needs a name"),
            ("/unpin", "no message that is shown here is pinned"),
            ("/unpin -1", "this message is not pinned"),
            ("/lock", "the identity has no passphrase; to add one: sotto keygen passwd"),
            ("/timer 1x", "/timer needs a time such as 30m, 8h or 7d, or off"),
            ("/forward -1 mallory", "no contact or group has the name mallory"),
            ("/reply #5 x", "no message that is shown here has the number 5; /older shows more"),
        ] {
            stage.enter(line)
            #expect(stage.screen.contains(words), "\(line): \(stage.screen)")
            stage.press(.control("u"))
        }
        #expect(!stage.state.isFinishing)
    }

    @Test func aNameCanBeQuoted() {
        var stage = ChatStage.withBob()
        stage.forgetCommands()
        stage.enter(#"/open "a b""#)
        #expect(stage.commands == ["compose text -- a b"])
    }

    @Test func aLockedLineStaysAndThePassphraseIsAsked() {
        var stage = ChatStage.withBob()
        stage.wait()
        stage.say("recv", "recv: error: the identity /x is locked, and no terminal is available")
        stage.end("recv", 78, 0)
        stage.enter("while locked")
        #expect(stage.state.lock != nil)
        stage.type("velvet boat")
        #expect(!stage.screen.contains("velvet"))
        stage.press(.escape)
        #expect(stage.state.editor.text == "while locked")
    }

    // MARK: The list

    @Test func anEmptyLineIsNoDraft() {
        var stage = ChatStage.withBob()
        stage.answers["compose text -- carol"] = (
            [#"{"v":1,"type":"message","to":"\#(carol)","body":{}}"#], 0
        )
        stage.enter("/open carol")
        stage.press(.escape)
        #expect(!stage.screen.contains("[draft]"), "\(stage.screen)")
    }

    @Test func aBlockedContactIsMarkedAndCanBeUnblocked() {
        var stage = ChatStage(columns: 80, rows: 12)
        stage.answers["contact list"] = (
            [
                ChatStage.contact(bob, "bob").replacing(#""blocked":false"#, #""blocked":true"#)
            ], 0
        )
        stage.answers["history list"] = ([ChatStage.conversation(bob, "bob", unread: 210)], 0)
        stage.start()
        stage.wait()
        #expect(stage.screen.contains("[blocked] hi"), "\(stage.screen)")
        #expect(!stage.screen.contains("210"), "\(stage.screen)")
        stage.press(.enter)
        stage.forgetCommands()
        stage.enter("hello")
        #expect(stage.state.editor.text == "hello" && stage.state.pending.isEmpty)
        #expect(stage.screen.contains("bob is blocked"), "\(stage.screen)")
        stage.press(.control("u"))
        stage.enter("/block")
        #expect(stage.state.questions.first == nil)
        stage.press(.control("u"))
        stage.enter("/unblock")
        #expect(stage.commands.contains("contact unblock \(bob)"), "\(stage.commands)")
    }

    @Test func aNameThatBeginsWithQIsFound() {
        var stage = ChatStage(columns: 80, rows: 8)
        stage.answers["contact list"] = (
            [ChatStage.contact(bob, "quentin"), ChatStage.contact(carol, "carol")], 0
        )
        stage.start()
        stage.wait()
        stage.type("q")
        #expect(!stage.state.isFinishing && !stage.screen.contains("carol"), "\(stage.screen)")
    }

    @Test func aGroupThatWasLeftIsNotListed() {
        var stage = ChatStage(columns: 80, rows: 8)
        stage.answers["history list"] = ([ChatStage.conversation(group, "climbing")], 0)
        stage.answers["group list"] = (
            [ChatStage.groupRecord("climbing", #""standing":"left""#)], 0
        )
        stage.start()
        stage.wait()
        #expect(!stage.screen.contains("climbing"), "\(stage.screen)")
    }

    // MARK: Waiting messages

    @Test func messagesThatWaitedAreSentAtOnce() {
        var stage = ChatStage(columns: 80, rows: 8)
        stage.answers["send --list"] = ((1...3).map(queued), 0)
        stage.start()
        stage.wait()
        #expect(stage.screen.contains("3 waiting"), "\(stage.screen)")
        // It has no input: a send with an open input sends only what it is given.
        let sending = stage.running.filter { $0.stages[0].tool == "send" }
        #expect(sending.map(\.takesInput) == [false])
        stage.answers["send --list"] = ([], 1)
        stage.end("send -q", 0)
        stage.wait()
        #expect(!stage.screen.contains("waiting"), "\(stage.screen)")
        stage.forgetCommands()
        stage.wait(600)
        #expect(!stage.commands.contains("send -q"))
    }

    @Test func whatWaitsIsTriedUntilTheRelayIsBack() {
        var stage = ChatStage(columns: 80, rows: 8)
        stage.answers["send --list"] = ((1...3).map(queued), 0)
        stage.start()
        stage.wait()
        var starts: [Int] = []
        for _ in 0..<4 {
            stage.say(
                "send -q", "send: error: cannot reach r: connection refused; 3 envelopes are queued"
            )
            stage.end("send -q", 75)
            for second in 1...60 {
                stage.wait()
                guard stage.running.contains(where: { $0.stages[0].tool == "send" }) else {
                    continue
                }
                starts.append(second)
                break
            }
        }
        #expect(starts == [1, 2, 4, 8])
        #expect(stage.screen.contains("r not reached"), "\(stage.screen)")
        // recv is connected again before the next attempt.
        stage.end("send -q", 75)
        stage.say("recv", "recv: note: reconnected to r")
        stage.wait()
        #expect(stage.running.contains { $0.stages[0].tool == "send" })
        #expect(!stage.screen.contains("r not reached"), "\(stage.screen)")
    }

    /// A file is one message, although it waits with its blob.
    @Test func aWaitingFileIsOneMessage() {
        var stage = ChatStage(columns: 80, rows: 8)
        stage.answers["send --list"] = (
            [
                queued(1),
                #"{"v":1,"type":"queued","id":"\#(group)","to":"\#(bob)","kind":"blob"}"#,
            ], 0
        )
        stage.start()
        stage.wait()
        #expect(stage.screen.contains("1 waiting"), "\(stage.screen)")
    }

    @Test func theEndSaysWhatWaits() {
        var stage = ChatStage(columns: 80, rows: 8)
        stage.answers["send --list"] = ((1...3).map(queued), 0)
        stage.start()
        stage.wait()
        stage.press(.control("d"))
        stage.end("send", 0)
        #expect(
            told(stage).last
                == "sotto chat: 3 messages wait: they are sent by the next sotto chat or sotto send"
        )
        #expect(stage.isEnded(0))
    }

    /// More messages arrive at once than the screen shows.
    @Test func unreadMessagesAboveTheScreenAreNamed() {
        var stage = ChatStage.withBob(columns: 80, rows: 10, [ChatStage.message(1, "hi")])
        stage.isPainted = false
        for number in Int64(2)...30 {
            stage.store(ChatStage.message(number, "text \(number)", minutes: 0, #""unread":true"#))
        }
        stage.isPainted = true
        stage.wait()
        #expect(stage.screen.contains("29 unread above: PageUp"), "\(stage.screen)")
        for _ in 0..<5 {
            stage.press(.pageUp)
            stage.wait()
        }
        stage.press(.escape)
        stage.wait()
        #expect(!stage.screen.contains("unread above"), "\(stage.screen)")
    }

    /// What was typed without a relay counts at once, and two Ctrl-C say so.
    @Test func whatIsTypedWithoutARelayWaits() {
        var stage = ChatStage.withBob(columns: 80, rows: 8, [ChatStage.message(1, "hi")])
        stage.say("recv", "recv: note: cannot reach r: connection refused; trying again")
        for number in 2...3 {
            stage.enter("text \(number)")
            stage.make("compose text", Int64(number))
            #expect(stage.screen.contains("\(number - 1) waiting"), "\(stage.screen)")
        }
        var reached = stage
        reached.print("send", ChatStage.result(2, "stored"))
        #expect(reached.screen.contains("1 waiting"), "\(reached.screen)")
        for _ in 0..<2 { stage.press(.control("c")) }
        #expect(
            told(stage).last
                == "sotto chat: 2 messages wait: they are sent by the next sotto chat or sotto send"
        )
        #expect(stage.isEnded(130))
    }

    private func queued(_ number: Int64) -> String {
        #"{"v":1,"type":"queued","id":"\#(ChatStage.id(number))","to":"\#(bob)"}"#
    }

    // MARK: Messages

    @Test func deletedMessagesKeepTheirAuthors() {
        func gone(_ number: Int64, from: String?, _ more: String) -> String {
            let author = from.map { #""from":"\#($0)","# } ?? ""
            let direction = from == alice ? "sent" : "received"
            return
                #"{"v":1,"type":"message",\#(author)"group":"\#(group)","number":\#(number),"direction":"\#(direction)","received":"\#(ChatStage.time(-10))","deleted":true\#(more)}"#
        }
        let stage = inGroup([
            gone(1, from: bob, #","name":"bob""#), gone(2, from: alice, #","expired":true"#),
            gone(3, from: nil, #","expired":true"#), gone(4, from: bob, ""),
        ])
        let texts = ["bob  [deleted]", "me  [expired]", "a member  [expired]"]
        for text in texts { #expect(stage.screen.contains(text), "\(stage.screen)") }
        #expect(stage.screen.components(separatedBy: "bob  [deleted]").count == 3)
    }

    @Test func aLineOfThisMachineHasNoMark() {
        let stage = ChatStage.withBob([
            ChatStage.message(
                1, from: alice, body: #"{"type":"system","event":"verified"}"#,
                #""status":"unsent""#)
        ])
        #expect(stage.screen.contains("[the key was verified]\n"), "\(stage.screen)")
    }

    /// The contact chose the name in the line.
    @Test func aChangedProfileIsALineWithAClaim() {
        let stage = ChatStage.withBob([
            ChatStage.message(
                1,
                body:
                    #"{"type":"system","event":"profile","changed":["name"],"name":"Bo\u001bb\nx"}"#
            )
        ])
        let line = "bob  [changed the profile: “Bo"
        #expect(stage.screen.contains(line), "\(stage.screen)")
        #expect(stage.screen.contains("/info]"), "\(stage.screen)")
        #expect(!stage.screen.contains("\u{1B}"))
    }

    @Test func changesOfAGroupStayAfterReopening() {
        var stage = inGroup([
            change(#"{"event":"joined","who":"\#(bob)","name":"bob","role":"member"}"#, number: 1),
            ChatStage.message(2, "friday?", minutes: -15, in: group),
            change(
                #"{"event":"left","who":"\#(carol)","nickname":"dave","by":"\#(alice)","byName":"me"}"#,
                minutes: -10),
        ])
        for _ in 0..<2 {
            #expect(stage.screen.contains("bob joined the group"), "\(stage.screen)")
            #expect(stage.screen.contains("you removed dave 05cacaca"), "\(stage.screen)")
            stage.press(.escape)
            stage.wait()
            stage.press(.enter)
            stage.wait()
        }
        // The same change is shown once, also after its page was read again.
        stage.store(
            ChatStage.message(
                3, in: group,
                body:
                    #"{"type":"group","group":"\#(group)","events":[{"event":"joined","who":"\#(bob)","name":"bob"}]}"#
            ))
        for _ in 0..<3 { stage.wait() }
        #expect(stage.screen.components(separatedBy: "bob joined the group").count == 2)
    }

    @Test func theFactsOfAMessageNameItsReaders() {
        var stage = inGroup([ChatStage.message(1, from: alice, "friday?", in: group)])
        stage.answers["history show --json -- 1"] = (
            [
                ChatStage.message(
                    1, from: alice, "friday?", in: group,
                    #""status":"stored","receipts":[{"from":"\#(bob)","status":"read","time":"\#(ChatStage.time(-3))"}]"#
                )
            ], 0
        )
        stage.enter("/info 1")
        for line in [
            "from      me", "written   26 Nov 08:31", "status    the relay has it",
            "bob read it, 26 Nov 09:27", "friday?",
        ] {
            #expect(stage.screen.contains(line), "\(line): \(stage.screen)")
        }
    }

    @Test func theFactsOfAGroupAreInWords() {
        let record = ChatStage.groupRecord(
            "climbing", #""standing":"member","rank":"owner","timer":86400"#)
        var stage = inGroup(record: record)
        #expect(stage.screen.contains("messages end after 1d"), "\(stage.screen)")
        stage.answers["group show"] = ([record], 0)
        stage.enter("/info")
        for line in [
            "members   3, you: owner", "write     members and above", "invite    admins and above",
            "timer     messages end after 1d",
        ] {
            #expect(stage.screen.contains(line), "\(line): \(stage.screen)")
        }
        for word in ["policy", "standing", "state"] { #expect(!stage.screen.contains(word)) }
    }

    @Test func theOnlyOwnerHearsOfTheWaysOut() {
        var stage = inGroup()
        stage.enter("/leave")
        #expect(stage.state.questions.first == nil)
        let shown = stage.screen.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(shown.contains("sotto group role climbing WHO owner --send"))
        #expect(shown.contains("sotto group delete climbing --send"), "\(stage.screen)")
    }

    @Test func aDeletionInAGroupIsForAll() {
        var stage = inGroup([ChatStage.message(1, from: alice, "friday?", in: group)])
        stage.enter("/delete")
        #expect(stage.screen.contains("for all members?"), "\(stage.screen)")
    }

    // MARK: Narrow screens

    @Test func anIDLosesNothingAtFortyColumns() {
        var stage = ChatStage.withBob(columns: 40)
        stage.answers["contact show"] = (
            ["name      bob", "id        \(bob)", "suite     auto"], 0
        )
        stage.enter("/info")
        let shown = stage.screen.filter { !$0.isWhitespace }
        #expect(shown.contains(bob) && !shown.contains("suite"), "\(stage.screen)")
    }

    @Test func aLongErrorIsShownWhole() {
        var stage = ChatStage.withBob(columns: 40)
        stage.enter("/rename robert")
        let cause = "another contact has the name robert, and two contacts cannot have one name"
        stage.say("history rename", "history: error: \(cause)")
        stage.end("history rename", 64)
        let shown = stage.screen.split(separator: "\n").map(String.init).joined(separator: " ")
        #expect(shown.contains("another contact has the name") && shown.contains("have one name"))
    }

    /// A file is given to the sender of the texts, which tries again while the relay is away.
    @Test func aFileWaitsLikeAText() {
        var stage = ChatStage.withBob(columns: 80)
        stage.enter("/file menu.txt the menu")
        #expect(stage.screen.contains("me  /file menu.txt the menu …"), "\(stage.screen)")
        let blob = #"{"v":1,"type":"blob","id":"\#(group)","to":"\#(bob)"}"#
        stage.print("compose file", blob)
        stage.make("compose file", 2)
        #expect(stage.sent == blob + "\n" + ChatStage.envelope(2) + "\n")
        stage.store(
            ChatStage.message(
                2, from: alice, minutes: 0,
                body: #"{"type":"file","name":"menu.txt","contentType":"x","size":10,"key":"x"}"#,
                #""status":"unsent""#))
        #expect(stage.screen.contains("me  [menu.txt, 10 B] /save 2 …"), "\(stage.screen)")
        #expect(!stage.screen.contains("/file"), "\(stage.screen)")
        // A send that dies gets both again.
        stage.end("send", 137)
        stage.wait(1)
        #expect(stage.sent == blob + "\n" + ChatStage.envelope(2) + "\n")
        stage.print("send", ChatStage.result(2, "stored"))
        #expect(stage.screen.contains("/save 2 ✓"), "\(stage.screen)")
    }

    @Test func aFileThatDoesNotExistStaysInTheLine() {
        var stage = ChatStage.withBob(columns: 80)
        stage.enter("/file my photo.png at the lake")
        stage.say("compose file", "compose: error: cannot read my: no such file or directory")
        stage.end("compose file", 66, 0)
        #expect(stage.screen.contains("> /file my photo.png at the lake"), "\(stage.screen)")
        #expect(stage.screen.contains("quote a name with spaces"), "\(stage.screen)")
    }

    @Test func onlineIsNotSaidWithoutTheRelay() {
        var stage = ChatStage.withBob(columns: 80)
        stage.wait()
        stage.print(
            "recv",
            #"{"v":1,"type":"message","from":"\#(bob)","body":{"type":"presence","state":"online"}}"#
        )
        #expect(stage.screen.contains("online"))
        stage.say("recv", "recv: note: the relay cannot be reached; trying again")
        #expect(!stage.screen.contains("online"), "\(stage.screen)")
    }

    @Test func theHelpExplainsTheSignsAndNamesTheFirstSteps() {
        let help = SlashCommand.helpLines(isGroup: true).joined(separator: "\n")
        for words in ["●", "+2", "sotto add", "sotto meet", "sotto group create", "/unblock"] {
            #expect(help.contains(words), "\(words)")
        }
    }

    @Test func aLostStateIsSaidWithTheCommand() {
        let stage = ChatStage.withBob(
            columns: 100,
            [
                ChatStage.message(
                    1, body: #"{"type":"repair","name":"bob","unread":3}"#)
            ])
        #expect(stage.screen.contains("lost the messages of a machine"))
        #expect(stage.screen.contains("sotto history repeat bob --send"), "\(stage.screen)")
    }
}
