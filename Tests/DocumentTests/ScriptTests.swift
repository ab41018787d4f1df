import Foundation
import TestSupport
import Testing

/// The scripts of Tests/Scripts, and the sessions of the documents.
@Suite("Scripts", .needs(.bash, .jq)) struct ScriptTests {
    @Test(
        "go as written",
        arguments: try Repository.names(in: "Tests/Scripts").filter { $0.hasSuffix(".txt") })
    func scripts(_ name: String) throws {
        play(try TestScript(Repository.text("Tests/Scripts/\(name)")), name)
    }

    @Test("the session of README works as typed")
    func readmeSession() throws {
        let block = try #require(
            try Markdown("README.md").blocks("sh").first { $0.contains("relay --") })
        let session = try DocumentSession(readme: block)
        #expect(session.promises.count >= 2)
        play(TestScript(steps: session.steps), "README.md")
    }

    @Test("the session of sotto(7) works as typed, and prints what the page shows")
    func pageSession() throws {
        let session = try DocumentSession(
            page: try ManualPage("man/sotto.7").section("THE SESSION"))
        #expect(session.promises.count >= 8)
        play(TestScript(steps: session.steps), "man/sotto.7")
    }

    /// Plays a script. A failure is reported with its place in the script.
    private func play(_ script: TestScript, _ path: String) {
        do throws(ScriptRun.Failure) {
            try ScriptRun(script).play()
        } catch {
            Issue.record("\(path):\(error.line): \(error)")
        }
    }

    /// A script that goes otherwise than it says fails at that line.
    @Test(
        "fail where they should",
        arguments: [
            ("a$ false", "not status 0"), ("a$ exit 3", "the shell ended"),
            ("! a$ true", "it did not fail"), ("!3 a$ exit 3", "the shell ended"),
            ("!3 a$ (exit 4)", "not status 3"), ("a$ true | false | true", "not status 0"),
            ("a$ echo $UNSET", "the shell ended"),
            ("a$ echo one two\nstdout ^two", "not found"),
            ("a$ echo one two\n! stdout two$", "found"), ("a$ echo one\nstderr one", "not found"),
            ("a$ echo one\ncmp stdout a/two\n-- a/two --\ntwo", "they differ"),
            ("relay\nrelay", "the relay is running"), ("relay stop", "did not end cleanly"),
        ])
    func wrongScripts(_ text: String, _ reason: String) throws {
        let script = try TestScript(text)
        let error = #expect(throws: ScriptRun.Failure.self) { try ScriptRun(script).play() }
        #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
        #expect(error?.line == text.split(separator: "\n").prefix { !$0.hasPrefix("--") }.count)
    }

    @Test("keep the variables, the directory and the files of each person")
    func shells() throws {
        let script = try TestScript(
            """
            # The comment.
            a$ name=alice; mkdir deep; cd deep
            b$ name=bob
            a$ echo "$name in ${PWD##*/}" \\
              and 'more'
            stdout ^alice in deep and more$
            b$ cat file "$HOME/other"
            cmp stdout both
            -- b/file --
            one

            -- b/other --
            two
            -- both --
            one

            two

            """)
        try ScriptRun(script).play()
    }

    @Test(
        "are refused in another language", arguments: ["alice: true", "stdout [", "cmp a"])
    func syntaxErrors(_ line: String) {
        #expect(throws: TestScript.SyntaxError.self) { _ = try TestScript("\n" + line) }
    }
}
