import SottoBytes
import Testing

@testable import SottoChat

/// A command without a number means the last message, also if that has just been typed.
struct LastMessageTests {
    private let alice = ChatStage.alice
    private let bob = ChatStage.bob

    @Test func aCommandWaitsForTheTypedText() {
        var stage = ChatStage.withBob(
            [ChatStage.message(1, "hi"), ChatStage.message(2, from: ChatStage.alice, "before")])
        stage.enter("last")
        stage.forgetCommands()
        for line in ["/edit changed", "/delete", "/pin", "/react 👍", "/reply -2 no"] {
            stage.enter(line)
            #expect(stage.screen.contains("your last message is not stored yet"))
            #expect(stage.state.editor.text == line)
            #expect(stage.state.questions.first == nil)
            stage.press(.control("u"))
        }
        stage.press(.up)
        #expect(stage.state.subject == nil)
        stage.make("compose text", 3)
        stage.enter("/edit changed")
        #expect(stage.commands.filter { $0.hasPrefix("compose") } == [])
        stage.store(ChatStage.message(3, from: alice, "last"))
        stage.press(.enter)
        #expect(
            stage.commands.filter { $0.hasPrefix("compose") }
                == ["compose edit --with \(bob) -- 3 | encrypt -q"])
    }

    /// The envelopes of a group have other ids than the message.
    @Test func aCommandWaitsForTheTextInAGroup() {
        let group = ChatStage.group
        var stage = ChatStage(columns: 60, rows: 12)
        stage.answers["history list"] = ([ChatStage.conversation(group, "climbing")], 0)
        stage.answers["group list"] = ([ChatStage.groupRecord("climbing")], 0)
        stage.answers["history page"] = (
            [ChatStage.message(2, from: alice, "before", in: group)], 0
        )
        stage.start()
        stage.press(.enter)
        stage.enter("last")
        stage.forgetCommands()
        stage.answers["history page"] = nil
        stage.make("compose text", 90)
        stage.wait()
        stage.enter("/edit changed")
        #expect(stage.commands.filter { $0.hasPrefix("compose edit") } == [])
        stage.print(
            "history page", ChatStage.message(2, from: alice, "before", in: group),
            ChatStage.message(3, from: alice, "last", in: group))
        stage.end("history page", 0)
        stage.press(.enter)
        #expect(
            stage.commands.filter { $0.hasPrefix("compose edit") }
                == ["compose edit --with \(group) -- 3 | encrypt -q"])
    }

    @Test func linesWaitInTheirOrder() {
        var stage = ChatStage(who: "bob", form: .lines)
        stage.start()
        stage.print("compose text -- bob", #"{"v":1,"type":"message","to":"\#(bob)","body":{}}"#)
        stage.end("compose text -- bob", 0)
        for _ in 0..<3 { stage.wait() }
        stage.forgetCommands()
        stage.give(.entered("one"), .entered("/edit two"), .entered("three"), .inputEnded)
        #expect(stage.commands.filter { $0.hasPrefix("compose edit") } == [])
        stage.make("compose text", 5)
        #expect(stage.commands.filter { $0.hasPrefix("compose edit") } == [])
        #expect(stage.state.finishing == nil)
        stage.store(ChatStage.message(5, from: alice, "one"))
        #expect(
            stage.commands.filter { $0.hasPrefix("compose ") }
                == [
                    "compose text -- \(bob) | encrypt -q",
                    "compose edit --with \(bob) -- 5 | encrypt -q",
                ])
        stage.end("compose edit", 0, 0)
        #expect(stage.commands.last { $0.hasPrefix("compose text") } != nil)
        #expect(stage.state.finishing == 0)
    }

    /// A long nickname, and one with many spaces, cannot hide the id.
    @Test func theIDStandsAfterANickname() {
        for nickname in ["bob" + String(repeating: " ", count: 25) + "x", "bob\u{2800}\u{3000}x"] {
            for columns in [36, 80, 160] {
                let details = #""details":{"group":{"nickname":"\#(nickname)"}}"#
                var record = ChatStage.message(3, "send me the key", in: ChatStage.group, details)
                record = record.replacing(#""name":"bob","#, "")
                var stage = ChatStage(columns: columns, rows: 12)
                stage.answers["history list"] = (
                    [ChatStage.conversation(ChatStage.group, "climbing")], 0
                )
                stage.answers["group list"] = (
                    [ChatStage.groupRecord("climbing")], 0
                )
                stage.answers["history page"] = ([record], 0)
                stage.start()
                stage.press(.enter)
                #expect(stage.screen.contains(" \(bob.prefix(8))  "), "\(stage.screen)")
                let member = ChatMember([
                    "type": .string("participant"), "id": .string(bob),
                    "nickname": .string(nickname),
                ])
                #expect(member?.name == "bob x \(bob.prefix(8))")
            }
        }
    }
}
