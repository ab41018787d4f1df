import Foundation
import Testing

@testable import SottoChat

/// Groups: their events, typing signals and commands.
struct GroupScreens {
    private let alice = ChatStage.alice
    private let bob = ChatStage.bob
    private let carol = ChatStage.carol
    private let group = ChatStage.group

    private func participants(_ more: String = "") -> [String] {
        [
            #"{"v":1,"type":"participant","id":"\#(alice)","role":"owner","name":"me","me":true,"seesMe":true}"#,
            #"{"v":1,"type":"participant","id":"\#(bob)","role":"owner","nickname":"bobby","name":"bob","seesMe":true}"#,
            #"{"v":1,"type":"participant","id":"\#(carol)","role":"member","nickname":"caro","name":"05cacacacacacaca","seesMe":true}"#,
        ]
    }

    /// A stage with the group open. Bob is a contact.
    private func stage(
        rows: Int = 22, settings: String = "", visibility: String = "joined"
    ) -> ChatStage {
        var stage = ChatStage(columns: 80, rows: rows)
        stage.answers["contact list"] = ([ChatStage.contact(bob, "bob", settings)], 0)
        stage.answers["history list"] = (
            [ChatStage.conversation(group, "climbing"), ChatStage.conversation(bob, "bob")], 0
        )
        stage.answers["group list"] = (
            [ChatStage.groupRecord("climbing", visibility: visibility)], 0
        )
        stage.answers["group sync"] = ([], 1)
        stage.answers["group participants"] = (participants(), 0)
        stage.answers["history page"] = (
            [ChatStage.message(1, "friday?", minutes: -30, in: group)], 0
        )
        stage.start()
        stage.wait()
        stage.press(.enter)
        stage.wait()
        return stage
    }

    private func news(_ number: Int64, _ events: String...) -> String {
        ChatStage.message(
            number, in: group,
            body:
                #"{"type":"group","group":"\#(group)","events":[\#(events.joined(separator: ","))]}"#
        )
    }

    /// The changes of a group, each in a record of the history.
    private func change(_ events: String...) -> [String] {
        events.enumerated().map { index, event in
            #"{"v":1,"type":"change","group":"\#(group)","number":\#(index + 2),"time":"\#(ChatStage.time(-20))","body":{"type":"group","group":"\#(group)","events":[\#(event)]}}"#
        }
    }

