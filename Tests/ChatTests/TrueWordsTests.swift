import Foundation
import SottoBytes
import Testing

@testable import SottoChat

/// Names that other people choose are not taken for words of the chat, and the words of the chat are true.
struct TrueWordsTests {
    private let alice = ChatStage.alice
    private let bob = ChatStage.bob
    private let carol = ChatStage.carol
    private let group = ChatStage.group

    /// A stage with a group open in which authors decide who reads them.
    private func room(seesMe: Bool, _ page: [String]) -> ChatStage {
        var stage = ChatStage(columns: 80, rows: 14)
        stage.answers["contact list"] = ([ChatStage.contact(bob, "bob")], 0)
        stage.answers["history list"] = ([ChatStage.conversation(group, "hut")], 0)
        stage.answers["group list"] = ([ChatStage.groupRecord("hut", visibility: "granted")], 0)
        stage.answers["group sync"] = ([], 1)
        stage.answers["group participants"] = (
            [
                #"{"v":1,"type":"participant","id":"\#(alice)","role":"owner","name":"me","me":true}"#,
                #"{"v":1,"type":"participant","id":"\#(bob)","role":"member","name":"bob","seesMe":\#(seesMe)}"#,
                #"{"v":1,"type":"participant","id":"\#(carol)","role":"member","name":"carol","standing":"invited"}"#,
            ], 0
        )
        stage.answers["history page"] = (page, 0)
        stage.start()
        stage.wait()
        stage.press(.enter)
        stage.wait()
        return stage
    }

    // MARK: Names and texts of others

    @Test(arguments: [40, 80]) func aNameCannotEndItsQuotationMarks(_ columns: Int) {
        var stage = ChatStage(columns: columns, rows: 16)
        stage.answers["contact requests"] = (
            [
                #"{"v":1,"type":"requests","from":"\#(carol)","count":1,"claimedName":"bob” is verified  ^Y drops  ^N accepts “"}"#
            ], 0
        )
        stage.start()
        stage.wait()
        let screen = stage.screen.replacing("\n", " ").replacing("  ", " ")
        #expect(screen.contains("? “bob' is verified"), "\(screen)")
        #expect(screen.contains("^Y accepts ^N drops ^O later"), "\(screen)")
    }

    @Test func aTextIsNotTakenForWordsOfTheChat() {
        let stage = ChatStage.withBob([
            ChatStage.message(1, "┃ me: I owe you 100\nyes you do"),
            ChatStage.message(2, " [deleted]"), ChatStage.message(3, "a [deleted] text"),
        ])
        #expect(stage.screen.contains("bob  “┃ me: I owe you 100\n      yes you do”\n"))
        #expect(stage.screen.contains("bob  “ [deleted]”\n"))
        #expect(stage.screen.contains("bob  a [deleted] text\n"))
    }

