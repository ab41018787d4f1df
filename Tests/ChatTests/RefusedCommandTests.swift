import Testing

@testable import SottoChat

/// A command that is not done stays in the line, with the reason.
struct RefusedCommandTests {
    private let bob = ChatStage.bob
    private let carol = ChatStage.carol

    @Test func aCommandThatAToolRefusesStays() {
        for (line, command) in [
            ("/rename carol", "history rename"), ("/receipts on", "contact set"),
            ("/timer 999999w", "compose timer"), ("/react x", "compose react"),
            ("/open ca", "compose text -- ca"), ("/verify 123", "contact verify"),
        ] {
            var stage = ChatStage.withBob(columns: 80, rows: 10, [ChatStage.message(1, "hi")])
            stage.enter(line)
            stage.say(command, "tool: error: it cannot be done")
            stage.say(command, "tool: hint: do it otherwise: sotto help")
            if command.hasPrefix("compose"), !command.hasSuffix("ca") {
                stage.end(command, 64, 1)
            } else {
                stage.end(command, 64)
            }
            #expect(stage.screen.contains("> \(line)"), "\(stage.screen)")
            #expect(stage.screen.contains("it cannot be done"), "\(stage.screen)")
        }
    }

    /// What is typed meanwhile, or in another conversation, is not replaced.
    @Test func aRefusedCommandReplacesNothing() {
        var stage = ChatStage.withBob(columns: 80, rows: 10, [ChatStage.message(1, "hi")])
        stage.enter("/rename carol")
        stage.type("a text")
        stage.end("history rename", 64)
        #expect(stage.screen.contains("> a text"), "\(stage.screen)")
        stage.press(.control("u"))
        stage.enter("/rename carol")
        stage.press(.escape, .down, .enter)
        #expect(stage.state.conversation?.key == .person(carol))
        stage.end("history rename", 64)
        #expect(stage.state.editor.isEmpty)
    }

    @Test func aCommandThatIsDoneLeavesTheLineEmpty() {
        var stage = ChatStage.withBob(columns: 80, rows: 10, [ChatStage.message(1, "hi")])
        stage.enter("/rename robert")
        stage.end("history rename", 0)
        stage.enter("/search nothing")
        stage.end("history search", 1)
        stage.press(.escape)
        #expect(stage.state.editor.isEmpty, "\(stage.screen)")
    }

    /// The hint of the tool is the next step.
    @Test func theHintOfAToolIsShown() {
        var stage = ChatStage.withBob(columns: 80, rows: 10, [])
        stage.enter("/rename carol")
        stage.say("history rename", "history: error: another contact has the name carol")
        stage.say("history rename", "history: hint: give another name")
        stage.end("history rename", 64)
        let words = "another contact has the name carol; give another name"
        #expect(stage.screen.contains(words), "\(stage.screen)")
    }
}
