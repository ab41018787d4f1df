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

    /// A reader of Maildir folders finds the senders, the texts and the message that a reply is about.
    @Test(.needs(.python)) func aReaderOfMaildirFoldersReadsTheMessages() throws {
        let home = Home()
        for record in [
            #"{"number":1,"id":"a","from":"05aa","name":"zoë","received":"2026-11-28T08:57:34Z","body":{"type":"text","text":"grüß dich\nBcc: x"}}"#,
            #"{"number":2,"id":"b","from":"05bb","name":"yan","received":"2026-11-28T08:57:35Z","body":{"type":"text","text":"ja","reply":{"id":"a"}}}"#,
        ] {
            let run = try home.other(Examples.path("maildir"), ["My Mail"]).run(
                stdin: .whole(Array(record.utf8)))
            #expect(run.status == 0 && run.stderr.isEmpty, "\(run.stderr)")
        }
        let script = """
            import mailbox, email.header as header
            mails = sorted(mailbox.Maildir("My Mail", create=False), key=lambda mail: mail["Message-ID"])
            for mail in mails:
                print(str(header.make_header(header.decode_header(mail["From"]))), mail["In-Reply-To"], mail["Bcc"])
                print(mail.get_payload(decode=True).decode())
            """
        var reader = home.other(Peer.python.path, ["-c", script])
        reader.environment["PYTHONIOENCODING"] = "utf-8"
        let run = try reader.run()
        #expect(run.status == 0, "\(run.stderr)")
        #expect(run.text.contains("zoë <05aa@sotto.invalid> None None\n"), "\(run.text)")
        #expect(run.text.contains("grüß dich\nBcc: x\n"), "\(run.text)")
        #expect(run.text.contains("yan <05bb@sotto.invalid> <a@"), "\(run.text)")
    }
}
