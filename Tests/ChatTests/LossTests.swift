import SottoBytes
import Testing

@testable import SottoChat

/// No typed text is lost without a word, and none goes to another person than the one named.
struct LossTests {
    private let alice = ChatStage.alice
    private let bob = ChatStage.bob
    private let carol = ChatStage.carol

    private func stage(rows: Int = 12, columns: Int = 60) -> ChatStage {
        ChatStage.withBob(columns: columns, rows: rows, [ChatStage.message(1, "hi")])
    }

    private func resolved(_ id: String) -> String {
        #"{"v":1,"type":"message","to":"\#(id)","body":{}}"#
    }

    private func texts(_ stage: ChatStage) -> [String] {
        stage.commands.filter { $0.hasPrefix("compose text") }
    }

    // MARK: Opening

    @Test func aTextAfterOpenGoesToTheNamedPerson() {
        var stage = stage()
        stage.enter("/open carol")
        stage.forgetCommands()
        stage.enter("SECRET FOR CAROL")
        #expect(texts(stage) == [])
        #expect(stage.screen.contains("> SECRET FOR CAROL"))
        stage.print("compose text -- carol", resolved(carol))
        stage.end("compose text -- carol", 0)
        #expect(stage.screen.hasPrefix(" carol"))
        #expect(stage.screen.contains("> SECRET FOR CAROL"))
        stage.press(.enter)
        #expect(texts(stage) == ["compose text -- \(carol) | encrypt -q"])
        // Nothing is left for the conversation before.
        #expect(stage.state.drafts[.person(bob)] == nil)
    }

    @Test func aTextAfterOpenInTheListIsKept() {
        var stage = stage()
        stage.press(.escape)
        stage.enter("/open carol")
        stage.enter("1 hello")
        stage.print("compose text -- carol", resolved(carol))
        stage.end("compose text -- carol", 0)
        #expect(stage.screen.hasPrefix(" carol"))
        #expect(stage.screen.contains("> 1 hello"))
    }

    @Test func aNameThatIsNotKnownSendsNothing() {
        var stage = stage()
        stage.enter("/open e")
        stage.forgetCommands()
        stage.enter("SECRET")
        stage.say("compose text -- e", "compose: error: no contact has the name e")
        stage.end("compose text -- e", 66)
        #expect(texts(stage) == [])
        #expect(stage.screen.contains("> SECRET"))
        #expect(stage.screen.contains("no contact has the name e"))
    }

    @Test func linesAfterOpenGoToTheNamedPerson() {
        for isKnown in [true, false] {
            var stage = ChatStage(who: "bob", form: .lines)
            stage.start()
            stage.print("compose text -- bob", resolved(bob))
            stage.end("compose text -- bob", 0)
            stage.give(.entered("/open carol"), .entered("SECRET"), .inputEnded)
            stage.forgetCommands()
            if isKnown { stage.print("compose text -- carol", resolved(carol)) }
            stage.end("compose text -- carol", isKnown ? 0 : 66)
            // The records that a line can name are read first.
            for _ in 0..<3 { stage.wait() }
            #expect(texts(stage) == (isKnown ? ["compose text -- \(carol) | encrypt -q"] : []))
            #expect(stage.isEnded(66) == !isKnown)
        }
    }

    // MARK: Ends of programs

