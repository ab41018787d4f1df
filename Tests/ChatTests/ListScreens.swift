import Testing

@testable import SottoChat

/// The list of conversations, requests and invitations.
struct ListScreens {
    private static let dave = "05" + String(repeating: "da", count: 32)

    private func stage(columns: Int = 80) -> ChatStage {
        var stage = ChatStage(columns: columns, rows: 12)
        stage.answers["contact list"] = (
            [
                ChatStage.contact(ChatStage.bob, "bob").replacing(#""trusted""#, #""verified""#),
                ChatStage.contact(ChatStage.carol, "carol"),
            ], 0
        )
        stage.answers["history list"] = (
            [
                ChatStage.conversation(ChatStage.bob, "bob", unread: 7, "see you at 8"),
                ChatStage.conversation(ChatStage.group, "climbing", "friday?"),
            ], 0
        )
        stage.answers["group list"] = (
            [
                // The owner calls it so.
                ChatStage.groupRecord(
                    "team", #""called":"climbing","standing":"member","rank":"owner""#),
                ChatStage.groupRecord(
                    "book club", #""standing":"invited","by":"\#(ChatStage.carol)""#
                )
                .replacing(ChatStage.group, String(repeating: "7c", count: 32)),
            ], 0
        )
        stage.answers["contact requests"] = (
            [
                #"{"v":1,"type":"requests","from":"\#(Self.dave)","count":2,"firstSeen":"2026-11-26T09:00:00Z","claimedName":"dave"}"#
            ], 0
        )
        stage.start()
        stage.wait()
        return stage
    }

    @Test func anEventIsTheLastLineInWords() {
        var stage = ChatStage(columns: 80, rows: 12)
        let message = #""body":{"type":"text","text":"see you at 8"}"#
        let event = #""body":{"type":"system","event":"verified"}"#
        stage.answers["history list"] = (
            [
                ChatStage.conversation(ChatStage.bob, "bob", "see you at 8")
                    .replacing(message, event).replacing("received", "sent")
            ], 0
        )
        stage.start()
        stage.wait()
        #expect(stage.screen.contains("[the key was verified]"), "\(stage.screen)")
        #expect(!stage.screen.contains("me:"), "\(stage.screen)")
    }

    @Test func aTimerIsTheLastLineInWords() {
        var stage = ChatStage(columns: 80, rows: 12)
        stage.answers["history list"] = (
            [
                ChatStage.conversation(ChatStage.bob, "bob", "x").replacing(
                    #""body":{"type":"text","text":"x"}"#,
                    #""body":{"type":"timer","seconds":604800}"#)
            ], 0
        )
        stage.start()
        stage.wait()
        #expect(stage.screen.contains("[messages end after 1w]"), "\(stage.screen)")
    }

    @Test func conversationsRequestsAndContacts() {
        var stage = stage()
        stage.show("80 columns")
        stage.give(.resized(columns: 40, rows: 12))
        stage.show("40 columns")
        stage.give(.resized(columns: 160, rows: 12))
        stage.show("160 columns")
        stage.give(.resized(columns: 80, rows: 12))
        stage.type("c")
        stage.show("typing filters")
        stage.press(.down)
        stage.show("the arrow keys choose")
        stage.press(.escape)
        stage.type("4")
        stage.show("a number opens")
        stage.compare("list")
    }

    /// Long names, wide characters and emoji leave the number of unread messages and the time in their columns.
    @Test func longNamesLeaveTheOtherColumns() {
        var stage = ChatStage(columns: 80, rows: 10)
        let names = [
            "Bartholomäus von und zu Musterhausen-Oberursel am Taunus",
            "東京都渋谷区の山岳会とその友人たち", "👩‍👩‍👧‍👦 family and 🏳️‍🌈 friends of the lake house",
            "x\u{301}\u{302} combining", String(repeating: "w", count: 128),
        ]
        stage.answers["history list"] = (
            names.enumerated().map { index, name in
                ChatStage.conversation(
                    "05" + String(repeating: "c\(index)", count: 32), name,
                    unread: [7, 1_234, 42, 999, 5][index], "the last words of the conversation")
            }, 0
        )
        stage.start()
        stage.wait()
        for columns in [80, 40, 160, 24] {
            stage.give(.resized(columns: columns, rows: 10))
            stage.show("\(columns) columns")
            let rows = stage.screen.split(separator: "\n").dropFirst().prefix(5)
            for (row, count) in zip(rows, ["7", "999+", "42", "999", "5"]) {
                #expect(row.contains(" \(count) 09:25"), "\(row)")
            }
        }
        stage.compare("list-long")
    }

    @Test func mailOfAllConversationsArrives() {
        var stage = stage()
        stage.answers["history list"] = (
            [
                ChatStage.conversation(ChatStage.group, "climbing", unread: 1, "at 6"),
                ChatStage.conversation(ChatStage.bob, "bob", unread: 7, "see you at 8"),
            ], 0
        )
        // The first record is from before the start.
        stage.store(ChatStage.message(1, "old"))
        stage.wait()
        stage.store(ChatStage.message(2, from: ChatStage.bob, "at 6", in: ChatStage.group))
        stage.wait()
        stage.show("a message of the group has come")
        let rings = stage.effects.filter { if case .ring = $0 { true } else { false } }
        #expect(rings.count == 1)
        let names = stage.effects.compactMap { effect -> String? in
            if case .notify(let name, let count) = effect { "\(name) \(count)" } else { nil }
        }
        #expect(names == ["climbing 1"])
        // The number is that of the list after the last message of several.
        for number in Int64(3)...5 {
            stage.store(ChatStage.message(number, from: ChatStage.bob, "at 7", in: ChatStage.group))
        }
        stage.answers["history list"] = (
            [ChatStage.conversation(ChatStage.group, "climbing", unread: 4, "at 7")], 0
        )
        stage.wait()
        let counts = stage.effects.compactMap { effect -> Int? in
            if case .notify(_, let count) = effect { count } else { nil }
        }
        #expect(counts == [1, 4])
        stage.compare("list-news")
    }

    @Test func questionsAreAnsweredByChords() {
        var stage = stage()
        stage.forgetCommands()
        stage.show("the first question")
        stage.press(.control("y"))
        stage.showCommands("Ctrl-Y accepts")
        stage.press(.control("y"))
        stage.show("the next question is new, so the key has no effect")
        stage.wait()
        stage.press(.control("n"))
        stage.showCommands("Ctrl-N declines")
        stage.compare("questions")
    }

    @Test func aQuestionIsPutOffAndAskedAgain() {
        var stage = stage()
        stage.wait()
        stage.press(.control("o"))
        stage.wait()
        stage.press(.control("o"))
        stage.show("no question is left")
        stage.enter("/questions")
        stage.show("both are asked again")
        stage.enter("yes")
        stage.show("a typed line is no answer")
        stage.compare("questions-later")
    }

    @Test func qLeaves() {
        var stage = stage()
        stage.press(.text("q"))
        #expect(stage.isEnded(0))
    }
}
