import Testing

@testable import SottoChat

/// What must fail is refused before a question is asked and before a text is typed for it.
struct ObstacleTests {
    private let alice = ChatStage.alice
    private let bob = ChatStage.bob
    private let carol = ChatStage.carol
    private let group = ChatStage.group

    /// Checks that a line is refused with words, and that no tool runs and no question is asked.
    private func expectRefused(
        _ stage: inout ChatStage, _ line: String, _ words: String,
        _ location: SourceLocation = #_sourceLocation
    ) {
        stage.forgetCommands()
        stage.enter(line)
        expectRefused(stage, words, location)
        #expect(stage.state.editor.text == line, sourceLocation: location)
        stage.press(.control("u"))
    }

    private func expectRefused(
        _ stage: ChatStage, _ words: String, _ location: SourceLocation = #_sourceLocation
    ) {
        let shown = stage.state.status?.text ?? "nothing"
        #expect(shown.contains(words), "\(shown)", sourceLocation: location)
        #expect(stage.state.questions.first == nil, sourceLocation: location)
        #expect(stage.state.subject == nil, sourceLocation: location)
        let acts = stage.commands.filter { $0.hasSuffix("| encrypt -q") }
        #expect(acts == [], sourceLocation: location)
    }

    @Test func theMessageOfTheContactIsNotDeletedOrChanged() {
        var stage = ChatStage.withBob(columns: 160, rows: 12, [ChatStage.message(1, "hi")])
        let deletion =
            "only bob can delete this message on both sides; to delete it only here: sotto history delete 1"
        expectRefused(&stage, "/delete #1", deletion)
        expectRefused(&stage, "/edit #1 ho", "only your own texts can be changed")
        stage.press(.tab)
        for key in [Key.text("d"), .delete] {
            stage.press(key)
            expectRefused(stage, deletion)
        }
        stage.press(.text("e"))
        expectRefused(stage, "only your own texts can be changed")
    }

