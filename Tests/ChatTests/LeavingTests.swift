import Testing

@testable import SottoChat

/// A person who leaves does not wait for a relay that does not answer, and loses nothing.
struct LeavingTests {
    private let bob = ChatStage.bob

    private func stage() -> ChatStage {
        ChatStage.withBob(columns: 80, rows: 12, [ChatStage.message(1, "hi")])
    }

    private static let waits =
        "sotto chat: 1 message waits: it is sent by the next sotto chat or sotto send"

    @Test func aRelayThatHangsDelaysTheEndByTwoSeconds() {
        for leave in ["/quit", ""] {
            var stage = stage()
            stage.enter("hello")
            stage.make("compose text", 2)
            stage.answers["send --list"] = ([ChatStage.queued(2)], 0)
            if leave.isEmpty { stage.press(.control("d")) } else { stage.enter(leave) }
            stage.wait()
            #expect(!stage.isEnded(0))
            stage.wait()
            #expect(stage.isStopped("send") && stage.isEnded(0))
            #expect(stage.warnings == [Self.waits])
            #expect(stage.state.unsentLines == [])
        }
    }

    /// The sender is not stopped before the outbox has what it was given.
    @Test func anEnvelopeThatTheOutboxLacksIsWaitedFor() {
        var stage = stage()
        stage.enter("hello")
        stage.make("compose text", 2)
        // The same id for another person is another envelope.
        stage.answers["send --list"] = ([ChatStage.queued(2, to: ChatStage.carol)], 0)
        stage.press(.control("d"))
        for _ in 0..<4 { stage.wait() }
        #expect(!stage.isStopped("send") && !stage.isEnded(0))
        stage.answers["send --list"] = ([ChatStage.queued(2)], 0)
        stage.wait()
        #expect(stage.isStopped("send") && stage.isEnded(0))
        #expect(stage.warnings == [Self.waits])
    }

    /// Envelopes that the sender has not got yet, because it has not answered the ones before, get into the outbox too.
    @Test func manyEnvelopesReachTheOutbox() throws {
        var stage = stage()
        stage.enter("hello")
        let numbers = Int64(2)...200
        for number in numbers {
            let long = String(repeating: "x", count: 4_000)
            stage.print(
                "compose text", ChatStage.envelope(number).replacing(#""x""#, "\"\(long)\""))
        }
        stage.end("compose text", 0, 0)
        stage.press(.control("d"))
        for _ in 0..<8 {
            let given = numbers.filter { stage.sent.contains(ChatStage.id($0)) }
            stage.answers["send --list"] = (given.map { ChatStage.queued($0) }, 0)
            stage.wait()
        }
        #expect(numbers.allSatisfy { stage.sent.contains(ChatStage.id($0)) })
        #expect(stage.isEnded(0))
        #expect(
            stage.warnings == [
                "sotto chat: 199 messages wait: they are sent by the next sotto chat or sotto send"
            ])
    }

    @Test func theWorkOnThisMachineIsWaitedFor() {
        var stage = stage()
        stage.enter("hello")
        stage.press(.control("d"))
        for _ in 0..<10 { stage.wait() }
        #expect(!stage.isEnded(0))
        stage.make("compose text", 2)
        stage.answers["send --list"] = ([ChatStage.queued(2)], 0)
        stage.wait()
        #expect(!stage.isEnded(0))
        stage.print("send", ChatStage.result(2, "stored"))
        stage.end("send", 0)
        #expect(stage.isEnded(0) && stage.warnings.isEmpty)
    }

    @Test func aFileThatIsFetchedIsNamed() {
        let file = #"{"type":"file","name":"a.jpg","size":7}"#
        var stage = ChatStage.withBob(columns: 80, rows: 12, [ChatStage.message(1, body: file)])
        stage.enter("/save")
        stage.press(.control("d"))
        for _ in 0..<2 { stage.wait() }
        #expect(stage.isStopped("recv -q --blob 1") && !stage.isEnded(0))
        stage.end("recv -q --blob 1", 143)
        #expect(stage.isEnded(75))
        #expect(
            stage.warnings == [
                "sotto chat: the relay did not answer before the end; to save the file: sotto save 1"
            ])
    }

    /// A text needs a bundle of prekeys that the relay does not give: it is printed.
    @Test func aTextThatNeedsTheRelayIsGivenBack() {
        var stage = stage()
        stage.enter("first")
        stage.enter("second")
        func needsBundle() {
            stage.say(
                "compose text", stage: 1, "encrypt: error: bob has no prekey bundle to begin one")
            stage.end("compose text", 0, 69)
        }
        needsBundle()
        stage.press(.control("d"))
        for _ in 0..<2 { stage.wait() }
        #expect(stage.isStopped("recv -q --bundle"))
        stage.end("recv -q --bundle", 143)
        needsBundle()
        #expect(stage.isEnded(75))
        let lines = stage.state.unsentLines
        #expect(lines.contains("first") && lines.contains("second"))
    }

    /// A script waits for the relay.
    @Test func aScriptIsNotStoppedSoon() {
        var stage = ChatStage(who: "bob", form: .lines)
        stage.start()
        stage.print("compose text -- bob", #"{"v":1,"type":"message","to":"\#(bob)","body":{}}"#)
        stage.end("compose text -- bob", 0)
        stage.give(.entered("first"), .inputEnded)
        stage.make("compose text", 2)
        for _ in 0..<100 { stage.wait() }
        #expect(!stage.isStopped("send") && !stage.isEnded(0))
        stage.print("send", ChatStage.result(2, "stored"))
        stage.end("send", 0)
        #expect(stage.isEnded(0))
    }
}