    @Test func eventsTellWhoDidWhat() {
        var stage = stage()
        let byBob = #""by":"\#(bob)","byName":"bob""#
        let byCarol = #""by":"\#(carol)","byNickname":"caro""#
        let stored = change(
            #"{"event":"renamed","name":"crew",\#(byBob)}"#,
            #"{"event":"renamed","name":"alice removed you",\#(byCarol)}"#,
            #"{"event":"renamed","name":"team","called":"team (6b6b6b6b)"}"#,
            #"{"event":"joined","who":"\#(carol)","nickname":"caro"}"#,
            #"{"event":"role","who":"\#(carol)","nickname":"caro","role":"admin",\#(byBob)}"#,
            #"{"event":"role","who":"\#(alice)","name":"me","role":"reader",\#(byCarol)}"#,
            #"{"event":"role","who":"\#(bob)","name":"bob","role":"owner","by":"\#(bob)","byName":"bob"}"#,
            #"{"event":"changed","what":"policy","policy":{"post":"admin","relays":[]},\#(byBob)}"#,
            #"{"event":"changed","what":"nickname",\#(byCarol)}"#,
            #"{"event":"changed","what":"timer","timer":86400,\#(byBob)}"#,
            #"{"event":"left","who":"\#(carol)","nickname":"caro",\#(byBob)}"#,
            #"{"event":"left","who":"\#(carol)","nickname":"caro","by":"\#(carol)","byNickname":"caro"}"#,
            #"{"event":"left","who":"\#(alice)","name":"me",\#(byBob)}"#,
            #"{"event":"odd","who":7,"by":["x"]}"#)
        // The history prints changes; other events are told once.
        stage.answers["history page"] = (
            [ChatStage.message(1, "friday?", minutes: -30, in: group)] + stored, 0
        )
        stage.store(
            news(
                30, #"{"event":"history","who":"\#(bob)","name":"bob","count":12}"#,
                #"{"event":"fork","who":"\#(carol)","nickname":"caro"}"#,
                #"{"event":"confirmed","who":"\#(bob)","name":"bob"}"#,
                #"{"event":"joined","who":"\#(bob)","name":"bob"}"#,
                #"{"event":"question","who":"\#(bob)","name":"bob"}"#))
        stage.wait()
        stage.show("who did what")
        stage.compare("group-events")
    }

    /// The envelopes for the members have other ids than the message: its typed text does not wait for it.
    @Test func aTextToAGroupStandsOnce() {
        var stage = stage(rows: 10)
        stage.enter("hello")
        #expect(stage.state.pending.map(\.text) == ["hello"])
        stage.make("compose text", 9)
        #expect(stage.state.pending.isEmpty)
        let mine = ChatStage.message(2, from: alice, "hello", minutes: 0, in: group)
        stage.answers["history page"]?.lines.append(mine)
        stage.store(mine)
        stage.wait()
        #expect(stage.screen.components(separatedBy: "hello").count == 2)
    }

    /// Another member names the group as if it were a verified contact.
    @Test func aNameOfAGroupIsNoFact() {
        for columns in [40, 80] {
            var stage = ChatStage(columns: columns, rows: 10)
            let name = "bob  verified · forward secrecy · online"
            stage.answers["contact list"] = ([ChatStage.contact(bob, "bob")], 0)
            stage.answers["history list"] = ([ChatStage.conversation(group, name)], 0)
            stage.answers["group list"] = (
                [
                    ChatStage.groupRecord(name),
                    ChatStage.groupRecord(
                        "a group of climbers with a long name",
                        #""standing":"invited","by":"\#(bob)""#
                    ).replacing(group, String(repeating: "7c", count: 32)),
                ], 0
            )
            stage.answers["group sync"] = ([], 1)
            stage.answers["group participants"] = (participants(), 0)
            stage.start()
            stage.wait()
            stage.press(.down, .enter)
            stage.wait()
            stage.show("\(columns) columns")
            stage.compare("names-\(columns)")
        }
    }

    @Test func aDeletedGroupLeavesTheListAndSaysSo() {
        var stage = stage(rows: 10)
        stage.answers["group list"] = (
            [
                ChatStage.groupRecord(
                    "climbing", #""standing":"left","rank":"nobody","deleted":true"#)
            ], 0
        )
        let event = #"{"event":"conversation_deleted","who":"\#(bob)","name":"bob"}"#
        stage.answers["history page"]?.lines += change(event)
        stage.store(news(2, event))
        stage.wait()
        stage.show("the open one says so")
        stage.enter("hello?")
        stage.show("nothing can be written to it")
        stage.press(.control("u"), .escape)
        stage.wait()
        stage.show("the list")
        stage.compare("group-deleted")
    }

    @Test func typingIsToldInGroupsAtMostOnceInTenSeconds() {
        var stage = stage(settings: #""typing":true"#)
        stage.forgetCommands()
        for second in 0..<25 {
            stage.type("x")
            if second == 5 {
                stage.press(.enter)
                stage.finish(stage.running.last { $0.stages[0].tool == "compose" }!, 0)
            }
            for pipeline in stage.running where pipeline.stages[0].arguments.first == "typing" {
                stage.finish(pipeline, 0)
            }
            stage.wait()
        }
        #expect(
            stage.commands.filter { $0.hasPrefix("compose typing") }
                == Array(repeating: "compose typing \(group) | encrypt -q", count: 3))
    }

    @Test func typingIsNotToldWhereNobodyGetsIt() {
        var stage = stage()
        stage.forgetCommands()
        stage.type("hello")
        #expect(!stage.commands.contains { $0.hasPrefix("compose typing") })
    }

    @Test func membersWhoTypeAreShown() {
        var stage = stage(rows: 8)
        func typing(_ from: String, in group: String) -> String {
            #"{"v":1,"type":"message","from":"\#(from)","body":{"type":"typing","state":"started","group":"\#(group)"}}"#
        }
        let stranger = "05" + String(repeating: "ee", count: 32)
        stage.print("recv", typing(stranger, in: group))
        stage.show("a sender who is no member types")
        stage.print("recv", typing(carol, in: group), typing(bob, in: group))
        stage.show("two members type")
        stage.wait(16)
        stage.show("it has ended")
        stage.compare("group-typing")
    }

    @Test func theListShowsWhoIsOnline() {
        var stage = stage(rows: 8)
        stage.press(.escape)
        stage.print(
            "recv",
            #"{"v":1,"type":"message","from":"\#(bob)","body":{"type":"presence","state":"online"}}"#
        )
        stage.show("bob is online")
        stage.wait(61)
        stage.show("a minute without a signal")
        stage.compare("online")
    }

    /// An invited person is listed, is asked about in other words, and gets no question about a grant.
    @Test func anInvitationWithoutAnAnswerIsTakenBack() throws {
        var stage = stage(rows: 10)
        let dave = "05" + String(repeating: "da", count: 32)
        func run(_ command: String) throws {
            let made = try #require(
                stage.running.last {
                    $0.stages[0].tool == "group" && $0.stages[0].arguments.first == command
                })
            stage.finish(made, 0)
            stage.wait()
        }
        stage.answers["group list"] = (
            [ChatStage.groupRecord("climbing", visibility: "granted")], 0
        )
        stage.answers["group participants --json"] = (
            participants() + [
                #"{"v":1,"type":"participant","id":"\#(dave)","standing":"invited","role":"member","name":"dave","seesMe":false}"#
            ], 0
        )
        stage.answers["group participants --text"] = (
            ["dave  member  dave  05dadadadadadada  invited, no answer yet"], 0
        )
        stage.enter("/invite dave")
        try run("invite")
        #expect(stage.state.members.count == 4 && stage.state.questions.first == nil)
        stage.enter("/members")
        #expect(stage.screen.contains("dave  member  dave  05dadadadadadada  invited, no answer"))
        stage.press(.escape)
        stage.enter("/remove dave")
        #expect(
            stage.screen.contains("? take the invitation of “dave” to the group “climbing” back?"))
        stage.forgetCommands()
        stage.press(.control("y"))
        #expect(stage.commands == ["group remove \(group) \(dave) | encrypt -q"])
        try run("remove")
        #expect(stage.screen.contains("the invitation of dave is taken back"))
    }

    @Test func everyCommandOfGroupsRunsItsTool() {
        var stage = stage(rows: 10, visibility: "granted")
        stage.answers["group participants --text"] = (
            ["me     owner   sees you", "bob    member  sees you"], 0
        )
        for line in [
            "/members", "/grant caro 05cacaca", "/invite dave", "/remove caro 05cacaca", "/leave",
            "/timer 7d",
        ] {
            stage.forgetCommands()
            stage.enter(line)
            if stage.state.questions.first != nil { stage.press(.control("y")) }
            let made = stage.running.last {
                $0.stages[0].tool == "group" && $0.stages[0].arguments.first != "sync"
            }
            if let made { stage.finish(made, 0) }
            stage.showCommands(line)
            stage.show("after \(line)")
            stage.press(.escape)
            if stage.state.conversation == nil { stage.press(.enter) }
            stage.wait()
        }
        stage.compare("group-commands")
    }
}
