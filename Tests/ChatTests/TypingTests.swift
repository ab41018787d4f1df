import Testing

@testable import SottoChat

/// Typing signals: when they are told, and when they end.
struct TypingTests {
    private let alice = ChatStage.alice
    private let bob = ChatStage.bob
    private let carol = ChatStage.carol
    private let group = ChatStage.group

    private func stage(_ page: [String] = [ChatStage.message(1, "hi")]) -> ChatStage {
        var stage = ChatStage.withBob(columns: 80, rows: 12, page)
        let typing = #""typing":true"#
        stage.answers["contact list"] = (
            [ChatStage.contact(bob, "bob", typing), ChatStage.contact(carol, "carol")], 0
        )
        stage.store(#"{"v":1,"type":"changes","lists":["contacts"]}"#)
        stage.wait()
        stage.forgetCommands()
        return stage
    }

    private func told(_ stage: ChatStage) -> [String] {
        stage.commands.filter { $0.hasPrefix("compose typing") }
            .map { $0.replacing(" \(bob) | encrypt -q", "") }
    }

    /// Ends the tools that make signals.
    private func settle(_ stage: inout ChatStage) {
        while let made = stage.running.first(where: { $0.stages[0].arguments.first == "typing" }) {
            stage.finish(made, 0)
        }
    }

    // MARK: The other side

    @Test func theMessageEndsItsSignal() {
        var stage = stage()
        stage.print("recv", ChatStage.signal("typing", "started"))
        #expect(stage.screen.contains("bob is typing"))
        stage.print("recv", ChatStage.message(2, "hello", minutes: 0))
        #expect(!stage.screen.contains("is typing"), "\(stage.screen)")
        // The next text. The history tells the message later than decrypt.
        stage.print("recv", ChatStage.signal("typing", "started"))
        stage.store(ChatStage.message(2, "hello", minutes: 0))
        #expect(stage.screen.contains("bob is typing"))
    }

    /// The history can tell the message before decrypt prints the signal from before it.
    @Test func aMessageThatTheHistoryTellsFirstEndsItsSignal() {
        var stage = stage()
        stage.store(ChatStage.message(2, "hello", minutes: 0))
        stage.print(
            "recv", ChatStage.signal("typing", "started"),
            ChatStage.message(2, "hello", minutes: 0))
        #expect(!stage.screen.contains("is typing"), "\(stage.screen)")
    }

    @Test func anEditEndsItsSignal() {
        var stage = stage()
        let target = #"{"id":"\#(ChatStage.id(1))","from":"\#(bob)"}"#
        stage.print(
            "recv", ChatStage.signal("typing", "started"),
            ChatStage.message(2, body: #"{"type":"edit","target":\#(target),"text":"ho"}"#))
        #expect(!stage.screen.contains("is typing"))
    }

    @Test func aReceiptEndsNothing() {
        var stage = stage()
        stage.print(
            "recv", ChatStage.signal("typing", "started"),
            ChatStage.message(2, body: #"{"type":"receipt","status":"read","ids":[]}"#))
        #expect(stage.screen.contains("bob is typing"))
    }

    @Test func aStopEndsItAndTimeDoes() {
        var stage = stage()
        stage.print("recv", ChatStage.signal("typing", "started"))
        stage.print("recv", ChatStage.signal("typing", "stopped"))
        #expect(!stage.screen.contains("is typing"))
        stage.print("recv", ChatStage.signal("typing", "started"))
        // The next signal of a person who goes on comes after ten seconds.
        stage.wait(11)
        #expect(stage.screen.contains("bob is typing"))
        stage.wait()
        #expect(!stage.screen.contains("is typing"))
    }

    @Test func theMessageOfAnotherMemberEndsNothing() {
        var stage = stage()
        stage.print(
            "recv", ChatStage.signal("typing", "started", in: group),
            ChatStage.message(2, from: carol, "hello", minutes: 0, in: group),
            ChatStage.message(3, "hello", minutes: 0))
        #expect(stage.state.isOn(.typing, bob, .group(group)))
        stage.print("recv", ChatStage.message(4, "hello", minutes: 0, in: group))
        #expect(!stage.state.isOn(.typing, bob, .group(group)))
    }

    // MARK: This side

    @Test func aSentTextNeedsNoStop() {
        var stage = stage()
        stage.enter("hello")
        settle(&stage)
        #expect(told(stage) == ["compose typing"])
    }

    @Test func anEmptyLineAndAnotherConversationStop() {
        for leave in [Key.control("u"), .control("c"), .backspace, .escape] {
            var stage = stage()
            stage.type("h")
            settle(&stage)
            stage.press(leave)
            settle(&stage)
            #expect(told(stage) == ["compose typing", "compose typing --stop"], "\(leave)")
            stage.press(.control("u"))
            #expect(told(stage).count == 2)
        }
    }

    @Test func theEndStops() {
        var stage = stage()
        stage.type("h")
        settle(&stage)
        stage.give(.interrupted(15))
        settle(&stage)
        #expect(told(stage) == ["compose typing", "compose typing --stop"])
    }

    /// A reaction sends no message that ends the signal.
    @Test func aReactionStops() {
        var stage = stage()
        stage.press(.tab, .text("+"))
        stage.enter("👍")
        settle(&stage)
        while let made = stage.running.first(where: { $0.stages[0].tool == "compose" }) {
            stage.finish(made, 0)
        }
        #expect(told(stage) == ["compose typing", "compose typing --stop"])
    }

    /// The other side has ended an old signal.
    @Test func anOldSignalNeedsNoStop() {
        var stage = stage()
        stage.type("h")
        settle(&stage)
        stage.wait(12)
        stage.press(.control("u"))
        #expect(told(stage) == ["compose typing"])
    }

    @Test func aStopPermitsNoEarlierSignal() {
        var stage = stage()
        for _ in 0..<3 {
            stage.type("h")
            settle(&stage)
            stage.press(.control("u"))
            settle(&stage)
        }
        #expect(told(stage) == ["compose typing", "compose typing --stop"])
        stage.wait(10)
        stage.type("h")
        #expect(told(stage).count == 3)
    }
}