    @Test func aTextIsGivenBackWhenEncryptIsKilled() {
        var stage = stage()
        stage.enter("precious")
        stage.end("compose text", 0, 137)
        #expect(stage.screen.contains("encrypt ended with status 137"))
        #expect(stage.screen.contains("> precious"))
        // A text that is typed meanwhile stays, and that which was not sent too.
        stage.press(.enter)
        stage.type("more")
        stage.end("compose text", 0, 137)
        #expect(
            stage.screen.contains("me  precious\n      [not sent: encrypt ended with status 137]"))
        // The next message does not remove it.
        stage.press(.enter)
        stage.make("compose text", 2)
        stage.store(ChatStage.message(2, from: alice, "more", minutes: 1, #""status":"unsent""#))
        #expect(stage.screen.contains("me  precious\n      [not sent"))
        #expect(!stage.screen.contains("      me  more"))
    }

    @Test func envelopesWithoutAnAnswerAreSentAgain() {
        var stage = stage()
        for number in [2, 3, 4] as [Int64] {
            stage.enter("message \(number)")
            stage.make("compose text", number)
        }
        #expect(stage.sent == [2, 3, 4].map { ChatStage.envelope($0) + "\n" }.joined())
        stage.print("send", ChatStage.result(3, "stored"))
        stage.end("send", 137)
        #expect(stage.screen.contains("send starts again"))
        #expect(stage.screen.contains("send ended with status 137"))
        stage.wait(1)
        #expect(stage.sent == [2, 4].map { ChatStage.envelope($0) + "\n" }.joined())
        stage.print("send", ChatStage.result(2, "duplicate"), ChatStage.result(4, "stored"))
        #expect(!stage.screen.contains("send starts again"))
        // At the end nothing is left.
        stage.press(.control("d"))
        stage.end("send", 0)
        #expect(stage.isEnded(0))
    }

    @Test func theEndWaitsForASenderThatStartsAgain() {
        var stage = ChatStage(who: "bob", form: .lines)
        stage.start()
        stage.print("compose text -- bob", resolved(bob))
        stage.end("compose text -- bob", 0)
        stage.give(.entered("first"), .inputEnded)
        stage.make("compose text", 2)
        for _ in 0..<4 {
            #expect(stage.sent == ChatStage.envelope(2) + "\n")
            stage.end("send", 137)
        }
        #expect(stage.isEnded(1))
    }

    @Test func aFullPipeHoldsNothingBack() {
        var sender = Outgoing()
        for number in 0..<1_000 as Range<Int64> {
            let line = ChatStage.envelope(number).replacing(
                #""x""#, #""\#(String(repeating: "x", count: 4_000))""#)
            sender.add(
                Array(line.utf8),
                ["type": .string("envelope"), "id": .string(ChatStage.id(number))])
        }
        var (bytes, answered) = (sender.next().count, 0 as Int64)
        #expect(bytes < 300_000)
        while !sender.isEmpty {
            sender.answer(["id": .string(ChatStage.id(answered))])
            answered += 1
            bytes += sender.next().count
        }
        #expect(answered == 1_000 && bytes > 4_000_000)
    }

    /// A message of another window or another program is not taken for the own one.
    @Test func onlyItsIDSettlesAText() {
        var stage = stage()
        stage.enter("ok")
        stage.store(ChatStage.message(7, from: alice, "ok", minutes: 1, #""status":"unsent""#))
        #expect(stage.screen.contains("      me  ok …"))
        // The history can be faster than encrypt.
        stage.store(ChatStage.message(8, from: alice, "ok", minutes: 1, #""status":"unsent""#))
        stage.make("compose text", 8)
        #expect(!stage.screen.contains("      me  ok"))
    }

    @Test func anErrorRecordBelongsToItsText() {
        var stage = stage()
        stage.enter("first")
        stage.make("compose text", 2)
        stage.enter("second")
        stage.type("third")
        stage.print(
            "compose text", #"{"v":1,"type":"error","line":1,"status":65,"message":"too long"}"#)
        stage.end("compose text", 0, 65)
        #expect(stage.screen.contains("me  first …"))
        #expect(stage.screen.contains("me  second\n      [not sent: too long]"))
    }

    // MARK: The end

    @Test func aTextThatIsTypedAtTheEndStays() {
        var stage = stage()
        stage.enter("first")
        stage.press(.control("d"))
        stage.forgetCommands()
        stage.enter("late")
        #expect(stage.screen.contains("> late"))
        #expect(stage.screen.contains("not sent: the chat ends"))
        #expect(texts(stage) == [])
    }

    private func warnings(_ stage: ChatStage) -> [String] {
        stage.effects.compactMap { if case .warn(let line) = $0 { line } else { nil } }
    }

    @Test func whatWasNotSentIsPrintedAfterTheEnd() {
        var stage = stage()
        stage.give(.paste("one\n\n\u{202E}two"))
        stage.press(.escape, .down, .enter)
        #expect(stage.screen.hasPrefix(" carol"))
        stage.enter("failed")
        stage.type("x")
        stage.end("compose text", 65, 0)
        stage.give(.interrupted(15))
        #expect(stage.isEnded(143))
        let lines = stage.state.unsentLines
        #expect(
            lines.prefix(5) == [
                "sotto chat: not sent to carol:", "failed", "sotto chat: not sent to bob:", "one",
                "",
            ])
        #expect(lines.dropFirst(6) == ["sotto chat: not sent to carol:", "x"])
        #expect(lines[5].hasSuffix("two") && !lines[5].contains("\u{202E}"))
    }

    @Test func anEndAtOnceNamesTheTextsThatItStops() {
        var stage = stage()
        stage.enter("first")
        stage.enter("second")
        stage.press(.control("c"), .control("c"))
        #expect(stage.isEnded(130))
        #expect(
            stage.state.unsentLines == [
                "sotto chat: may not be sent to bob:", "first", "sotto chat: not sent to bob:",
                "second",
            ])
    }

    @Test func whatIsSentOrNotChangedIsNotPrinted() {
        var stage = ChatStage.withBob(rows: 12, [ChatStage.message(1, from: alice, "hi")])
        stage.enter("sent")
        stage.make("compose text", 2)
        stage.store(ChatStage.message(2, from: alice, "sent"))
        stage.press(.up)
        #expect(stage.screen.contains("> sent"))
        #expect(stage.state.unsentLines == [])
        stage.type("!")
        #expect(stage.state.unsentLines == ["sotto chat: not sent to bob:", "sent!"])
    }

    @Test func draftsArePrintedFromTheList() {
        var stage = stage()
        stage.type("to bob")
        stage.press(.escape, .down, .enter)
        stage.type("to carol")
        stage.press(.escape, .text("q"))
        #expect(stage.isEnded(0))
        #expect(
            stage.state.unsentLines == [
                "sotto chat: not sent to bob:", "to bob", "sotto chat: not sent to carol:",
                "to carol",
            ])
    }

    @Test func aFileThatIsBeingSentAtAnEndIsNamed() {
        var stage = stage()
        stage.enter("/file a.jpg with a text")
        stage.press(.control("c"), .control("c"))
        #expect(stage.isEnded(130))
        #expect(
            stage.state.unsentLines == [
                "sotto chat: may not be sent to bob:", "/file a.jpg with a text",
            ])
    }

    /// Without a screen, the words for an error have the beginning of a line, and the whole of a longer one comes at the end.
    @Test func linesThatWereNotSentArePrintedAfterTheEnd() {
        var stage = ChatStage(who: "bob", form: .lines)
        stage.start()
        stage.give(.entered("short"))
        #expect(stage.state.unsentLines == ["sotto chat: not sent to bob:", "short"])
        stage.print("compose text -- bob", resolved(bob))
        stage.end("compose text -- bob", 0)
        for _ in 0..<3 { stage.wait() }
        #expect(texts(stage) == ["compose text -- bob", "compose text -- \(bob) | encrypt -q"])
        let long = String(repeating: "long ", count: 20) + "end"
        stage.give(.entered(long), .entered("/usr/bin/foo crashed"))
        stage.say("compose text", "compose: error: no space left on device")
        stage.end("compose text", 74, 0)
        stage.end("compose text", 0, 137)
        #expect(warnings(stage).contains("sotto chat: not sent: “short”: no space left on device"))
        #expect(
            stage.state.unsentLines == [
                "sotto chat: not sent to bob:", long,
                "sotto chat: not sent to bob:", "/usr/bin/foo crashed",
            ])
    }

    /// A text for a contact that does not exist is not sent, and is printed.
    @Test func aTextForAnUnknownPersonIsPrinted() {
        var stage = ChatStage(who: "zoe")
        stage.start()
        stage.type("hello")
        stage.say("compose text", "compose: error: no contact has the name zoe")
        stage.end("compose text", 66)
        #expect(stage.isEnded(66))
        #expect(stage.state.unsentLines == ["sotto chat: not sent to zoe:", "hello"])
    }

    @Test func aFileThatIsNotSentAtTheEndIsTold() {
        var stage = stage()
        stage.enter("/file a.jpg")
        stage.press(.control("d"))
        stage.say("compose file", "compose: error: a.jpg: no such file or directory")
        stage.end("compose file", 66, 0)
        #expect(stage.isEnded(66) && !stage.isEnded(0))
        #expect(
            warnings(stage) == [
                "sotto chat: a.jpg: no such file or directory; quote a name with spaces"
            ])
    }

    /// What failed before the end was told on the screen.
    @Test func onlyAFailureAtTheEndGivesTheStatus() {
        var stage = stage()
        stage.enter("/file a.jpg")
        stage.end("compose file", 66, 0)
        stage.press(.control("u"), .control("d"))
        #expect(stage.isEnded(0))
    }

    @Test func aSignalGivesItsStatusAlsoAfterAFailure() {
        var stage = stage()
        stage.enter("/file a.jpg")
        stage.give(.interrupted(15))
        stage.end("compose file", 66, 0)
        #expect(stage.isEnded(143) && !stage.isEnded(66))
    }

    // MARK: The typed line

    @Test func aDraftStaysBehindAnEarlierLine() {
        var stage = stage()
        stage.enter("sent")
        stage.make("compose text", 2)
        stage.type("draft")
        stage.press(.up)
        #expect(stage.screen.contains("> sent"))
        stage.press(.escape, .enter)
        #expect(stage.screen.contains("> draft"))
        // The same if the earlier line is sent again.
        stage.press(.up, .enter)
        stage.type("y")
        stage.press(.up, .up)
        #expect(stage.screen.contains("> draft"))
    }

    @Test func anEditKeepsTheTypedLine() {
        var stage = ChatStage.withBob(rows: 12, [ChatStage.message(1, from: alice, "hi")])
        stage.type("draft")
        stage.press(.selectUp, .text("e"))
        #expect(stage.screen.contains("> draft"))
        #expect(stage.screen.contains("the line is not empty: Ctrl-U clears it"))
    }

    // MARK: Replies and edits

    @Test func aReplyWaitsAndIsGivenBack() {
        var stage = stage()
        stage.press(.tab, .text("r"))
        stage.enter("an answer")
        #expect(stage.screen.contains("      me  an answer …"))
        stage.say("compose reply", "compose: error: write to the state: no space left on device")
        stage.end("compose reply", 74, 0)
        #expect(stage.screen.contains("> an answer"))
        #expect(stage.screen.contains("write to the state"))
        #expect(stage.state.subject == .reply(1))
        stage.press(.enter)
        stage.make("compose reply", 2)
        stage.store(ChatStage.message(2, from: alice, "an answer", #""status":"unsent""#))
        #expect(!stage.screen.contains("      me  an answer"))
    }

    @Test func aReplyWhileLockedStaysAReply() {
        var stage = stage()
        stage.say("recv", "recv: error: the identity a.key is locked, and no terminal is available")
        stage.end("recv", 78, 0)
        for line in ["/reply an answer", "an answer"] {
            stage.forgetCommands()
            stage.enter(line)
            #expect(!stage.commands.contains { $0.hasPrefix("compose") })
            #expect(stage.state.lock != nil)
            stage.press(.escape)
            #expect(stage.screen.contains("> an answer"))
            #expect(stage.state.subject == .reply(1))
            stage.press(.control("u"))
        }
    }

    @Test func anEditIsGivenBack() {
        var stage = ChatStage.withBob(rows: 12, [ChatStage.message(1, from: alice, "hi")])
        stage.press(.up)
        stage.enter("!")
        stage.end("compose edit", 0, 137)
        #expect(stage.screen.contains("> hi!"))
        #expect(stage.state.subject == .edit(1))
        stage.press(.enter)
        stage.make("compose edit", 9)
        #expect(stage.state.pending.isEmpty)
    }

    @Test func aLongTextIsRecalled() {
        var stage = stage()
        let long = String(repeating: "long ", count: 10_000)
        stage.give(.paste(long))
        stage.press(.enter)
        stage.end("compose text", 0, 0)
        stage.type("x")
        stage.press(.up)
        #expect(stage.state.editor.text == long)
    }

    // MARK: Texts that were not sent

    @Test func aTextThatWasNotSentIsSelected() {
        var stage = stage(rows: 20)
        for text in ["first", "second"] {
            stage.enter(text)
            stage.type("x")
            stage.say("compose text", "compose: error: no space left on device")
            stage.end("compose text", 74, 0)
            stage.press(.control("u"))
        }
        stage.store(ChatStage.message(2, "newer", minutes: 1))
        #expect(
            stage.screen.contains(
                """
                      me  first
                      [not sent: no space left on device]
                      me  second
                      [not sent: no space left on device]
                09:31 bob  newer
                """))
        stage.press(.tab, .up, .text("d"))
        #expect(!stage.screen.contains("me  second"))
        stage.press(.tab, .up, .text("e"))
        #expect(!stage.screen.contains("me  first"))
        #expect(stage.screen.contains("> first"))
        stage.forgetCommands()
        stage.press(.enter)
        #expect(texts(stage) == ["compose text -- \(bob) | encrypt -q"])
    }

    @Test func manyTextsThatWereNotSentHideNoMessage() {
        var stage = stage(rows: 20, columns: 80)
        for _ in 0..<5 {
            stage.give(.paste(String(repeating: "long ", count: 8_000)))
            stage.press(.enter)
            stage.type("x")
            stage.end("compose text", 65, 0)
            stage.press(.control("u"))
        }
        stage.store(ChatStage.message(2, "newer", minutes: 1))
        #expect(stage.screen.contains("bob  newer"))
    }

    // MARK: Commands

    @Test func anUnknownCommandStaysInTheLine() {
        var stage = stage()
        stage.enter("/usr/bin/foo crashed")
        #expect(stage.screen.contains("> /usr/bin/foo crashed"))
        #expect(stage.screen.contains("begin a text with //"))
    }

    @Test(arguments: ["/usr/bin/foo crashed", "/reply #99999 hello", "/members"])
    func aLineThatIsNotDoneGivesAStatus(_ line: String) {
        var stage = ChatStage(who: "bob", form: .lines)
        stage.start()
        stage.print("compose text -- bob", resolved(bob))
        stage.end("compose text -- bob", 0)
        stage.give(.entered(line), .inputEnded)
        #expect(stage.isEnded(1))
    }

    /// Without a screen nothing can answer a question about an own command.
    @Test func aCommandThatAsksIsRefusedWithoutAScreen() {
        var stage = ChatStage(who: "bob", form: .lines)
        stage.start()
        stage.print("compose text -- bob", resolved(bob))
        stage.end("compose text -- bob", 0)
        stage.give(.entered("/block"), .inputEnded)
        #expect(stage.state.questions.first == nil && stage.isEnded(1))
    }

    @Test func aTextThatIsTooLongGivesTheStatusOfItsTool() {
        var stage = ChatStage(who: "bob", form: .lines)
        stage.start()
        stage.print("compose text -- bob", resolved(bob))
        stage.end("compose text -- bob", 0)
        stage.give(.entered(String(repeating: "x", count: 300_000)), .inputEnded)
        stage.say("compose text", "compose: error: the message is too long")
        stage.end("compose text", 65, 0)
        #expect(stage.isEnded(65))
    }
}

/// Questions are answered by chords alone, where they are asked.
struct ChordTests {
    private static let dave = "05" + String(repeating: "da", count: 32)
    private let other = String(repeating: "7c", count: 32)

    private func member(_ id: String, _ name: String, _ more: String) -> String {
        #"{"v":1,"type":"participant","id":"\#(id)","role":"member","nickname":"\#(name)","name":"\#(id.prefix(16))",\#(more)}"#
    }

    /// A stage with two groups; the first one is open and asks for a grant.
    private func groups() -> ChatStage {
        var stage = ChatStage(columns: 100, rows: 14)
        let group = ChatStage.groupRecord("climbing", visibility: "granted")
        stage.answers["group list"] = (
            [group, group.replacing(ChatStage.group, other).replacing("climbing", "work")], 0
        )
        stage.answers["history list"] = (
            [
                ChatStage.conversation(ChatStage.group, "climbing"),
                ChatStage.conversation(other, "work"),
            ], 0
        )
        stage.answers["group sync"] = ([], 1)
        stage.answers["group participants --json \(ChatStage.group)"] = (
            [
                member(ChatStage.alice, "alice", #""me":true,"seesMe":true"#),
                member(ChatStage.carol, "caro", #""seesMe":false"#),
            ], 0
        )
        stage.answers["group participants --json \(other)"] = (
            [member(ChatStage.alice, "alice", #""me":true,"seesMe":true"#)], 0
        )
        stage.start()
        stage.wait()
        stage.press(.enter)
        stage.wait()
        return stage
    }

    @Test func acceptAnswersNoOtherQuestion() {
        var stage = groups()
        #expect(stage.screen.contains("? show your messages in the group “climbing” to “caro"))
        stage.wait(2)
        stage.forgetCommands()
        stage.enter("/accept")
        #expect(stage.commands == [])
        #expect(stage.screen.contains("? show your messages in the group “climbing” to “caro"))
        stage.press(.control("u"))
        stage.enter("/leave")
        for line in ["/accept", "/accept yes"] {
            stage.enter(line)
            stage.press(.control("u"))
        }
        #expect(stage.commands == [])
        stage.press(.control("y"))
        #expect(stage.commands == ["group leave --yes \(ChatStage.group) | encrypt -q"])
    }

    @Test func acceptSetsTheNameAlone() {
        var stage = ChatStage(columns: 100, rows: 10)
        stage.answers["contact requests"] = (
            [#"{"v":1,"type":"requests","from":"\#(Self.dave)","count":2,"claimedName":"dave"}"#], 0
        )
        stage.start()
        stage.wait()
        stage.wait(2)
        stage.forgetCommands()
        stage.enter("/accept davy")
        #expect(stage.commands == [])
        #expect(stage.screen.contains("? “dave” (claimed), named “davy” here, 05da"))
        stage.wait(2)
        stage.press(.control("y"))
        #expect(
            stage.commands.contains("contact accept --name davy \(Self.dave) | decrypt -q"))
    }

    @Test func aQuestionOfAGroupIsNotAskedInAnother() {
        var stage = groups()
        stage.enter("/remove caro 05cacaca")
        #expect(stage.screen.contains("remove “caro 05cacaca” from the group “climbing”?"))
        stage.enter("/open work")
        stage.print(
            "compose text -- work", #"{"v":1,"type":"message","group":"\#(other)","body":{}}"#)
        stage.end("compose text -- work", 0)
        stage.wait(2)
        #expect(stage.screen.hasPrefix(" # work"))
        #expect(stage.state.questions.waiting.isEmpty)
        stage.forgetCommands()
        stage.press(.control("y"))
        #expect(!stage.commands.contains { $0.hasPrefix("group") })
    }
}

/// Only messages that the terminal has taken are marked as read.
struct SeenTests {
    private let bob = ChatStage.bob

    private func page(_ numbers: ClosedRange<Int64>, unreadFrom first: Int64) -> [String] {
        numbers.map {
            ChatStage.message(
                $0, "message \($0)", minutes: $0 - 2_000, $0 >= first ? #""unread":true"# : "")
        }
    }

    private func marks(_ stage: ChatStage) -> [String] {
        stage.commands.filter { $0.hasPrefix("history read") }
    }

    @Test func aTerminalThatTakesNothingMarksNothing() {
        var stage = ChatStage.withBob(rows: 20, [ChatStage.message(1, "hi")])
        stage.isPainted = false
        stage.store(ChatStage.message(2, "unseen"))
        for _ in 0..<5 { stage.wait() }
        stage.press(.text("x"))
        #expect(marks(stage) == [])
        stage.isPainted = true
        stage.wait()
        #expect(marks(stage) == ["history read -q --json --upto 2 -- \(bob) | encrypt -q"])
    }

    /// The number of unread messages is not known when the conversation opens, and an own message is between them.
    @Test func unreadMessagesBeforeAnOwnOneAreFound() {
        var stage = ChatStage(rows: 9, who: "bob")
        stage.answers["contact list"] = ([ChatStage.contact(bob, "bob")], 0)
        stage.answers["history list"] = (
            [
                ChatStage.conversation(bob, "bob", unread: 99)
                    .replacing(#""read":0"#, #""read":100"#)
            ], 0
        )
        stage.answers["compose text -- bob"] = (
            [#"{"v":1,"type":"message","to":"\#(bob)","body":{}}"#], 0
        )
        let own = ChatStage.message(141, from: ChatStage.alice, "own", minutes: 141 - 2_000)
        stage.answers["history page"] = ([own] + page(142...200, unreadFrom: 1), 0)
        stage.answers["history page --after 100 "] = (page(101...140, unreadFrom: 101) + [own], 0)
        stage.answers["history page --before 101 "] = (page(21...100, unreadFrom: 101), 0)
        stage.start()
        stage.wait()
        stage.wait()
        #expect(stage.screen.contains("── 99 unread ──"))
        #expect(stage.screen.contains("message 101"))
        #expect(marks(stage) == ["history read -q --json --upto 105 -- \(bob) | encrypt -q"])
    }

    /// A marking that runs does not end what is asked for meanwhile, and the end waits for all of it.
    @Test func whatIsMarkedBeforeTheEndIsMarked() {
        for leaves in [false, true] {
            let page = (1...30).map {
                ChatStage.message($0, "message \($0)", $0 > 10 ? #""unread":true"# : "")
            }
            var stage = ChatStage.withBob(rows: 9)
            stage.press(.escape)
            stage.answers["history page"] = (page, 0)
            stage.answers["history list"] = ([ChatStage.conversation(bob, "bob", unread: 20)], 0)
            stage.answers["history read"] = nil
            stage.wait()
            stage.press(.enter)
            #expect(marks(stage).count == 1)
            if leaves {
                // The next messages are seen, and the conversation is left at once.
                stage.press(.pageDown, .escape, .escape, .text("q"))
            } else {
                stage.enter("/read")
                stage.enter("/quit")
            }
            stage.end("history read", 0, 0)
            #expect(!stage.isEnded(0))
            let last = leaves ? 19 : 30
            #expect(
                marks(stage).last == "history read -q --json --upto \(last) -- \(bob) | encrypt -q")
            stage.end("history read", 0, 0)
            #expect(stage.isEnded(0), "\(leaves)")
        }
    }

    /// The end has a bound, and Ctrl-C is the way out before it.
    @Test func theEndDoesNotWaitForEver() {
        for key in [Key.control("c"), .left] {
            var stage = ChatStage.withBob(rows: 9, [ChatStage.message(1, "hi")])
            stage.answers["history read"] = nil
            stage.enter("/read")
            stage.enter("/quit")
            stage.press(key)
            #expect(stage.isEnded(130) == (key == .control("c")))
            for _ in 0..<61 where !stage.isEnded(130) { stage.wait() }
            #expect(stage.isEnded(130) || stage.isEnded(75))
        }
    }

    /// A marking that fails is told, and is not tried again and again.
    @Test func aMarkingThatFailsIsTold() {
        var stage = ChatStage.withBob(rows: 9, [ChatStage.message(1, "hi")])
        stage.answers["history read"] = nil
        stage.forgetCommands()
        stage.enter("/read")
        stage.say("history read", "history: error: the state is used by another process")
        stage.end("history read", 75, 0)
        for _ in 0..<3 { stage.wait() }
        #expect(stage.screen.contains("not marked as read: the state is used"), "\(stage.screen)")
        #expect(marks(stage).count == 1)
    }

    /// A typed text that waits takes rows of the screen.
    @Test func aMessageAboveTypedTextsIsNotSeen() {
        var stage = ChatStage.withBob(columns: 40, rows: 9, [ChatStage.message(1, "hi")])
        stage.isPainted = false
        stage.store(ChatStage.message(2, "unseen", minutes: -1))
        for _ in 0..<3 {
            stage.give(.paste(String(repeating: "long ", count: 40)))
            stage.press(.enter)
        }
        #expect(!stage.screen.contains("unseen"))
        stage.isPainted = true
        stage.wait()
        #expect(marks(stage) == [])
    }

    @Test func aLongMessageIsSeenAtItsLastRow() {
        let long = (1...38).map { "row \($0)" }.joined(separator: "\\n")
        let record = ChatStage.message(
            2, body: #"{"type":"text","text":"\#(long)"}"#, #""unread":true"#)
        var stage = ChatStage.withBob(rows: 19, unread: 1, [ChatStage.message(1, "hi"), record])
        #expect(stage.screen.contains("1 unread"))
        stage.press(.text("x"))
        stage.wait()
        #expect(marks(stage) == [])
        while !stage.screen.contains("row 38") { stage.press(.pageDown) }
        #expect(marks(stage) == ["history read -q --json --upto 2 -- \(bob) | encrypt -q"])
    }
}
