import Sotto
import Testing

@testable import SottoChat

/// An open conversation: what it shows.
struct ConversationScreens {
    private let alice = ChatStage.alice
    private let bob = ChatStage.bob

    private func reply(_ quoted: Int64, _ text: String, claims: String) -> String {
        #"{"type":"text","text":"\#(text)","reply":{"id":"\#(ChatStage.id(quoted))","from":"\#(bob)","text":"\#(claims)"}}"#
    }

    private var page: [String] {
        [
            ChatStage.message(1, "yesterday's message", minutes: -1_000),
            ChatStage.message(
                2, from: alice, "a message of the same side that is long enough for two rows",
                #""status":"read""#),
            ChatStage.message(
                3, "an answer", body: reply(2, "an answer", claims: "a message of the same side"),
                #""quotation":"same""#),
            ChatStage.message(
                4, "x", body: reply(2, "a lie", claims: "I owe you"), #""quotation":"different""#),
            ChatStage.message(
                5, from: alice, "changed\nto two lines",
                #""status":"delivered","edited":{"versions":2}"#),
            ChatStage.message(
                6, "nice",
                #""reactions":[{"from":"\#(alice)","emoji":"👍"},{"from":"\#(bob)","emoji":"❤️"}],"pinned":{"from":"\#(bob)"}"#
            ),
            ChatStage.message(
                7,
                body:
                    #"{"type":"file","name":"photo.jpg","contentType":"image/jpeg","size":345678,"width":1200,"height":800,"key":"x","text":"the view"}"#
            ),
            ChatStage.message(
                8,
                body:
                    #"{"type":"file","name":"a.ogg","contentType":"audio/ogg","size":9000,"duration":65,"voice":true,"key":"x"}"#
            ),
            ChatStage.message(9, from: alice, "first", #""status":"stored""#),
            ChatStage.message(10, from: alice, "second", #""status":"queued""#),
            ChatStage.message(11, from: alice, "third", #""status":"failed""#),
            #"{"v":1,"type":"message","number":12,"direction":"received","received":"\#(ChatStage.time(-48))","deleted":true}"#,
            ChatStage.message(13, body: #"{"type":"poll","question":["odd",1]}"#),
            ChatStage.message(
                14, "last", body: #"{"type":"text","text":"last","forwarded":{"from":"\#(alice)"}}"#
            ),
        ]
    }

    @Test func messagesWithTheirMarks() {
        for columns in [40, 80, 160] {
            var stage = ChatStage.withBob(columns: columns, rows: 40, page)
            stage.show("\(columns) columns")
            stage.compare("conversation-\(columns)")
        }
    }

    @Test func aReplyToAFileNamesIt() {
        let file =
            #"{"type":"file","name":"photo.jpg","contentType":"image/jpeg","size":9,"key":"x"}"#
        let answer =
            #"{"type":"text","text":"nice","reply":{"id":"\#(ChatStage.id(1))","from":"\#(bob)"}}"#
        let stage = ChatStage.withBob(
            columns: 80, rows: 8,
            [
                ChatStage.message(1, body: file),
                ChatStage.message(2, "nice", body: answer, #""quotation":"same""#),
            ])
        #expect(stage.screen.contains("┃ bob: photo.jpg"), "\(stage.screen)")
    }

    @Test func theHeaderTellsWhatHolds() {
        var stage = ChatStage.withBob(columns: 80, rows: 5, [ChatStage.message(1, "hi")])
        stage.show("a contact with a session")
        stage.answers["contact list"] = (
            [
                ChatStage.contact(bob, "bob", #""presence":true"#).replacing(
                    #""trusted""#, #""verified""#
                )
                .replacing("ratchet", "sealed")
            ], 0
        )
        stage.print(
            "recv",
            #"{"v":1,"type":"message","from":"\#(bob)","body":{"type":"presence","state":"online"}}"#,
            #"{"v":1,"type":"message","from":"\#(bob)","body":{"type":"typing","state":"started"}}"#
        )
        stage.store(
            ChatStage.message(2, from: alice, body: #"{"type":"system","event":"verified"}"#))
        stage.wait()
        stage.show("verified, online and typing")
        stage.say(
            "recv", "recv: note: cannot reach the relay tcp://r:1: connection refused; trying again"
        )
        stage.wait(16)
        stage.show("the relay is gone, and the typing has ended")
        stage.say("recv", "recv: note: reconnected to tcp://r:1")
        stage.wait(60)
        stage.show("the relay is back")
        stage.compare("header")
    }

    /// The contacts are read after the start.
    @Test func presenceIsToldWhenTheContactsAreKnown() {
        var stage = ChatStage()
        stage.answers["contact list"] = nil
        stage.start()
        stage.wait()
        stage.wait()
        stage.print("contact list", ChatStage.contact(bob, "bob", #""presence":true"#))
        stage.end("contact list", 0)
        stage.wait()
        let told = stage.commands.filter { $0.hasPrefix("compose presence \(bob)") }
        #expect(told.count == 1, "\(stage.commands)")
    }

    @Test func aSentMessageHasOneMarkThatChanges() {
        var stage = ChatStage.withBob(rows: 7, [ChatStage.message(1, "hi")])
        stage.forgetCommands()
        stage.enter("hello")
        stage.show("typed")
        stage.showCommands("compose makes the record")
        stage.make("compose text", 2)
        #expect(stage.sent == ChatStage.envelope(2) + "\n")
        let mine = ChatStage.message(2, from: alice, "hello", minutes: 0, #""status":"unsent""#)
        stage.store(mine)
        stage.show("stored here")
        stage.print("send", ChatStage.result(2, "stored"))
        stage.show("stored by the relay")
        stage.answers["history page"] = ([mine.replacing("unsent", "read")], 0)
        stage.store(ChatStage.message(3, body: #"{"type":"receipt","status":"read","ids":[]}"#))
        stage.wait()
        stage.show("read")
        stage.compare("marks")
    }

    @Test func whatWasOnTheScreenIsMarkedAsRead() {
        let page = (1...30).map {
            ChatStage.message($0, "message \($0)", $0 > 10 ? #""unread":true"# : "")
        }
        var stage = ChatStage.withBob(rows: 9, unread: 20, page)
        stage.show("the first unread messages")
        stage.answers["history list"] = ([ChatStage.conversation(bob, "bob", unread: 15)], 0)
        stage.wait()
        stage.showCommands("they are marked", only: "history read")
        stage.press(.pageDown)
        stage.wait()
        stage.show("the next ones")
        stage.showCommands("they are marked too", only: "history read")
        stage.answers["history list"] = ([ChatStage.conversation(bob, "bob", unread: 11)], 0)
        stage.press(.escape)
        stage.wait()
        stage.show("the end; what is between was not shown")
        stage.showCommands("nothing is marked", only: "history read")
        stage.compare("unread")
    }

    @Test func earlierPagesAreRead() {
        let page = (101...160).map { ChatStage.message($0, "message \($0)") }
        var stage = ChatStage.withBob(rows: 9, page)
        stage.answers["history page --before 101"] = (
            (41...100).map { ChatStage.message($0, "message \($0)") }, 0
        )
        stage.answers["history page --before 41"] = ([], 1)
        for _ in 0..<15 { stage.press(.pageUp) }
        stage.show("after fifteen pages")
        for _ in 0..<15 { stage.press(.pageUp) }
        stage.show("the beginning")
        stage.press(.pageDown)
        stage.show("a page down")
        stage.store(ChatStage.message(161, "new"))
        stage.show("a new message moves nothing")
        stage.press(.escape)
        stage.show("the end")
        stage.compare("pages")
    }

    @Test func aSelectedMessageOffersActions() {
        var stage = ChatStage.withBob(columns: 80, rows: 10, page)
        stage.press(.tab)
        stage.show("the newest is selected")
        stage.press(.up, .up, .up)
        stage.show("an own one")
        stage.forgetCommands()
        stage.press(.text("e"))
        stage.show("its text can be changed")
        stage.press(.end)
        stage.enter("!")
        stage.end("compose edit", 0)
        stage.press(.tab, .text("r"))
        stage.show("a reply")
        stage.enter("yes")
        stage.end("compose reply", 0)
        stage.press(.tab, .text("+"))
        stage.enter("🎉")
        stage.end("compose react", 0)
        stage.press(.tab, .text("p"))
        stage.end("compose pin", 0)
        stage.press(.tab, .up, .up, .up, .text("f"))
        stage.enter("carol")
        stage.end("compose forward", 0)
        stage.press(.tab, .text("i"))
        stage.print(
            "history show",
            ChatStage.message(
                14, "last", #""reactions":[{"from":"\#(ChatStage.bob)","emoji":"👍"}]"#))
        stage.end("history show", 0)
        stage.show("info")
        stage.press(.escape, .tab, .text("d"))
        stage.show("the message of bob is not deleted")
        stage.press(.up, .up, .up, .text("d"))
        stage.show("a deletion is asked")
        stage.press(.control("y"))
        stage.end("compose delete", 0)
        stage.showCommands("all commands")
        stage.compare("selection")
    }

    @Test func upEditsTheLastOwnMessage() {
        var stage = ChatStage.withBob(rows: 10, Array(page.prefix(5)))
        stage.press(.up)
        stage.show("the last own message")
        stage.press(.up)
        stage.press(.up)
        stage.show("Up again selects")
        stage.press(.escape)
        stage.show("and back")
        stage.compare("up")
    }

    /// An error does not hide what Enter does with the text.
    @Test func anErrorLeavesTheWordsOfTheMode() {
        var stage = ChatStage.withBob(rows: 10, Array(page.prefix(5)))
        stage.enter("/nosuch")
        stage.press(.control("u"), .up)
        stage.show("a change")
        stage.press(.control("u"), .escape, .tab)
        stage.show("Esc hides the error")
        stage.enter("/nosuch")
        stage.press(.control("u"), .tab, .text("r"))
        stage.show("a reply")
        stage.compare("error-and-mode")
    }

    /// Alt with a character that no key has is not Esc, nor the character.
    @Test func altWithACharacterDoesNothing() {
        var stage = ChatStage.withBob(rows: 8, [ChatStage.message(1, "hi")])
        stage.type("a draft")
        var decoder = KeyDecoder()
        for bytes in ["\u{1B}x", "\u{1B}ö", "\u{1B}日"] {
            for case .key(let key) in decoder.decode(bytes.utf8) { stage.press(key) }
            #expect(stage.state.conversation != nil && stage.state.editor.text == "a draft")
        }
        stage.press(.selectUp, .alt("d"))
        #expect(stage.state.questions.first == nil)
        #expect(stage.state.conversation?.selection == .message(1))
        stage.press(.escape, .control("u"))
        stage.enter("/help")
        stage.press(.alt("x"))
        #expect(stage.state.overlay != nil && stage.state.editor.isEmpty)
        // After the time limit of the decoder, Esc is a key of its own.
        for bytes in ["\u{1B}", "x"] {
            for case .key(let key) in decoder.decode(bytes.utf8) + decoder.flush() {
                stage.press(key)
            }
        }
        #expect(stage.state.overlay == nil && stage.state.editor.text == "x")
    }

    /// The screen removes the message at the end of its lifetime, without a key and without the history.
    @Test func anEndedMessageDisappearsByItself() {
        var stage = ChatStage.withBob(
            rows: 10,
            [
                ChatStage.message(1, "for an hour", more(expiresIn: 3_600)),
                ChatStage.message(2, "for a minute", more(expiresIn: 60)),
                ChatStage.message(3, "for ever"),
            ])
        stage.forgetCommands()
        stage.wait(57)
        #expect(stage.screen.contains("for a minute"))
        #expect(stage.state.nextWake == Timestamp(seconds: ChatStage.morning + 60))
        stage.wait(2)
        #expect(!stage.screen.contains("for a minute") && stage.screen.contains("[expired]"))
        #expect(stage.screen.contains("for an hour") && stage.screen.contains("for ever"))
        #expect(
            stage.state.conversation?.nextExpiry == Timestamp(seconds: ChatStage.morning + 3_600))
        #expect(stage.commands.filter { $0.hasPrefix("history page") } == [])
    }

    private func more(expiresIn seconds: Int64) -> String {
        #""expires":"\#(Timestamp(seconds: ChatStage.morning + seconds))""#
    }

    @Test func aPasteIsOneMessage() {
        var stage = ChatStage.withBob(rows: 12, [])
        stage.give(.paste("one\n/quit\nthree\n"))
        stage.show("the paste is in the line")
        stage.forgetCommands()
        stage.press(.enter)
        stage.showCommands("one message")
        stage.compare("paste")
    }

    @Test func aGroupShowsItsMembersAndChanges() {
        var stage = ChatStage(columns: 80, rows: 14)
        stage.answers["contact list"] = ([ChatStage.contact(bob, "bob")], 0)
        stage.answers["history list"] = ([ChatStage.conversation(ChatStage.group, "climbing")], 0)
        stage.answers["group list"] = (
            [ChatStage.groupRecord("climbing", visibility: "granted")], 0
        )
        stage.answers["group sync"] = ([], 1)
        stage.answers["group participants"] = (
            [
                #"{"v":1,"type":"participant","id":"\#(alice)","role":"owner","name":"me","me":true,"seesMe":true}"#,
                #"{"v":1,"type":"participant","id":"\#(bob)","role":"owner","nickname":"bobby","name":"bob","seesMe":true}"#,
                #"{"v":1,"type":"participant","id":"\#(ChatStage.carol)","role":"member","nickname":"caro","name":"05cacacacacacaca","seesMe":false}"#,
            ], 0
        )
        stage.answers["history page"] = (
            [
                ChatStage.message(
                    1, from: alice, "friday?", in: ChatStage.group,
                    #""status":"stored","details":{"group":{"name":"climbing"},"copies":2},"receipts":[{"from":"\#(bob)","status":"read"}]"#
                ),
                ChatStage.message(2, "yes", in: ChatStage.group),
                ChatStage.message(
                    4, from: alice, "at 6", minutes: -30, in: ChatStage.group,
                    #""status":"delivered","details":{"group":{"name":"climbing"},"copies":2},"receipts":[{"from":"\#(bob)","status":"read"},{"from":"\#(ChatStage.carol)","status":"delivered"}]"#
                ),
            ], 0
        )
        stage.start()
        stage.wait()
        stage.press(.enter)
        // The history has changes of the group among its messages.
        stage.answers["history page"]?.lines.append(
            #"{"v":1,"type":"change","group":"\#(ChatStage.group)","number":3,"time":"\#(ChatStage.time(0))","body":"#
                + #"{"type":"group","group":"\#(ChatStage.group)","events":[{"event":"joined","who":"\#(ChatStage.carol)","nickname":"caro"},{"event":"role","who":"\#(bob)","role":"moderator"},{"event":"left","who":"\#(ChatStage.carol)","nickname":"caro","by":"\#(bob)","byName":"bob"}]}}"#
        )
        stage.store(
            ChatStage.message(
                3, in: ChatStage.group,
                body: #"{"type":"group","group":"\#(ChatStage.group)","events":[]}"#))
        stage.wait()
        stage.show("a group")
        stage.forgetCommands()
        stage.press(.control("y"))
        stage.end("group grant", 0)
        stage.enter("/remove caro 05cacaca")
        stage.show("a removal is asked")
        stage.press(.control("y"))
        stage.end("group remove", 0)
        stage.enter("/leave")
        stage.show("leaving is asked")
        stage.press(.control("n"))
        stage.wait()
        stage.showCommands("commands")
        stage.compare("group")
    }
}

/// The unread messages before the loaded page.
struct UnreadTests {
    private func page(_ numbers: ClosedRange<Int64>, unreadFrom first: Int64) -> [String] {
        numbers.map {
            ChatStage.message(
                $0, "message \($0)", minutes: $0 - 2_000, $0 >= first ? #""unread":true"# : "")
        }
    }

    @Test func manyUnreadMessagesAreNotMarkedBeforeTheyAreShown() {
        var stage = ChatStage.with(StoredConversation(600, read: 44), named: true, rows: 9)
        stage.show("the first unread message is at the top")
        stage.wait()
        let marks = stage.commands.filter { $0.hasPrefix("history read") }
        #expect(marks == ["history read -q --json --upto 49 -- \(ChatStage.bob) | encrypt -q"])
        stage.compare("unread-many")
    }

    @Test func aJumpToTheEndMarksNothing() {
        var stage = ChatStage.withBob(rows: 9, unread: 9_000, page(5_001...5_060, unreadFrom: 1))
        stage.forgetCommands()
        stage.press(.escape)
        for _ in 0..<5 { stage.wait() }
        #expect(stage.screen.contains("message 5060"))
        #expect(!stage.commands.contains { $0.hasPrefix("history read") })
    }
}
