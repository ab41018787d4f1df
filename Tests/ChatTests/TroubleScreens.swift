import Testing

@testable import SottoChat

/// Troubles are told in words, once.
struct TroubleScreens {
    @Test func anotherRecvReceives() {
        var stage = ChatStage.withBob(rows: 8, [ChatStage.message(1, "hi")])
        for _ in 0..<3 {
            stage.say("recv", "recv: error: another recv is running for this identity")
            stage.end("recv", 75, 0)
            stage.wait(30)
        }
        stage.store(ChatStage.message(2, "through the other one"))
        stage.show("one line, and the messages")
        stage.compare("elsewhere")
    }

    @Test func aToolThatDiesIsStartedAgainLater() {
        var stage = ChatStage.withBob(rows: 8, [ChatStage.message(1, "hi")])
        var starts: [Int64] = []
        for _ in 0..<12 {
            stage.end("recv", 139, 0)
            for second in 1...60 {
                stage.wait()
                if stage.running.contains(where: { $0.stages[0].tool == "recv" }) {
                    starts.append(Int64(second))
                    break
                }
            }
        }
        #expect(starts == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60])
        stage.end("recv", 139, 0)
        stage.end("history --follow", 74)
        stage.wait(0)
        stage.show("the header says it")
        stage.compare("restart")
    }

    @Test func aTextThatIsNotSentIsGivenBack() {
        var stage = ChatStage.withBob(rows: 9, [ChatStage.message(1, "hi")])
        stage.enter("precious")
        stage.say("compose text", "compose: error: write to the state: no space left on device")
        stage.end("compose text", 74)
        stage.show("back in the line")
        stage.press(.enter)
        stage.type("next")
        stage.say("compose text", "compose: error: write to the state: no space left on device")
        stage.end("compose text", 74)
        stage.show("marked, because something else is typed")
        stage.compare("not-sent")
    }

