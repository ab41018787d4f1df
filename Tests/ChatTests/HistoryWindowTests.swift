import SottoBytes
import Testing

@testable import SottoChat

/// A long history is scrolled through without a gap, a part of it is kept, and exactly what was on the screen is marked as read.
struct HistoryWindowTests {
    /// The numbers of the messages whose text the screen shows, from top to bottom.
    private func numbers(_ stage: ChatStage) -> [Int64] {
        stage.screen.split(separator: "\n").compactMap { line in
            line.hasSuffix("new")
                ? nil
                : line.pieces(between: "bob  message ").dropFirst().first
                    .flatMap { Int64($0) }
        }
    }

    /// Presses a key until the screen does not change any more. Returns the numbers that were shown, in the order in which they came.
    private func scroll(
        _ stage: inout ChatStage, _ key: Key, _ during: (inout ChatStage, Int) -> Void = { _, _ in }
    ) -> [Int64] {
        var (shown, known) = ([Int64](), Set<Int64>())
        var isMoving = true
        var presses = 0
        while isMoving {
            let before = numbers(stage)
            let new = before.filter { known.insert($0).inserted }
            shown += key == .pageUp ? new.reversed() : new
            during(&stage, presses)
            stage.press(key)
            // A page that is read changes nothing on the screen.
            if numbers(stage) == before { stage.press(key) }
            isMoving = numbers(stage) != before
            presses += 1
            let open = stage.state.conversation
            #expect((open?.entries.count ?? 0) <= Conversation.entryLimit + 200)
        }
        return shown
    }

    @Test func tenThousandMessagesAreShownOnceAndInOrder() {
        var stage = ChatStage()
        for isNamed in [true, false] {
            stage = ChatStage.with(
                StoredConversation(10_000, read: 5_000), named: isNamed, rows: 60)
            #expect(stage.screen.contains("── 5000 unread ──"), "\(stage.screen)")
            #expect(numbers(stage).first == 5_001)
        }
        // From the first unread message to the newest.
        let down = scroll(&stage, .pageDown)
        #expect(down == Array(5_001...10_000))
        stage.wait()
        #expect(stage.history?.read == 10_000)
        // The whole history to its beginning, while messages arrive.
        let up = scroll(&stage, .pageUp) { stage, press in
            if press % 10 == 5, let record = stage.history?.arrive() { stage.store(record) }
        }
        #expect(up == Array((1...10_000).reversed()))
        let count = stage.history?.count ?? 0
        #expect(count > 10_010)
        for _ in 0..<3 { stage.wait() }
        #expect(stage.history?.read == 10_000, "what arrived was not on the screen")
        #expect(scroll(&stage, .pageDown) == Array(1...count))
        for _ in 0..<3 { stage.wait() }
        #expect(stage.history?.read == count)
    }

    /// From the newest message to the first unread one, whose page is far from the newest then.
    @Test func whatWasShownFromTheEndIsMarkedWhenTheFirstIsShown() {
        var stage = ChatStage.with(StoredConversation(10_000, read: 5_000), rows: 60)
        let first = numbers(stage).last ?? 0
        stage.press(.escape)
        stage.wait()
        #expect(numbers(stage).last == 10_000)
        #expect(stage.history?.read == first)
        var isMarked = false
        let up = scroll(&stage, .pageUp) { stage, _ in
            let top = numbers(stage).first ?? 0
            let read = stage.history?.read ?? 0
            // All between the first screen and the end were shown as soon as they meet.
            #expect(read == (top <= first + 1 || isMarked ? 10_000 : first), "\(top) \(read)")
            isMarked = read == 10_000
        }
        #expect(up == Array((1...10_000).reversed()))
        #expect(isMarked)
    }

    @Test func aPartThatWasNotOnTheScreenIsNotMarked() {
        var stage = ChatStage.with(StoredConversation(10_000, read: 5_000))
        let first = numbers(stage).last ?? 0
        stage.press(.escape)
        for _ in 0..<40 { stage.press(.pageUp) }
        let top = numbers(stage).first ?? 0
        stage.press(.escape, .escape)
        for _ in 0..<3 { stage.wait() }
        #expect(stage.history?.read == first && top > first + 1)
        // The line is before the first message that was not shown.
        stage.press(.enter)
        stage.wait()
        stage.show("opened again")
        stage.enter("/read")
        stage.wait()
        stage.show("marked by a command")
        #expect(stage.history?.read == 10_000)
        stage.compare("unread-thousands")
    }

    /// More rows than a page has messages.
    @Test func aTallScreenIsFilled() {
        let stage = ChatStage.with(StoredConversation(5_000, read: 0), rows: 200)
        let shown = numbers(stage)
        // Some rows have the line of unread messages and those of days.
        #expect(shown.count > 190 && shown == Array(1...Int64(shown.count)))
        #expect(!stage.screen.contains("this is the beginning"))
    }

    /// Messages that came while nothing told about them.
    @Test func aRefreshLeavesNoGap() {
        for isAtEnd in [true, false] {
            var stage = ChatStage.with(StoredConversation(500, read: 500))
            for _ in 0..<(isAtEnd ? 0 : 20) { stage.press(.pageUp) }
            for _ in 0..<300 { _ = stage.history?.arrive() }
            stage.end("history --follow", 137)
            for _ in 0..<5 { stage.wait() }
            #expect(scroll(&stage, .pageDown).last == 800)
            #expect(scroll(&stage, .pageUp) == Array((1...800).reversed()))
            #expect(stage.history?.read == 800)
        }
    }

    /// An import puts messages among earlier ones.
    @Test func aMessageFarBeforeTheLoadedOnesIsNotAddedAlone() {
        var stage = ChatStage.with(StoredConversation(500, read: 500))
        stage.store(ChatStage.message(501, "imported", minutes: 3 - 20_000))
        for _ in 0..<3 { stage.wait() }
        #expect(stage.state.conversation?.firstNumber == 441)
    }

    /// A message that was stored while the first page was read.
    @Test func aMessageDuringTheFirstPageIsRead() {
        var stage = ChatStage(rows: 9)
        stage.answers["contact list"] = ([ChatStage.contact(ChatStage.bob, "bob")], 0)
        stage.answers["history list"] = ([ChatStage.conversation(ChatStage.bob, "bob")], 0)
        stage.answers["history page"] = nil
        stage.start()
        stage.wait()
        stage.press(.enter)
        stage.store(ChatStage.message(2, "second"))
        stage.print("history page", ChatStage.message(1, "first"))
        stage.answers["history page"] = (
            [ChatStage.message(1, "first"), ChatStage.message(2, "second")], 0
        )
        stage.end("history page", 0)
        stage.wait()
        #expect(stage.screen.contains("bob  second"), "\(stage.screen)")
    }

    /// A page that is cut ends with the line before the cut, also if a shorter line follows.
    @Test func aPageThatIsCutHasNoGap() {
        var run = Running(.later(.person(ChatStage.bob), after: 1), tools: ["history"])
        let long = [UInt8](repeating: 0x20, count: 3 << 20)
        for line in [long, long, long, [0x20]] { run.add(line) }
        #expect(run.lines.count == 2 && run.isCut)
    }
}
