import Testing

@testable import SottoChat

/// The list changes while the user chooses.
struct ChoiceTests {
    private func conversations(_ ids: [(String, String)]) -> ChatStage.Answer {
        (ids.map { ChatStage.conversation($0.0, $0.1) }, 0)
    }

    private let bobFirst = [(ChatStage.bob, "bob"), (ChatStage.carol, "carol")]

    private func stage() -> ChatStage {
        var stage = ChatStage(columns: 60, rows: 10)
        stage.answers["history list"] = conversations(bobFirst)
        stage.start()
        stage.wait()
        return stage
    }

    /// Mail of Carol, whose conversation is now the first.
    private func receive(_ stage: inout ChatStage) {
        stage.answers["history list"] = conversations(bobFirst.reversed())
        stage.store(ChatStage.message(9, from: ChatStage.carol, "x"))
        stage.wait()
        #expect(stage.state.list.conversations.first?.name == "carol")
    }

    @Test func enterOpensTheChosenItem() {
        var (first, second) = (stage(), stage())
        receive(&first)
        first.press(.enter)
        #expect(first.state.conversation?.key == .person(ChatStage.bob))
        second.press(.down)
        receive(&second)
        second.press(.enter)
        #expect(second.state.conversation?.key == .person(ChatStage.carol))
    }

    @Test func aNumberIsThatOnTheScreen() {
        var stage = stage()
        stage.isPainted = false
        receive(&stage)
        stage.type("1")
        #expect(stage.state.conversation?.key == .person(ChatStage.bob))
    }

    @Test func aNumberBeforeEnterStaysWithItsItem() {
        var stage = ChatStage(columns: 60, rows: 30)
        let many = (10...29).map { ("05" + String(repeating: "\($0)", count: 32), "p\($0)") }
        stage.answers["history list"] = conversations(many)
        stage.start()
        stage.wait()
        stage.type("2")
        stage.answers["history list"] = conversations(many.reversed())
        stage.store(ChatStage.message(9, "x"))
        stage.wait()
        stage.press(.enter)
        #expect(stage.state.conversation?.key == .person(many[1].0))
    }

    /// The chosen request was accepted by another program.
    @Test func anItemThatHasGoneOpensNoOther() {
        var stage = stage()
        stage.press(.down)
        stage.isPainted = false
        stage.answers["history list"] = conversations([bobFirst[0]])
        stage.store(ChatStage.message(9, "x"))
        stage.wait()
        stage.press(.enter)
        #expect(stage.state.conversation == nil)
    }
}
