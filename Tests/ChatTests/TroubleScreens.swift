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
        stage.print("send", ChatStage.result(2, "stored"))
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
