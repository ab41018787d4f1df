import Testing

@testable import SottoChat

/// A chord answers only a question that the user could read.
struct AnswerTests {
    private func request(_ letters: String, _ name: String, _ count: Int = 1) -> String {
        #"{"v":1,"type":"requests","from":"\#(id(letters))","count":\#(count),"firstSeen":"2026-11-26T09:00:00Z","claimedName":"\#(name)"}"#
    }

    private func id(_ letters: String) -> String { "05" + String(repeating: letters, count: 32) }

    private func accepted(_ stage: ChatStage) -> [String] {
        stage.commands.filter { $0.hasPrefix("contact accept") }
    }

    private func stage(_ requests: String..., rows: Int = 12) -> ChatStage {
        var stage = ChatStage(columns: 80, rows: rows)
        stage.answers["contact requests"] = (requests, 0)
        stage.start()
        return stage
    }

    private func command(_ letters: String) -> String {
        "contact accept \(id(letters)) | decrypt -q"
    }

    /// The end of a second is no second.
    @Test func oneAnswerTwiceDecidesOneQuestion() {
        var stage = stage(request("da", "dave"), request("ee", "eve"))
        stage.wait()
        stage.press(.control("y"))
        stage.waitOverSecond(milliseconds: 999)
        stage.press(.control("y"))
        #expect(accepted(stage) == [command("da")])
        stage.waitOverSecond(milliseconds: 1)
        stage.press(.control("y"))
        #expect(accepted(stage) == [command("da"), command("ee")])
    }

    /// A name that another contact has is refused. The name that is given then is for the same request.
    @Test func aRefusedRequestIsAskedAgainFirst() {
        var stage = stage(request("da", "dave"), request("ee", "eve"))
        stage.wait()
        stage.press(.control("y"))
        stage.say("contact accept", "contact: error: another contact has the name dave")
        stage.end("contact accept", 64)
        stage.enter("/accept davy")
        #expect(stage.screen.contains("“dave” (claimed), named “davy” here"), "\(stage.screen)")
        stage.wait()
        stage.press(.control("y"))
        #expect(
            accepted(stage).last == "contact accept --name davy \(id("da")) | decrypt -q")
    }

    @Test func aQuestionWithAnotherTextIsNew() {
        var stage = stage(request("da", "dave"))
        stage.wait(5)
        stage.answers["contact requests"] = ([request("da", "bob")], 0)
        stage.print("recv", #"{"v":1,"type":"request","from":"\#(id("da"))"}"#)
        #expect(stage.screen.contains("“bob” (claimed)"))
        stage.press(.control("y"))
        #expect(accepted(stage).isEmpty)
        stage.wait()
        stage.press(.control("y"))
        #expect(accepted(stage) == [command("da")])
    }

    /// The terminal of a slow connection takes nothing for a while.
    @Test func aQuestionThatIsNotPaintedTakesNoAnswer() {
        var stage = stage(request("da", "dave"), request("ee", "eve"))
        stage.wait()
        stage.isPainted = false
        stage.press(.control("y"))
        stage.wait(5)
        stage.press(.control("y"))
        #expect(accepted(stage) == [command("da")])
    }

    @Test func aQuestionWithoutRoomTakesNoAnswer() {
        var stage = stage(request("da", "dave"), rows: 1)
        stage.wait(5)
        #expect(!stage.screen.contains("dave"))
        stage.press(.control("y"))
        #expect(accepted(stage).isEmpty)
        stage.give(.resized(columns: 80, rows: 2))
        #expect(stage.screen.contains("“dave” (claimed)"))
        stage.wait()
        stage.press(.control("y"))
        #expect(accepted(stage) == [command("da")])
    }

    /// `d` on a message asks about this one, also if it was asked about before.
    @Test func theLastDeletionThatWasAskedForIsFirst() {
        var stage = ChatStage.withBob(
            (1...2).map { ChatStage.message($0, from: ChatStage.alice, "message \($0)") })
        stage.press(.tab, .up, .text("d"), .down, .text("d"), .up, .text("d"))
        #expect(stage.screen.contains("delete your message “message 1”"))
        stage.press(.control("y"))
        #expect(stage.commands.last == "compose delete --with \(ChatStage.bob) -- 1 | encrypt -q")
        // The other one was asked some time ago.
        stage.press(.control("y"))
        #expect(stage.commands.filter { $0.hasPrefix("compose delete") }.count == 1)
    }
}
