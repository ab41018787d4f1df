import Testing

@testable import SottoChat

/// Commands and completion.
struct CommandScreens {
    private let group = ChatStage.group

    @Test func everyCommandRunsItsTool() {
        var stage = ChatStage.withBob(
            rows: 10,
            [
                ChatStage.message(1, "one", #""pinned":{"from":"\#(ChatStage.bob)"}"#),
                ChatStage.message(2, from: ChatStage.alice, "two"),
                ChatStage.message(
                    3,
                    body: #"{"type":"file","name":"a.pdf","contentType":"x","size":10,"key":"x"}"#),
            ])
        stage.answers["compose"] = ([], 0)
        stage.answers["contact"] = ([], 0)
        stage.answers["history"] = ([], 0)
        stage.answers["recv -q"] = ([], 0)
        stage.answers["group"] = ([], 0)
        for line in [
            "/reply -3 yes", "/reply #1 yes", "/react 👍", "/react -2 👍", "/edit three", "/pin -1",
            "/unpin #1", "/pins",
            "/forward -1 carol", "/file 'my file.txt' with a text", "/file ~/a\\ b", "/save",
            "/save 3", "/search two words",
            "/info", "/info 2", "/read", "/timer 7d", "/receipts on", "/typing off", "/presence on",
            "/mute", "/unmute",
            "/verify", "/verify 12345 67890", "/rename bobby", "//slash",
        ] {
            stage.forgetCommands()
            stage.press(.escape)
            if stage.state.conversation == nil { stage.press(.enter) }
            stage.forgetCommands()
            stage.enter(line)
            stage.wait(0)
            stage.showCommands(line)
        }
        stage.compare("commands")
    }

    @Test func commandsThatAskOrMoveShowIt() {
        let page = (101...160).map {
            ChatStage.message(
                $0, from: $0 == 159 ? ChatStage.alice : ChatStage.bob, "message \($0)")
        }
        var stage = ChatStage.withBob(rows: 9, page, hasPassphrase: true)
        stage.answers["contact requests"] = (
            [
                #"{"v":1,"type":"requests","from":"\#(Self.dave)","count":2,"firstSeen":"2026-11-26T09:00:00Z","claimedName":"dave"}"#
            ], 0
        )
        stage.answers["compose text -- carol"] = (
            [#"{"v":1,"type":"message","to":"\#(ChatStage.carol)","body":{}}"#], 0
        )
        stage.answers["history page --limit 60 --json -- \(ChatStage.carol)"] = ([], 1)
        stage.answers["compose delete"] = ([], 0)
        stage.answers["contact"] = ([], 0)
        stage.forgetCommands()
        func run(_ line: String, _ keys: Key...) {
            stage.enter(line)
            stage.show(line)
            for key in keys {
                stage.press(key)
                stage.show("then Ctrl-\(key == .control("y") ? "Y" : "N")")
            }
            stage.wait()
            stage.showCommands("commands of \(line)")
        }
        run("/delete", .control("y"))
        run("/delete -2", .control("n"))
        stage.answers["history show --json -- 160"] = (
            [ChatStage.message(160, "message 160\u{1B}" + String(repeating: "x", count: 20_000))], 0
        )
        run("/copy -1")
        run("/older")
        run("/read")
        run("/block", .control("y"))
        stage.print("recv", #"{"v":1,"type":"request","from":"\#(Self.dave)"}"#)
        stage.wait(2)
        run("/block", .control("n"))
        run("/accept davy")
        stage.press(.control("y"))
        stage.show("Ctrl-Y accepts davy")
        stage.wait()
        stage.showCommands("commands of Ctrl-Y")
        run("/list")
        run("/open carol")
        run("/unlock")
        run("/lock")
        #expect(stage.commands.isEmpty && stage.state.locking == .always)
        stage.compare("commands-shown")
        let copied = stage.effects.compactMap { effect -> String? in
            if case .copy(let text) = effect { text } else { nil }
        }
        #expect(copied == ["message 160\u{1B}" + String(repeating: "x", count: 20_000)])
    }

    private static let dave = "05" + String(repeating: "da", count: 32)

    @Test func whatACommandLacksIsSaid() {
        var stage = ChatStage.withBob(rows: 6, [])
        for line in [
            "/nothing", "/members", "/file", "/reply -4 x", "/edit x", "/receipts maybe", "/timer",
            "/accept", "/delete",
        ] {
            stage.enter(line)
            stage.show(line)
            stage.press(.control("u"))
        }
        stage.compare("command-errors")
    }

    @Test func tabCompletes() {
        var stage = ChatStage.withBob(rows: 6, [])
        stage.type("/forw")
        stage.press(.tab)
        stage.type("ca")
        stage.press(.tab)
        stage.show("a command and a name")
        stage.press(.control("u"))
        stage.type("/re")
        stage.press(.tab)
        stage.show("several commands")
        stage.press(.control("u"))
        stage.type("/file ~/pic")
        stage.press(.tab)
        stage.give(.listed(folder: "~/", names: ["pictures/", "pick me.txt", "other", ".hidden"]))
        stage.show("several paths")
        stage.type("k")
        stage.press(.tab)
        stage.give(
            .listed(folder: "~/", names: ["pictures/", "pick me.txt", "other", "\u{1B}[2J"]))
        stage.show("a path with a space")
        stage.compare("completion")
    }

    /// A path in quotation marks gets the closing one, and a folder does not.
    @Test func tabCompletesAQuotedPath() {
        for mark in ["\"", "'"] {
            var stage = ChatStage.withBob(columns: 80, rows: 8, [])
            stage.type("/file \(mark)my ")
            stage.press(.tab)
            stage.give(.listed(folder: "", names: ["my pictures/", "other"]))
            stage.type("pi")
            stage.press(.tab)
            stage.give(.listed(folder: "my pictures/", names: ["pick me.txt", "x\(mark)y"]))
            let line = "/file \(mark)my pictures/pick me.txt\(mark)"
            #expect(stage.screen.contains(line), "\(stage.screen)")
        }
    }

    @Test func helpIsEnough() {
        var stage = ChatStage.withBob(columns: 80, rows: 70, [])
        stage.enter("/help")
        stage.show("help")
        stage.compare("help")
    }

    @Test func linesOfAPipeAreSent() {
        var stage = ChatStage(who: "bob", form: .lines)
        stage.answers["history page"] = ([ChatStage.message(1, "hi\nthere\u{1B}[2J")], 0)
        stage.start()
        stage.give(.entered("first"), .entered("second"), .inputEnded)
        stage.print(
            "compose text -- bob",
            #"{"v":1,"type":"message","to":"\#(ChatStage.bob)","body":{"type":"text","text":"-"}}"#)
        stage.end("compose text -- bob", 0)
        for number in [2, 3] as [Int64] { stage.make("compose text", number) }
        #expect(stage.sent.split(separator: "\n").count == 2)
        #expect(!stage.isEnded(0))
        let closed = stage.effects.contains { if case .closeInput = $0 { true } else { false } }
        #expect(closed)
        stage.end("send", 0)
        #expect(stage.isEnded(0))
        let lines = stage.effects.compactMap { if case .print(let line) = $0 { line } else { nil } }
        #expect(lines.contains("08:31 bob  hi") && lines.contains(#"      there\u{1b}[2J"#))
    }
}