    @Test func theRelayRefusesAMessage() {
        var stage = ChatStage.withBob(rows: 8, [])
        stage.enter("x")
        stage.make("compose text", 2)
        stage.store(
            ChatStage.message(2, from: ChatStage.alice, "x", minutes: 0, #""status":"unsent""#))
        stage.print("send", ChatStage.result(2, "rejected", "the mailbox does not exist"))
        stage.show("refused")
        stage.answers["send --list"] = ([ChatStage.queued(9)], 0)
        stage.print("send", ChatStage.result(9, "queued", "connection refused"))
        stage.wait(30)
        stage.show("later the relay is gone")
        stage.compare("refused")
    }

    @Test func aStoredMessageDoesNotHideThatNoMailComes() {
        var stage = ChatStage.withBob(columns: 80, rows: 6, [ChatStage.message(1, "hi")])
        stage.enter("x")
        stage.make("compose text", 2)
        stage.say("recv", "recv: note: cannot reach r: connection refused; trying again")
        stage.print("send", ChatStage.result(2, "stored", relay: "r"))
        stage.show("send works, recv does not")
        stage.say("recv", "recv: note: reconnected to r")
        stage.show("recv works again")
        stage.compare("reception")
    }

    @Test func aMessageThatCannotBeOpenedIsOneLine() {
        var stage = ChatStage.withBob(columns: 80, rows: 8, [ChatStage.message(1, "hi")])
        stage.print(
            "recv",
            #"{"v":1,"type":"error","line":3,"status":11,"message":"authentication failed\u001b[2J"}"#
        )
        stage.show("an error record")
        stage.compare("error-record")
    }

    /// Only the own machines tell of machines. Another person's message with the same body says nothing.
    @Test func aNewMachineOfTheOwnerIsNamed() {
        func news(_ name: String, _ body: String) -> String {
            var stage = ChatStage.withBob(columns: 160, rows: 10, [ChatStage.message(1, "hi")])
            stage.print(
                "recv",
                #"{"v":1,"type":"message","name":"\#(name)","authenticated":true,"body":\#(body)}"#)
            return stage.screen
        }
        let added = #"{"type":"devices","own":true,"added":["pad 2"]}"#
        #expect(news("me", added).contains("sotto device object 'pad 2' --send"))
        #expect(!news("bob", added).contains("pad 2"))
        let objection = #"{"type":"devices","objects":"05aa","name":"pad"}"#
        #expect(news("me", objection).contains("objects to the device pad"))
        let lost = #"{"type":"repair","own":true}"#
        #expect(news("me", lost).contains("sotto device sync --again 'machine one'"))
        #expect(!news("bob", lost).contains("machine one"))
    }

    /// The status 1 of a tool that got no input is no cause.
    @Test func theToolThatFailedIsNamed() {
        var stage = ChatStage.withBob(columns: 80, rows: 6, [ChatStage.message(1, "hi")])
        stage.say("recv", "recv: error: the relay presents another certificate")
        stage.end("recv", 77, 1)
        let line = "no mail is received: the relay presents another certificate"
        #expect(stage.screen.contains(line), "\(stage.screen)")
    }

    /// A tool before one that was killed is stopped, so its status is no cause.
    @Test func aKilledDecryptIsNamed() {
        var stage = ChatStage.withBob(columns: 80, rows: 6, [ChatStage.message(1, "hi")])
        stage.say("recv", "recv: note: 1 dead after five failures; to decrypt: sotto recv --dead")
        stage.end("recv", 143, 137)
        stage.show("decrypt was killed")
        stage.forgetCommands()
        stage.wait()
        stage.say(
            "recv",
            "recv: note: 2 printed before were not decrypted here; to decrypt: sotto recv --again | sotto decrypt"
        )
        stage.print("recv --again", #"{"v":1,"type":"error","line":1,"message":"it is too old"}"#)
        stage.end("recv --again", 0, 11)
        stage.show("its messages are decrypted again")
        stage.showCommands("commands")
        stage.compare("killed")
    }

    /// Another window sends what waits, and its result is not told here.
    @Test func aFateThatAnotherWindowLearnsIsRead() {
        let mine = ChatStage.message(
            1, from: ChatStage.alice, "x", minutes: 0, #""status":"queued""#)
        var stage = ChatStage.withBob(rows: 6, [mine])
        for _ in 0..<3 { stage.wait() }
        stage.forgetCommands()
        for _ in 0..<300 { stage.wait() }
        // After 6, 14, 30, 62 and 122 seconds, and then each minute.
        #expect(stage.commands.filter { $0.hasPrefix("history page") }.count == 8)
        stage.answers["history page"] = ([mine.replacing("queued", "stored")], 0)
        stage.wait(60)
        #expect(stage.screen.contains("me  x ✓"))
        stage.forgetCommands()
        stage.wait(600)
        #expect(!stage.commands.contains { $0.hasPrefix("history page") })
    }

    @Test func aRelayThatDoesNotAnswerIsTold() {
        var stage = ChatStage.withBob(rows: 6, [ChatStage.message(1, "hi")])
        let mine = ChatStage.message(
            2, from: ChatStage.alice, "x", minutes: 0, #""status":"unsent""#)
        stage.answers["history page"] = ([mine], 0)
        stage.store(mine)
        stage.wait(8)
        stage.show("nine seconds")
        stage.wait()
        stage.show("ten seconds")
        stage.answers["history page"] = ([mine.replacing("unsent", "queued")], 0)
        stage.wait(30)
        stage.show("send has given up")
        stage.compare("silent")
    }

    /// The clock of the system goes back by a day, and then a year ahead.
    @Test func aClockThatJumpsStopsNothing() {
        var stage = ChatStage.withBob(rows: 7, [ChatStage.message(1, "hi")])
        stage.wait(-86_400)
        stage.store(ChatStage.message(2, "yesterday", minutes: -1_440))
        stage.wait()
        stage.show("a day back")
        stage.wait(86_400 * 366)
        stage.store(ChatStage.message(3, "in a year", minutes: 1_440 * 365))
        stage.wait()
        stage.show("a year ahead")
        stage.compare("clock")
    }

    /// What other programs change in the lists is shown at once.
    @Test func whatAnotherTerminalChangesIsShown() {
        var stage = ChatStage.withBob(columns: 70, rows: 7, [ChatStage.message(1, "hi")])
        let (bob, carol) = (ChatStage.bob, ChatStage.carol)
        func changes(_ list: String) -> String {
            #"{"v":1,"type":"changes","lists":["\#(list)"]}"#
        }
        let verified = ChatStage.contact(bob, "bob").replacing("trusted", "verified")
        stage.answers["contact list"] = ([verified], 0)
        stage.wait()
        stage.store(changes("contacts"))
        stage.show("bob is verified, and carol is removed")
        stage.answers["contact list"] = (
            [verified.replacing(#""uses""#, #""changed":{},"uses""#)], 0
        )
        stage.wait()
        stage.store(changes("contacts"))
        stage.show("another key of bob")
        stage.press(.escape)
        stage.show("in the list")
        stage.answers["contact list"] = (
            [ChatStage.contact(bob, "robert"), ChatStage.contact(carol, "caroline")], 0
        )
        stage.answers["history list"] = ([ChatStage.conversation(bob, "robert")], 0)
        stage.wait()
        stage.store(changes("contacts"))
        stage.show("the key is accepted, with another name, and carol is added")
        stage.answers["group list"] = ([ChatStage.groupRecord("climbing")], 0)
        stage.answers["group sync"] = ([], 1)
        stage.wait()
        stage.store(changes("groups"))
        stage.show("a group")
        stage.answers["group list"] = ([], 1)
        stage.answers["contact list"] = ([], 1)
        stage.answers["contact requests"] = (
            [#"{"v":1,"type":"requests","from":"\#(carol)","count":2,"claimedName":"carol"}"#], 0
        )
        stage.wait()
        for list in ["groups", "contacts", "requests"] { stage.store(changes(list)) }
        stage.show("no contact, no group, and a request")
        stage.press(.enter)
        stage.press(.up, .down, .enter)
        stage.show("a conversation with a former contact")
        stage.compare("elsewhere-changes")
    }

    /// `history delete` of another terminal.
    @Test func aMessageThatAnotherTerminalDeletesIsShownAsDeleted() {
        let page = (1...2).map { ChatStage.message($0, "message \($0)") }
        var stage = ChatStage.withBob(columns: 70, rows: 8, page)
        stage.answers["history page --changed-since"] = (
            [ChatStage.message(1, body: "{}", #""deleted":true"#)], 0
        )
        stage.wait()
        stage.store(#"{"v":1,"type":"changes","lists":["conversations"]}"#)
        stage.wait()
        #expect(stage.screen.contains("bob  [deleted]"), "\(stage.screen)")
        #expect(stage.screen.contains("message 2") && !stage.screen.contains("message 1"))
    }

    @Test func theLockedIdentityIsToldInTheSameWords() {
        var stage = ChatStage.withBob(rows: 6, [])
        stage.enter("x")
        stage.say(
            "compose text",
            "compose: error: the identity /home/a/identity is locked, and no terminal is available for its passphrase"
        )
        stage.end("compose text", 78)
        #expect(stage.state.status?.text == "the identity is locked: /unlock")
        #expect(stage.state.editor.text == "x")
    }

    @Test func aFailedNotificationIsTold() {
        var stage = ChatStage.withBob(rows: 6, [])
        stage.give(.notificationFailed("the command ended with status 127"))
        #expect(stage.screen.contains("--notify: the command ended with status 127"))
    }

    @Test func aContactOfAnotherProgramIsRead() {
        var stage = ChatStage(columns: 60, rows: 6)
        stage.answers["contact list"] = ([ChatStage.contact(ChatStage.carol, "carol")], 0)
        stage.answers["history list"] = ([ChatStage.conversation(ChatStage.bob, "bob")], 0)
        stage.start()
        stage.wait()
        stage.press(.enter)
        stage.wait()
        #expect(stage.screen.contains("not a contact"))
        stage.answers["contact list"] = ([ChatStage.contact(ChatStage.bob, "bob")], 0)
        stage.store(ChatStage.message(2, "x"))
        stage.wait()
        #expect(stage.screen.contains(" bob  not verified"))
    }

    @Test func anUnknownNameEndsTheProgram() {
        var stage = ChatStage(who: "zoe")
        stage.start()
        stage.say("compose text -- zoe", "compose: error: no contact has the name zoe")
        stage.end("compose text -- zoe", 66)
        #expect(stage.isEnded(66))
        let warnings = stage.effects.compactMap {
            if case .warn(let line) = $0 { line } else { nil }
        }
        #expect(warnings == ["sotto chat: error: no contact has the name zoe"])
    }
}