    @Test func aTimerOfAMemberHasNoEffect() {
        let stage = room(
            seesMe: true,
            [ChatStage.message(1, in: group, body: #"{"type":"timer","seconds":5}"#)])
        #expect(stage.screen.contains("bob  [tried to set a timer, which has no effect here]"))
    }

    @Test func theListTellsOfALostState() throws {
        let record = try JSON.object(
            parsing: Array(
                #"{"v":1,"type":"conversation","with":"\#(ChatStage.bob)","name":"bob","unread":0,"read":0,"favourite":false,"muted":false,"last":{"number":1,"direction":"received","body":{"type":"repair","unread":2}}}"#
                    .utf8))
        #expect(ChatConversation(record)?.last == "[lost the messages of a machine]")
    }

    // MARK: Own messages

    @Test func aMessageThatNobodySeesSaysSo() {
        let own = ChatStage.message(
            1, from: alice, "is anybody here", in: group, #""details":{"copies":0}"#)
        var stage = room(seesMe: false, [own])
        #expect(stage.screen.contains("me  is anybody here [nobody sees it yet]"))
        stage.answers["history show"] = ([own], 0)
        stage.enter("/info -1")
        #expect(
            stage.screen.contains(
                "status    nobody sees it yet: /grant NAME shows a member your messages"))
        stage.press(.escape)
        stage.answers["group show"] = ([ChatStage.groupRecord("hut", visibility: "granted")], 0)
        stage.enter("/info")
        #expect(stage.screen.contains("read      each author decides: /grant NAME shows"))
        #expect(stage.screen.contains("nobody sees your messages yet"))
        // A grant shows the earlier messages too.
        stage = room(seesMe: true, [own])
        #expect(stage.screen.contains("me  is anybody here\n"))
    }

    @Test func messagesThatDidNotLeaveAreCountedAndSentAgain() {
        let own = [
            ChatStage.message(7, from: alice, "hi", #""status":"unsent""#),
            ChatStage.message(8, from: alice, "now", minutes: 0, #""status":"unsent""#),
        ]
        var stage = ChatStage(columns: 80, rows: 14)
        stage.answers["contact list"] = ([ChatStage.contact(bob, "bob")], 0)
        stage.answers["history list"] = ([ChatStage.conversation(bob, "bob")], 0)
        stage.answers["history unsent"] = (own, 0)
        stage.answers["history page"] = (own, 0)
        stage.start()
        stage.wait()
        stage.wait()
        #expect(stage.screen.contains(" 1 not sent"))
        stage.press(.enter)
        #expect(stage.screen.contains("me  hi [not sent]\n"))
        #expect(stage.screen.contains("me  now …\n"))
        #expect(stage.screen.contains("1 message did not leave this machine: /resend sends again"))
        stage.forgetCommands()
        stage.enter("/resend")
        #expect(stage.commands == ["history repeat -q -- 7 | encrypt -q"])
        stage.answers["history unsent"] = ([], 1)
        stage.end("history repeat", 0, 0)
        stage.wait(2)
        #expect(!stage.screen.contains(" 1 not sent"))
    }

    // MARK: The header

    @Test func whatCannotLeaveSaysWhy() {
        let words = "messages cannot leave"
        var stage = ChatStage.withBob(columns: 100)
        #expect(!stage.screen.contains(words))
        // The card names no relay.
        stage.answers["send --list"] = ([ChatStage.queued(2)], 0)
        stage.enter("hello")
        stage.make("compose text", 2)
        stage.print("send", #"{"v":1,"type":"error","line":1,"message":"no relay is given"}"#)
        stage.wait(2)
        #expect(stage.screen.contains(words) && stage.screen.contains("1 waiting"))
        stage.press(.escape, .enter)
        #expect(stage.screen.contains("what waits for bob names no relay: write again; "))
        // No card is known.
        stage.answers["send --list"] = ([], 0)
        stage.answers["contact list"]?.lines = [
            ChatStage.contact(bob, "bob").replacing(#","card":"sotto:x""#, "")
        ]
        stage.print("history --follow", #"{"v":1,"type":"changes","lists":["contacts"]}"#)
        stage.wait(2)
        #expect(stage.screen.contains(" · no card"))
        #expect(stage.screen.contains("bob's card is not here, so nothing can be sent: ask"))
    }

    @Test func forwardSecrecyEndsWithTheSession() {
        for news in [
            ChatStage.message(2, body: #"{"type":"repair"}"#),
            ChatStage.message(2, from: alice, "sealed").replacing("ratchet", "sealed"),
        ] {
            var stage = ChatStage.withBob(columns: 80, [ChatStage.message(1, "hi")])
            stage.wait(2)
            #expect(stage.screen.contains("not verified · forward secrecy"))
            stage.answers["contact list"]?.lines = [
                ChatStage.contact(bob, "bob").replacing("ratchet", "sealed")
            ]
            stage.store(news)
            stage.wait(2)
            #expect(stage.screen.contains("no forward secrecy yet"))
        }
    }

    @Test func mailThatAnotherProgramReceivesIsNotPromised() {
        var stage = ChatStage.withBob(columns: 100, [ChatStage.message(1, "hi")])
        stage.say("recv --follow", "recv: error: another recv is running")
        stage.end("recv --follow", 75, 0)
        let words = "another recv receives the mail: a message is shown here when decrypt has"
        #expect(stage.screen.components(separatedBy: words).count == 3, "\(stage.screen)")
        stage.wait(11)
        #expect(stage.screen.components(separatedBy: words).count == 2)
    }

    // MARK: Commands

    @Test func aMemberIsNotInvitedAgain() {
        var stage = room(seesMe: true, [])
        stage.forgetCommands()
        stage.enter("/invite Bob")
        #expect(stage.screen.contains("bob is a member"))
        stage.press(.control("u"))
        stage.enter("/invite carol")
        #expect(stage.commands == ["group invite -- \(group) carol | encrypt -q"])
    }

    @Test func messagesThatAnotherProgramErasesAreShownNoMore() {
        for left in [[1, 3], [1, 2], []] as [[Int64]] {
            var stage = ChatStage.withBob(
                columns: 80, (1...3).map { ChatStage.message($0, "text \($0)") })
            stage.press(.tab)
            stage.answers["history page"] = (
                left.map { ChatStage.message($0, "text \($0)") }, left.isEmpty ? 1 : 0
            )
            stage.print("history --follow", #"{"v":1,"type":"changes","lists":["conversations"]}"#)
            stage.wait(2)
            for number in 1...3 as ClosedRange<Int64> {
                #expect(stage.screen.contains("text \(number)") == left.contains(number))
            }
            #expect((stage.state.conversation?.selection != nil) == left.contains(3))
        }
    }

    @Test func aSearchShowsTheTextThatWasFound() {
        var stage = ChatStage.withBob(columns: 80)
        let far = String(repeating: "before ", count: 20) + "the Lake at noon"
        stage.answers["history search"] = (
            [
                ChatStage.message(
                    1, body: #"{"type":"file","name":"my photo.png","text":"of\nthe lake"}"#),
                ChatStage.message(2, far), ChatStage.message(3, "lake"),
            ], 0
        )
        stage.enter("/search lake")
        #expect(stage.screen.contains("bob  my photo.png: the lake\n"), "\(stage.screen)")
        #expect(stage.screen.contains("bob  …before the Lake at noon\n"), "\(stage.screen)")
        #expect(stage.screen.contains("bob  lake\n"))
    }

    @Test func verifySaysWhatToDo() {
        var stage = ChatStage.withBob(columns: 90)
        stage.answers["contact show"] = (["id           05", "safety no.   12345 67890"], 0)
        stage.enter("/verify")
        #expect(stage.screen.contains("Read the safety number below out to the contact"))
        #expect(!stage.screen.contains("id  "))
        #expect(stage.screen.contains("If the contact sees the same number: /verify NUMBER"))
        stage.press(.escape)
        stage.enter("/verify 12345")
        stage.say("contact verify", "contact: error: not the number")
        stage.say(
            "contact verify",
            "contact: hint: use the number that sotto contact show prints on both sides")
        stage.end("contact verify", 64)
        #expect(stage.screen.contains("use the number that /verify shows on both sides"))
    }

    @Test func enterOnAnEmptyListSaysWhy() {
        var stage = ChatStage()
        stage.answers["history list"] = ([ChatStage.conversation(bob, "bob")], 0)
        stage.start()
        stage.wait()
        stage.enter("hi dave")
        #expect(stage.screen.contains("nothing in the list has this name or number"))
    }

    @Test func theSelectionEndsWithTheMessage() {
        var stage = ChatStage.withBob([ChatStage.message(1, from: alice, "late")])
        stage.press(.tab)
        stage.type("d")
        stage.press(.control("y"))
        #expect(stage.state.conversation?.selection == nil)
        stage.type("so")
        #expect(stage.state.editor.text == "so")
    }

    @Test func aForwardedLineSaysSo() {
        var stage = ChatStage(who: "bob", form: .lines)
        stage.answers["contact list"] = (
            [ChatStage.contact(bob, "bob"), ChatStage.contact(carol, "carol")], 0
        )
        stage.answers["compose text -- bob"] = (
            [#"{"v":1,"type":"message","to":"\#(bob)","body":{}}"#], 0
        )
        stage.start()
        for _ in 0..<3 { stage.wait() }
        stage.store(
            ChatStage.message(
                1,
                body:
                    #"{"type":"text","text":"news","forwarded":{"from":"\#(carol)"}}"#))
        let lines = stage.effects.compactMap { if case .print(let line) = $0 { line } else { nil } }
        #expect(lines.contains { $0.hasSuffix("bob  [forwarded from carol] news") }, "\(lines)")
    }
}