    @Test func eventsAndDeletedMessagesAreNoTargets() {
        var stage = ChatStage.withBob(
            columns: 160, rows: 12,
            [
                ChatStage.message(1, body: #"{"type":"system","event":"key-accepted"}"#),
                ChatStage.message(2, "", #""deleted":true"#),
                ChatStage.message(3, body: #"{"type":"timer","seconds":60}"#),
            ])
        for (number, words) in [
            (1, "this line tells an event"), (2, "the message was deleted"),
            (3, "this line tells an event"),
        ] {
            for line in [
                "/reply #\(number) yes", "/reply #\(number)", "/react #\(number) 👍",
                "/edit #\(number) x", "/delete #\(number)", "/pin #\(number)",
                "/forward #\(number) carol", "/save #\(number)", "/copy #\(number)",
            ] {
                expectRefused(&stage, line, words)
            }
        }
        stage.press(.tab)
        for key in [Key.text("r"), .text("+"), .text("f"), .text("p"), .text("d"), .enter] {
            stage.forgetCommands()
            stage.press(key)
            expectRefused(stage, "this line tells an event")
        }
    }

    @Test func nothingIsDoneForABlockedContact() {
        var stage = ChatStage.withBob(
            columns: 160, rows: 12,
            [ChatStage.message(1, "hi"), ChatStage.message(2, from: alice, "ho")])
        stage.answers["contact list"] = (
            [ChatStage.contact(bob, "bob").replacing(#""blocked":false"#, #""blocked":true"#)], 0
        )
        stage.store(#"{"v":1,"type":"changes","lists":["contacts"]}"#)
        stage.wait()
        for line in ["/react 👍", "/delete", "/pin", "/timer 1d", "/reply x"] {
            expectRefused(&stage, line, "bob is blocked")
        }
    }

    // MARK: Groups

    private func stage(
        rank: String, standing: String = "member", visibility: String = "joined"
    ) -> ChatStage {
        var stage = ChatStage(columns: 160, rows: 12)
        stage.answers["contact list"] = (
            [ChatStage.contact(bob, "bob"), ChatStage.contact(carol, "carol")], 0
        )
        stage.answers["history list"] = ([ChatStage.conversation(group, "climbing")], 0)
        stage.answers["group list"] = (
            [
                ChatStage.groupRecord(
                    "climbing", #""standing":"\#(standing)","rank":"\#(rank)""#,
                    visibility: visibility)
            ], 0
        )
        stage.answers["group sync"] = ([], 1)
        stage.answers["group participants"] = (
            [
                #"{"v":1,"type":"participant","id":"\#(alice)","role":"\#(rank)","name":"me","me":true,"seesMe":true}"#,
                #"{"v":1,"type":"participant","id":"\#(bob)","role":"admin","name":"bob","seesMe":true}"#,
                #"{"v":1,"type":"participant","id":"\#(carol)","role":"member","name":"carol","standing":"invited","seesMe":false}"#,
            ], 0
        )
        stage.answers["history page"] = (
            [
                ChatStage.message(1, "friday?", in: group),
                ChatStage.message(2, from: alice, "yes", in: group),
            ], 0
        )
        stage.start()
        stage.wait()
        if standing == "member" {
            stage.press(.enter)
        } else {
            stage.enter("/open climbing")
            stage.print("compose text", #"{"v":1,"type":"message","group":"\#(group)","body":{}}"#)
            stage.end("compose text", 0)
        }
        stage.wait()
        return stage
    }

    @Test func theRankIsLookedAtFirst() {
        var stage = stage(rank: "member")
        expectRefused(
            &stage, "/delete #1",
            "your rank here is member; deleting the messages of others needs the rank moderator; to delete it only here: sotto history delete 1"
        )
        expectRefused(&stage, "/pin #1", "pinning the messages of others needs the rank moderator")
        expectRefused(&stage, "/invite carol", "inviting needs the rank admin")
        expectRefused(&stage, "/remove bob", "removing members needs the rank moderator")
        expectRefused(&stage, "/timer 7d", "the timer needs the rank admin")
        stage.press(.tab, .up, .text("d"))
        expectRefused(stage, "deleting the messages of others needs the rank moderator")
        stage.press(.text("p"))
        expectRefused(stage, "pinning the messages of others needs the rank moderator")
        // The own message.
        stage.press(.down, .text("d"))
        #expect(stage.state.questions.first != nil)
    }

    @Test func theRankOfTheOtherMemberIsLookedAt() {
        var stage = stage(rank: "moderator")
        expectRefused(
            &stage, "/remove bob",
            "bob has the rank admin, and yours is moderator: only members with a lower rank can be removed"
        )
        expectRefused(&stage, "/remove me", "/leave ends your own membership")
        stage.enter("/delete #1")
        #expect(stage.state.questions.first != nil)
    }

    @Test func aGrantIsForGroupsWhereTheAuthorsDecide() {
        var stage = stage(rank: "owner")
        expectRefused(
            &stage, "/grant bob",
            "the rules of this group, and not you, decide who sees your messages")
        stage = self.stage(rank: "owner", visibility: "granted")
        expectRefused(&stage, "/grant carol", "carol has not joined")
        expectRefused(&stage, "/grant me", "these are your own messages")
    }

    @Test func nothingIsDoneInAGroupThatWasLeft() {
        var stage = stage(rank: "nobody", standing: "left")
        for line in [
            "/leave", "/delete", "/react #1 👍", "/invite carol", "/remove bob", "/timer 7d",
            "/reply #1 x",
        ] {
            expectRefused(&stage, line, "you are not a member of the group")
        }
    }

    @Test func theOwnNotesAreNotBlocked() {
        var stage = ChatStage(columns: 160, rows: 12, who: "me")
        stage.start()
        stage.print("compose text -- me", #"{"v":1,"type":"message","to":"\#(alice)","body":{}}"#)
        stage.end("compose text -- me", 0)
        stage.wait()
        expectRefused(&stage, "/block", "these are your own notes")
    }
}
