import Testing

@testable import SottoChat

/// Lists of messages: the chosen one is shown in the conversation, and Esc returns.
struct MessageListTests {
    private let bob = ChatStage.bob

    private func page(_ numbers: ClosedRange<Int64>) -> [String] {
        numbers.map { ChatStage.message($0, "message \($0)", minutes: $0 - 2_000) }
    }

    /// A conversation of a thousand messages, of which the last sixty are loaded.
    private func stage(finding numbers: Int64...) -> ChatStage {
        var stage = ChatStage.withBob(rows: 12, page(941...1000))
        stage.answers["history search"] = (numbers.flatMap { page($0...$0) }, 0)
        return stage
    }

    @Test func aLoadedMessageIsShown() {
        var stage = stage(finding: 950, 945)
        stage.forgetCommands()
        stage.enter("/search message 9")
        #expect(stage.commands == ["history search --limit 200 --json -- message 9 \(bob)"])
        #expect(stage.screen.contains("── messages with “message 9” ──  Enter: show, Esc: back"))
        #expect(stage.screen.contains("\n> 25 Nov 16:00 bob  message 950\n"))
        stage.press(.down, .down)
        #expect(stage.screen.contains("\n  25 Nov 16:00 bob  message 950\n"))
        #expect(stage.screen.contains("\n> 25 Nov 15:55 bob  message 945\n"))
        stage.check()
        stage.forgetCommands()
        stage.press(.enter)
        #expect(stage.state.overlay == nil && stage.commands == [])
        for number in [944, 945, 946] {
            #expect(stage.screen.contains("bob  message \(number)\n"), "\(stage.screen)")
        }
        let row = stage.state.screen().rows.first { $0.contains { $0.text == "message 945" } }
        #expect(row?.contains { $0.style.isReversed } == true)
        #expect(stage.screen.contains("Esc: back to where you were"))
        stage.check()
        // Tab selects it, and the first Esc ends the selection.
        stage.press(.tab)
        #expect(stage.state.conversation?.selection == .message(945))
        stage.press(.escape, .escape)
        #expect(stage.screen.contains("message 1000"))
        stage.press(.escape)
        #expect(stage.state.conversation == nil)
    }

    @Test func theMessagesAroundAnEarlierOneAreRead() {
        var stage = stage(finding: 100)
        stage.answers["history page --before 100 "] = (page(40...99), 0)
        stage.answers["history page --after 100 "] = (page(101...160), 0)
        stage.answers["history page --after 160 "] = (page(161...220), 0)
        stage.answers["history page --after 220 "] = (page(221...280), 0)
        stage.enter("/search message 100")
        stage.forgetCommands()
        stage.press(.enter)
        #expect(
            stage.commands == [
                "history page --before 100 --limit 120 --json -- \(bob)",
                "history page --after 100 --limit 60 --json -- \(bob)",
            ])
        for number in [99, 100, 101] {
            #expect(stage.screen.contains("bob  message \(number)\n"), "\(stage.screen)")
        }
        // A message that comes now is not put behind the loaded part.
        stage.store(ChatStage.message(1001, "new"))
        #expect(stage.state.conversation?.lastNumber == 160)
        for _ in 0..<12 where !stage.screen.contains("message 161\n") { stage.press(.pageDown) }
        #expect(stage.screen.contains("bob  message 160\n"))
        #expect(stage.screen.contains("bob  message 161\n"))
        stage.press(.escape)
        #expect(stage.screen.contains("message 1000\n"))
        #expect(stage.state.conversation?.isDetached == false)
    }

    @Test func escapeReturnsToAPlaceInTheMiddle() {
        var stage = stage(finding: 100, 200)
        stage.answers["history page --after 100 "] = (page(101...160), 0)
        stage.answers["history page --after 200 "] = (page(201...260), 0)
        stage.press(.pageUp, .pageUp)
        let before = stage.screen
        #expect(!before.contains("message 1000"))
        for downs in 0...1 {
            stage.enter("/search message")
            for _ in 0..<downs { stage.press(.down) }
            stage.press(.enter)
            #expect(stage.screen.contains("message \(downs == 0 ? 100 : 200)\n"))
        }
        stage.press(.escape)
        #expect(stage.screen == before)
        // A list that is left changes nothing.
        stage.enter("/search message")
        stage.press(.down, .escape)
        #expect(stage.screen == before)
    }

    /// A changed message far before the loaded part would hide those in between.
    @Test func aChangeOfAnEarlierMessageLeavesNoGap() {
        var stage = stage(finding: 100)
        stage.answers["history page --changed-since"] = (page(100...100), 0)
        stage.store(
            #"{"v":1,"type":"message","from":"\#(bob)","body":{"type":"edit"},"number":1001}"#)
        for _ in 0..<3 { stage.wait() }
        #expect(stage.commands.contains { $0.hasPrefix("history page --changed-since") })
        #expect(stage.state.conversation?.firstNumber == 941)
    }

    @Test func anEmptyListSaysSo() {
        var stage = stage()
        stage.answers["history page --pinned"] = ([], 1)
        stage.answers["history search"] = ([], 1)
        stage.enter("/pins")
        #expect(stage.screen.contains("── pinned messages ──"))
        #expect(stage.screen.contains("no message is pinned here"))
        stage.press(.enter)
        #expect(stage.state.overlay == nil)
        stage.enter("/search nothing")
        #expect(stage.screen.contains("no message here has this text"))
    }

    /// Without a screen, the list is text.
    @Test func aListIsPrintedWithoutAScreen() {
        var stage = ChatStage(who: "bob", form: .lines)
        stage.answers["compose text -- bob"] = (
            [#"{"v":1,"type":"message","to":"\#(bob)","body":{}}"#], 0
        )
        stage.answers["history page --pinned"] = (["bob 09:00 (1)", "dinner"], 0)
        stage.start()
        stage.give(.entered("/pins"))
        for _ in 0..<3 { stage.wait() }
        #expect(
            stage.commands.contains("history page --pinned --limit 200 --text -- \(bob)"))
        let lines = stage.effects.compactMap { if case .print(let line) = $0 { line } else { nil } }
        #expect(lines.suffix(2) == ["bob 09:00 (1)", "dinner"])
    }
}
