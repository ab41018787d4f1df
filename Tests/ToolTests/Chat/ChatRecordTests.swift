import Foundation
import TestSupport
import Testing

/// `sotto chat` with records that no honest program makes.
struct ChatRecordTests {
    private static let records = [
        #"{"type":"message","from":"05aa","body":{"type":"edit","target":{"from":"05aa"},"body":{"text":5}}}"#,
        #"{"type":"message","from":"05aa","body":{"type":"text","text":5}}"#,
        #"{"type":"message","from":"05bb","name":5,"body":{"type":"text","text":"x"}}"#,
        #"{"type":"message","from":"05aa","body":{"type":"typing"}}"#,
        #"{"type":"message","body":5}"#,
        #"{"type":"message","body":{"type":"group","events":[5]}}"#,
        #"[1,2]"#, "7", "no JSON", "{",
    ]

    /// No record ends the thread that receives: the message after them is shown.
    @Test func theNextMessageIsShown() throws {
        let home = Home()
        let last =
            #"{"type":"message","from":"05bb","name":"carol","body":{"type":"text","text":"x"}}"#
        home.files.write(
            "records", Array((Self.records + [last]).joined(separator: "\n").utf8 + [10]))
        let program = """
            #!/bin/bash
            case "$1 $2" in
                "compose text") echo '{"to":"05aa"}' ;;
                "contact show") echo '{"id":"05aa"}' ;;
                "recv --follow") exec tail -f /dev/null ;;
                "decrypt -q") cat '\(home.files("records"))'; exec cat ;;
            esac
            """
        home.files.write("sotto", Array(program.utf8), mode: 0o700)
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let chat = try Pipeline([
            home.other(
                Peer.python.path,
                [
                    root.appendingPathComponent("share/chat/sotto-chat").path, home.files("sotto"),
                    "bob",
                ])
        ])
        try chat.collect {
            String(decoding: $0, as: UTF8.self).contains("[carol wrote: sotto chat carol]")
        }
        let run = try chat.finish()[0]
        #expect(run.text.contains("[carol wrote: sotto chat carol]"), "\(run.text) \(run.stderr)")
        #expect(run.text.contains("a record cannot be shown") && run.status == 0, "\(run.stderr)")
    }
}
