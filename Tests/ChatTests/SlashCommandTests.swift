import Testing

@testable import SottoChat

struct SlashCommandTests {
    /// A command that takes a message alone takes its plain number, and one with a text takes that number as a part of the text.
    @Test func onlyAMessageAloneIsAPlainNumber() {
        let arguments = Dictionary(
            grouping: SlashCommand.allCases.filter {
                if case .message = $0.arguments { true } else { false }
            }, by: { $0.arguments == .message(then: nil) })
        #expect(arguments[true] == [.delete, .pin, .unpin, .save, .copy, .info])
        for command in arguments[false] ?? [] {
            #expect(command.usage.hasPrefix("[-N | #N] "))
        }
        let page = [ChatStage.message(1, "one"), ChatStage.message(2, "two")]
        var stage = ChatStage.withBob(page)
        stage.forgetCommands()
        stage.enter("/pin 1")
        stage.enter("/reply 1 apple")
        #expect(
            stage.commands == [
                "compose pin --with \(ChatStage.bob) -- 1 | encrypt -q"
            ])
        stage.end("compose pin", 0, 0)
        #expect(stage.commands.last == "compose reply --with \(ChatStage.bob) -- 2 | encrypt -q")
        #expect(stage.state.pending.map(\.text) == ["1 apple"])
    }
}
