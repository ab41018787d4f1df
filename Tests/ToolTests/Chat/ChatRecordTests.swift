import Foundation
import TestSupport
import Testing

/// `chat` with records that no honest program makes: its tools are scripts.
@Suite(.needs(.bash)) struct ChatRecordTests {
    private static let records = [
        #"{"type":"message","from":"05aa","body":{"type":"edit","target":{"from":"05aa"},"body":{"text":5}}}"#,
        #"{"type":"message","number":2,"from":"05aa","body":{"type":"text","text":5}}"#,
        #"{"type":"message","number":3,"from":"05bb","name":5,"body":{"type":"text","text":"x"}}"#,
        #"{"type":"message","from":"05aa","body":{"type":"typing"}}"#,
        #"{"type":"message","number":"x","body":5}"#,
        #"{"type":"message","body":{"type":"group","events":[5]}}"#,
        #"{"type":"message","number":-9223372036854775808,"from":"05aa","received":"0000","body":{"type":"text","text":"x"}}"#,
        #"[1,2]"#, "7", "no JSON", "{", "", "\u{0}\u{FFFF}",
    ]

    private func message(_ number: Int, _ text: String) -> String {
        """
        {"v":1,"type":"message","number":\(number),"id":"m\(number)","from":"05aa","name":"bob","direction":"received",\
        "received":"2026-11-26T08:00:00Z","time":"2026-11-26T08:00:00Z","place":"2026-11-26T08:00:00Z",\
        "body":{"type":"text","text":"\(text)"}}
        """
    }

    /// Runs `chat bob` with a page and news that a script prints.
    private func run(_ records: [String]) throws -> Run {
        let home = Home()
        home.files.write("records", Array((records.joined(separator: "\n") + "\n").utf8))
        let script = """
            #!/bin/bash
            case "${0##*/} $1 $2" in
                "keygen unlock --status") echo unprotected ;;
                "compose text --") echo '{"v":1,"type":"message","to":"05aa","body":{"type":"text","text":"-"}}' ;;
                "history page "*) cat '\(home.files("records"))' ;;
                "history --follow "*) cat '\(home.files("records"))'; exec sleep 1000 ;;
                "recv --follow "*) exec sleep 1000 ;;
                "decrypt -q "*) cat '\(home.files("records"))'; exec cat ;;
            esac
            """
        for tool in ["keygen", "compose", "history", "recv", "decrypt", "contact", "group"] {
            home.files.write(tool, Array(script.utf8), mode: 0o700)
        }
        // Another process copies the file: a descriptor of this one that writes it, in a child that another test starts, would
        // prevent its start.
        #expect(
            try Command(path: "/bin/cp", [Programs.path("chat"), home.files("chat")]).run().status
                == 0)
        var environment = home.environment
        environment["PATH"] = "/usr/bin:/bin"
        environment["LD_LIBRARY_PATH"] = Programs.directory
        let chat = try Pipeline([
            Command(
                path: home.files("chat"), ["bob"], environment: environment,
                directory: home.files.path)
        ])
        try chat.collect { String(decoding: $0, as: UTF8.self).contains("the last one") }
        return try chat.finish()[0]
    }

    /// No record ends the program: the message after them is shown.
    @Test func theNextMessageIsShown() throws {
        let run = try run(Self.records + [message(9, "the last one")])
        #expect(run.status == 0 && run.text.contains("bob  the last one"), "\(run.text)")
    }

    /// A line of many megabytes and a flood of messages need no memory that grows with them, and a text cannot begin a line of
    /// another sender.
    @Test func longLinesAndFloodsAreBounded() throws {
        let long = message(2, String(repeating: "long ", count: 1_000_000))
        let flood = (3...3000).map { message($0, "flood \($0)") }
        let forged = message(3001, "x\\n08:00 carol  forged\\u001b[2J\\u202e")
        let run = try run([long] + flood + [forged, message(3002, "the last one")])
        #expect(run.status == 0 && run.text.contains("bob  the last one"))
        #expect(!run.lines.contains { $0.hasPrefix("08:00 carol") })
        #expect(!run.text.contains("\u{1B}") && !run.text.contains("\u{202E}"))
    }
}
