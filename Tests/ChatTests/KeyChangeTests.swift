import Testing

@testable import SottoChat

/// Another key of a contact: it is said in words, with the commands, and nothing that waits disappears.
struct KeyChangeTests {
    private let alice = ChatStage.alice
    private let bob = ChatStage.bob
    private let newBob = "05" + String(repeating: "b1", count: 32)

    private func request(_ more: String = "") -> String {
        #"{"v":1,"type":"requests","from":"\#(newBob)","count":1,"firstSeen":"2026-11-26T09:00:00Z","claimedName":"bob"\#(more)}"#
    }

    private var offered: String {
        ChatStage.contact(bob, "bob", #""changed":{"type":"contact","id":"\#(newBob)"}"#)
    }

    private func shown(_ stage: ChatStage) -> String {
        stage.screen.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test func aTextIsKeptUntilTheUserDecides() {
        var stage = ChatStage.withBob(columns: 80, rows: 14, [ChatStage.message(1, "hi")])
        stage.answers["contact list"] = ([offered], 0)
        stage.enter("hello")
        // The list of contacts is older than the change, so encrypt tells it first.
        stage.say(
            "compose text", stage: 1,
            "encrypt: error: line 1: a different key was received for bob and is not accepted yet")
        stage.say(
            "compose text", stage: 1,
            "encrypt: hint: after asking bob on another channel: sotto contact accept-key bob 05b1b1b1b1b1b1b1, or sotto contact keep-key bob"
        )
        stage.end("compose text", 0, 12)
        #expect(
            shown(stage).contains(
                "a different key was received for bob and is not accepted yet; after asking bob on another channel: sotto contact accept-key bob 05b1b1b1b1b1b1b1, or sotto contact keep-key bob > hello"
            ), "\(stage.screen)")
        #expect(!stage.screen.contains("line 1"))
        stage.wait()
        stage.forgetCommands()
        stage.press(.enter)
        stage.show("the key changed")
        #expect(!stage.commands.contains { $0.hasPrefix("compose") })
        for words in [
            "bob's key changed", "/verify", "sotto contact accept-key bob 05b1b1b1b1b1b1b1",
            "sotto contact keep-key bob", "> hello",
        ] {
            #expect(shown(stage).contains(words), "\(words): \(stage.screen)")
        }
        // Another program accepts the key: the same conversation goes on with it.
        stage.answers["contact list"] = ([ChatStage.contact(newBob, "bob")], 0)
        stage.wait()
        stage.show("accepted")
        #expect(stage.state.conversation?.key == .person(newBob))
        #expect(stage.screen.contains("> hello"), "\(stage.screen)")
        stage.press(.enter)
        #expect(stage.running.contains { $0.stages[0].arguments == ["text", "--", newBob] })
        stage.compare("key-change")
    }

    private static let noBundle =
        "encrypt: error: line 1: no session with the recipient, and no prekey bundle to begin one"

    @Test func aSessionThatCannotBeginClaimsABundle() {
        var stage = ChatStage.withBob(columns: 80, rows: 8, [ChatStage.message(1, "hi")])
        stage.enter("hello")
        stage.enter("again")
        stage.say("compose text", stage: 1, Self.noBundle)
        stage.forgetCommands()
        stage.end("compose text", 0, 10)
        #expect(stage.commands == ["recv -q --bundle \(bob)"])
        #expect(stage.screen.contains("me  hello …"), "\(stage.screen)")
        stage.forgetCommands()
        stage.end("recv -q --bundle", 0)
        // The first text is made before the second one.
        #expect(stage.state.pending.count == 2)
        stage.make("compose text", 2)
        stage.make("compose text", 3)
        #expect(stage.commands.filter { $0.hasPrefix("compose text") }.count == 2)
        #expect(stage.state.pending.compactMap(\.failure) == [])
        #expect(stage.state.pending.map(\.ids) == [[ChatStage.id(2)], [ChatStage.id(3)]])
    }

    @Test func aTextWithoutABundleComesBack() {
        var stage = ChatStage.withBob(columns: 80, rows: 8, [ChatStage.message(1, "hi")])
        stage.enter("hello")
        stage.say("compose text", stage: 1, Self.noBundle)
        stage.end("compose text", 0, 10)
        stage.say("recv -q --bundle", "recv: error: the relay has no bundle of this id")
        stage.end("recv -q --bundle", 66)
        #expect(stage.screen.contains("the relay has no bundle of this id"), "\(stage.screen)")
        #expect(stage.screen.contains("> hello"), "\(stage.screen)")
        // The claim is tried once for each attempt.
        stage.press(.enter)
        stage.say("compose text", stage: 1, Self.noBundle)
        stage.end("compose text", 0, 10)
        stage.end("recv -q --bundle", 0)
        stage.say("compose text", stage: 1, Self.noBundle)
        stage.forgetCommands()
        stage.end("compose text", 0, 10)
        #expect(!stage.commands.contains { $0.hasPrefix("recv") })
        #expect(stage.screen.contains("> hello"), "\(stage.screen)")
    }

    /// The messages of the new key wait until the user takes or drops them, also after the key was accepted.
    @Test func messagesOfTheNewKeyStayInTheList() {
        var stage = ChatStage(columns: 80, rows: 10)
        stage.answers["contact list"] = ([ChatStage.contact(bob, "bob")], 0)
        stage.answers["history list"] = ([ChatStage.conversation(bob, "bob")], 0)
        stage.answers["contact requests"] = ([request()], 0)
        stage.start()
        for _ in 0..<3 { stage.wait() }
        stage.show("before")
        stage.answers["contact list"] = ([ChatStage.contact(newBob, "bob")], 0)
        stage.answers["contact requests"] = ([request(#","name":"bob""#)], 0)
        stage.store(
            ChatStage.message(
                2, from: newBob, body: #"{"type":"system","event":"key-accepted"}"#))
        for _ in 0..<3 { stage.wait() }
        stage.show("accepted, and its message waits")
        stage.press(.control("o"))
        stage.enter("/questions")
        #expect(stage.state.questions.waiting.map(\.subject) == [.request(id: newBob)])
        stage.wait(2)
        stage.forgetCommands()
        stage.press(.control("y"))
        #expect(stage.commands == ["contact accept \(newBob) | decrypt -q"])
        stage.compare("new-key-requests")
    }
}
