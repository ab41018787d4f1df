import Foundation
import Glibc
import TestSupport
import Testing

/// The programs of share/examples, which sotto-cookbook(7) explains.
@Suite(.needs(.bash, .curl, .git, .jq, .python)) struct ExampleTests {
    /// Each script plays an example as it should go, and the ways in which it fails: a relay that is down, an unknown person, a
    /// hostile name.
    @Test(arguments: try Examples.scripts().keys.sorted())
    func anExampleGoesAsWritten(_ name: String) throws {
        let text = try #require(try Examples.scripts()[name])
        let script = try TestScript(text)
        do throws(ScriptRun.Failure) {
            try ScriptRun(script).play()
        } catch {
            Issue.record("Tests/Scripts/examples/\(name).txt:\(error.line): \(error)")
        }
    }

    /// The examples that `make bench` plays, because they need another program.
    static let measured: Set = ["call.py"]

    @Test func eachExampleIsShortAndPlayed() throws {
        let scripts = try Examples.scripts()
        let bench = try Examples.bench()
        let names = try Examples.names()
        #expect(names.count >= 9)
        for name in names {
            let text = try Examples.text(name)
            #expect(
                text.split(separator: "\n", omittingEmptySubsequences: false).count <= 61, "\(name)"
            )
            #expect(access(Examples.path(name), X_OK) == 0, "\(name)")
            // The first comment is the program's name with its arguments.
            let line = try #require(text.split(separator: "\n").dropFirst().first)
            #expect(line.hasPrefix("# \(name)"), "\(name)")
            #expect(text.contains("Exit status: 0"), "\(name)")
            if Self.measured.contains(name) {
                #expect(bench.contains("share/examples/\(name)\""))
                continue
            }
            #expect(
                scripts.values.contains { $0.contains(" \(name) ") || $0.contains(" \(name)\n") },
                "\(name) is not played")
        }
    }

    /// The shell, or Python, that the first line names reads the whole program.
    @Test(arguments: try Examples.names()) func aShellReadsTheExample(_ name: String) throws {
        if name.hasSuffix(".py") {
            #expect(try Examples.text(name).hasPrefix("#!/usr/bin/env python3\n"))
            let check = "import ast, sys; ast.parse(open(sys.argv[1]).read())"
            let run = try Command(path: Peer.python.path, ["-c", check, Examples.path(name)]).run()
            #expect(run.status == 0 && run.stderr.isEmpty, "\(run.stderr)")
            return
        }
        let isBash = try Examples.text(name).hasPrefix("#!/usr/bin/env bash\n")
        #expect(try isBash || Examples.text(name).hasPrefix("#!/bin/sh\n"))
        let run = try Command(
            path: isBash ? Peer.bash.path : "/bin/sh", ["-n", Examples.path(name)]
        ).run()
        #expect(run.status == 0 && run.stderr.isEmpty, "\(run.stderr)")
    }

    /// mutt shows what `maildir` stored, a reply below its message, and pipes the decoded text of the selected one.
    @Test(.needs(.mutt)) func muttReadsTheMaildir() throws {
        let home = Home()
        for record in [
            #"{"number":1,"id":"a","from":"05aa","name":"zoë","received":"2026-11-28T08:57:34Z","body":{"type":"text","text":"grüß dich\nBcc: x"}}"#,
            #"{"number":2,"id":"b","from":"05bb","name":"yan","received":"2026-11-28T08:57:35Z","body":{"type":"text","text":"ja","reply":{"id":"a"}}}"#,
        ] {
            let run = try home.other(Examples.path("maildir"), ["My Mail"]).run(
                stdin: .whole(Array(record.utf8)))
            #expect(run.status == 0 && run.stderr.isEmpty, "\(run.stderr)")
        }
        var mutt = home.other(
            Peer.mutt.path,
            [
                "-n", "-F", "/dev/null", "-R", "-f", "My Mail", "-e",
                "set pipe_decode=yes wait_key=no sort=threads ascii_chars=yes", "-e",
                "push '<first-entry><pipe-message>cat > shown<enter><exit>'",
            ])
        mutt.environment["LC_ALL"] = "C.UTF-8"
        mutt.environment["TERM"] = "vt100"
        let session = try TerminalSession(mutt, columns: 80)
        let screen = try session.finish()
        #expect(screen.status == 0 && screen.text.contains("->ja"), "\(screen.text)")
        let shown = String(decoding: try home.files.read("shown"), as: UTF8.self)
        #expect(shown.contains("From: zoë <05aa@sotto.invalid>\n"), "\(shown)")
        #expect(shown.contains("\n\ngrüß dich\nBcc: x\n"), "\(shown)")
    }
}
