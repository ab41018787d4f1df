import SottoBytes
import Testing

@testable import SottoChat

/// Records of other people that try to end, fool or flood the chat.
struct HostileTests {
    private let bob = ChatStage.bob

    @Test func longAndInvisibleTextsAreBounded() {
        let feeds = String(repeating: "\n", count: 32 << 10)
        let name = String(repeating: "n", count: 1 << 20)
        let evil =
            "\u{1B}[2J\u{1B}]0;x\u{7}\u{202E}gnp.exe\u{2066}\r\n09:00 alice  I owe you 100\u{200B}\u{85}\u{2028}end"
        var stage = ChatStage.withBob(
            rows: 30,
            [
                ChatStage.message(1, feeds),
                ChatStage.message(2, evil).replacing(
                    #""name":"bob""#, #""name":"bob\u000a09:00 carol""#),
                ChatStage.message(3, "x").replacing(#""name":"bob""#, #""name":"\#(name)""#),
                ChatStage.message(4, "e" + String(repeating: "\u{301}", count: 10_000)),
                ChatStage.message(5, "مرحبا שלום 漢字 👩‍👩‍👧 🇯🇵 ❤️ क्षि"),
            ])
        stage.show("the end")
        stage.press(.tab, .up, .up, .up, .up)
        stage.show("the line feeds")
        stage.compare("hostile-texts")
    }

    @Test func manyReactionsAreAFewRows() {
        var stage = ChatStage.withBob(rows: 10, [])
        let reactions = (0..<20_000).map {
            #"{"from":"05\#($0)","emoji":"\#($0 % 2 == 0 ? "👍" : "e\($0)")"}"#
        }
        stage.answers["history page"] = (
            [ChatStage.message(1, "x", #""reactions":[\#(reactions.joined(separator: ","))]"#)], 0
        )
        stage.store(ChatStage.message(1, "x"))
        stage.wait(2)
        stage.show("reactions")
        stage.compare("hostile-reactions")
    }

    /// One line of a tool has at most 1 MiB, so a million reactions are a record that is cut. It hides no message.
    @Test func aMillionReactionsHideNoMessage() {
        var stage = ChatStage.withBob(rows: 10, [ChatStage.message(1, "one")])
        let reactions = String(repeating: #"{"from":"05","emoji":"x"},"#, count: 1_000_000)
        let record = ChatStage.message(2, "x", #""reactions":[\#(reactions.dropLast())]"#)
        stage.answers["history page"] = (
            [
                ChatStage.message(1, "one"), String(record.utf8.prefix(1 << 20))!,
                ChatStage.message(3, "three"),
            ],
            0
        )
        stage.store(ChatStage.message(3, "three"))
        stage.wait(2)
        stage.show("the message and the others are shown")
        stage.compare("hostile-million")
    }

    /// A page that is too much to keep loses its earliest messages, not its newest.
    @Test func aPageThatIsTooLongHasItsNewestMessages() {
        let long = String(repeating: "x", count: 900_000)
        let page = (1...12).map { ChatStage.message($0, "\($0) \(long)") }
        let stage = ChatStage.withBob(page)
        #expect(stage.state.conversation?.messages.map(\.number) == Array(4...12))
        #expect(stage.state.conversation?.isComplete == false)
    }

    @Test func longNamesAreCutEverywhere() {
        let name = String(repeating: "n", count: 1 << 20)
        var stage = ChatStage(columns: 60, rows: 12)
        stage.answers["contact list"] = (
            [ChatStage.contact(bob, name), ChatStage.contact(ChatStage.carol, "carol")], 0
        )
        stage.answers["history list"] = ([ChatStage.conversation(bob, name, name)], 0)
        stage.answers["contact requests"] = (
            [
                #"{"v":1,"type":"requests","from":"05dd","count":1,"firstSeen":"2026-11-26T09:00:00Z","claimedName":"\#(name)"}"#
            ], 0
        )
        stage.answers["group list"] = (
            [
                ChatStage.groupRecord(name),
                ChatStage.groupRecord(name, #""standing":"invited","by":"\#(bob)""#)
                    .replacing(ChatStage.group, String(repeating: "7c", count: 32)),
            ], 0
        )
        stage.answers["group participants"] = (
            [
                #"{"v":1,"type":"participant","id":"\#(bob)","role":"member","nickname":"\#(name)","name":"\#(name)","seesMe":true}"#
            ], 0
        )
        stage.start()
        stage.wait()
        stage.show("the list")
        stage.type("3")
        stage.show("a conversation")
        stage.press(.escape)
        stage.wait()
        stage.type("4")
        stage.wait()
        stage.answers["history page"] = (
            [
                #"{"v":1,"type":"change","group":"\#(ChatStage.group)","number":5,"time":"\#(ChatStage.time(-55))","body":{"type":"group","group":"\#(ChatStage.group)","events":[{"event":"renamed","name":"\#(name)","by":"\#(bob)","byName":"\#(name)"}]}}"#
            ], 0
        )
        stage.store(
            ChatStage.message(
                5, in: ChatStage.group,
                body: #"{"type":"group","group":"\#(ChatStage.group)","events":[]}"#))
        for _ in 0..<2 { stage.wait() }
        stage.show("a group")
        stage.compare("hostile-names")
    }

    @Test func aNumberThatComesAgainReplacesOnlyItself() {
        var stage = ChatStage.withBob(
            rows: 8, [ChatStage.message(1, "one"), ChatStage.message(2, "two")])
        stage.store(ChatStage.message(2, "other"))
        stage.store(
            #"{"v":1,"type":"message","id":"\#(ChatStage.id(1))","from":"\#(bob)","to":"x","number":7,"direction":"received","received":"\#(ChatStage.time(0))","body":{"type":"text","text":"the id of one"}}"#
        )
        stage.wait()
        stage.show("the page decides")
        stage.compare("hostile-ids")
    }

    @Test func aFloodGrowsNothingWithoutBound() {
        var stage = ChatStage.withBob(rows: 10, [])
        stage.type("typing ")
        for number in 1...10_000 as ClosedRange<Int64> {
            stage.store(ChatStage.message(number, "flood \(number)", minutes: 0))
            guard number.isMultiple(of: 1_000) else { continue }
            stage.type("x")
            // Each key is on the screen at once.
            let count = Int(number / 1_000)
            #expect(
                stage.screen.contains("> typing " + String(repeating: "x", count: count) + "\n"))
        }
        let open = stage.state.conversation
        #expect((open?.entries.count ?? 0) <= Conversation.entryLimit)
        #expect(open?.messages.last?.number == 10_000)
        #expect(stage.state.editor.text == "typing xxxxxxxxxx")
        // Reading again is bounded, although each record asks for it.
        #expect(stage.commands.count { $0.hasPrefix("history page") } < 5)
        let large = String(repeating: "y", count: 8_000)
        for number in 10_001...11_000 as ClosedRange<Int64> {
            stage.store(ChatStage.message(number, large, minutes: 1))
        }
        let kept = stage.state.conversation?.messages.reduce(0) { $0 + $1.weight } ?? 0
        #expect(kept <= Conversation.weightLimit)
    }

    @Test func aTypedYIsNoGrant() {
        var stage = ChatStage(columns: 80, rows: 8)
        stage.answers["contact requests"] = (
            [
                #"{"v":1,"type":"requests","from":"\#(bob)","count":1,"firstSeen":"2026-11-26T09:00:00Z","claimedName":"alice"}"#
            ], 0
        )
        stage.start()
        stage.wait()
        stage.forgetCommands()
        stage.enter("y")
        stage.enter("yes")
        #expect(!stage.commands.contains { $0.hasPrefix("contact accept") })
    }

    @Test func randomRecordsAndKeysKeepTheScreen() {
        for seed in 1...60 as ClosedRange<UInt64> { Self.attack(seed) }
    }

    private static let words = [
        "type", "body", "message", "text", "file", "name", "from", "to", "group", "events", "event",
        "who", "number",
        "direction", "received", "time", "reactions", "emoji", "reply", "id", "details", "status",
        "unread", "pinned",
        "conversation", "contact-entry", "participant", "requests", "result", "error", "standing",
        "member", "invited",
        "question", "typing", "state", "started", "presence", "online", "nickname", "last", "with",
        "key", "deleted",
    ]

    private static func value(_ generator: inout TestGenerator, depth: Int) -> JSON {
        switch Int.random(in: 0...(depth > 0 ? 9 : 7), using: &generator) {
        case 0: .null
        case 1: .bool(.random(using: &generator))
        case 2: .integer([0, 1, -1, 7, .max, .min, 5_000_000].randomElement(using: &generator)!)
        case 3: .number(1e300)
        case 4:
            .string(
                [
                    "", "\u{1B}[31m", "a\nb", String(repeating: "漢", count: 3_000), "\u{202E}x",
                    "👩‍👩‍👧\u{200D}", ChatStage.bob,
                    ChatStage.group, ChatStage.alice, ChatStage.time(0), "9999-12-31T23:59:59Z",
                    "0000-01-01T00:00:00Z",
                ].randomElement(using: &generator)!)
        case 5, 6, 7: .string(words.randomElement(using: &generator)!)
        case 8:
            .array(
                (0..<Int.random(in: 0...4, using: &generator)).map { _ in
                    value(&generator, depth: depth - 1)
                })
        default: .object(object(&generator, depth: depth - 1))
        }
    }

    private static func object(_ generator: inout TestGenerator, depth: Int) -> JSONObject {
        var object = JSONObject([])
        for _ in 0..<Int.random(in: 0...8, using: &generator) {
            object[words.randomElement(using: &generator)!] = value(&generator, depth: depth)
        }
        return object
    }

    /// A record that is right at first, with some members replaced.
    private static func record(_ generator: inout TestGenerator) -> [UInt8] {
        let samples = [
            ChatStage.message(.random(in: 1...50, using: &generator), "text"),
            ChatStage.message(
                3, body: #"{"type":"file","name":"x","contentType":"y","size":1,"key":"k"}"#),
            ChatStage.message(
                4, in: ChatStage.group,
                body:
                    #"{"type":"group","group":"\#(ChatStage.group)","events":[{"event":"joined","who":"x"}]}"#
            ),
            #"{"v":1,"type":"change","group":"\#(ChatStage.group)","number":7,"time":"\#(ChatStage.time(0))","body":{"type":"group","events":[{"event":"joined","who":"x"}]}}"#,
            #"{"v":1,"type":"queued","id":"x","to":"y"}"#,
            ChatStage.contact(ChatStage.bob, "bob"),
            ChatStage.conversation(ChatStage.bob, "bob", unread: 3),
            ChatStage.groupRecord("g"),
            ChatStage.groupRecord("g", #""standing":"invited","by":"x""#, visibility: "granted"),
            #"{"type":"requests","from":"05dd","count":4,"claimedName":"eve"}"#,
            #"{"type":"participant","id":"05dd","role":"member","name":"x","seesMe":false}"#,
            #"{"type":"result","id":"\#(ChatStage.id(3))","status":"stored"}"#,
            #"{"type":"message","from":"05dd","body":{"type":"typing","state":"started"}}"#,
        ]
        let bytes = Array(samples.randomElement(using: &generator)!.utf8)
        guard var record = try? JSON.object(parsing: bytes) else { return bytes }
        for _ in 0..<Int.random(in: 0...3, using: &generator) {
            if let member = record.members.randomElement(using: &generator),
                Bool.random(using: &generator)
            {
                record[member.name] = value(&generator, depth: 4)
            } else if var body = record["body"]?.object {
                let names = body.members.map(\.name) + ["reply", "duration", "width", "text"]
                body[names.randomElement(using: &generator)!] = value(&generator, depth: 4)
                record["body"] = .object(body)
            }
        }
        var out = record.serialized()
        if Int.random(in: 0...30, using: &generator) == 0, !out.isEmpty {
            out[Int.random(in: 0..<out.count, using: &generator)] = .random(
                in: 0...255, using: &generator)
        }
        return out
    }

    private static func attack(_ seed: UInt64) {
        var generator = TestGenerator(seed)
        var stage = ChatStage(columns: 60, rows: 16)
        stage.answers = ["keygen unlock --status": (["no passphrase"], 0)]
        stage.start()
        let keys: [Key] = [
            .enter, .lineBreak, .tab, .backTab, .backspace, .delete, .escape, .up, .down, .left,
            .right, .selectUp, .selectDown,
            .wordLeft, .wordRight, .home, .end, .pageUp, .pageDown, .control("y"), .control("n"),
            .control("o"), .control("w"),
            .control("u"), .control("k"), .alt("1"), .unknown, .text("a"), .text("1"), .text("r"),
            .text("e"), .text("d"), .text("/"),
            .text("help "), .text("👩‍👩‍👧"), .text("\u{301}"), .text("f"), .text("+"), .text("p"),
            .text("s"), .text("i"),
        ]
        for _ in 0..<150 {
            switch Int.random(in: 0...9, using: &generator) {
            case 0...2: stage.press(keys.randomElement(using: &generator)!)
            case 3:
                stage.give(
                    .resized(
                        columns: .random(in: 0...90, using: &generator),
                        rows: .random(in: 0...30, using: &generator)))
            case 4: stage.wait(.random(in: 0...20, using: &generator))
            case 5: stage.give(.paste("a\nb\u{202E}"))
            default:
                guard let pipeline = stage.running.randomElement(using: &generator) else {
                    continue
                }
                for _ in 0..<Int.random(in: 1...5, using: &generator) {
                    stage.give(.printed(pipeline.id, line: record(&generator)))
                }
                if Bool.random(using: &generator) {
                    stage.give(.said(pipeline.id, stage: 0, line: "recv: error: \u{1B}[2J\u{202E}"))
                    stage.finish(pipeline, Int32.random(in: 0...3, using: &generator))
                }
            }
            stage.check()
        }
    }
}
