import Sotto
import TestSupport
import Testing

/// What `recv | decrypt` showed on a terminal counts as read.
struct ShownMessageTests {
    let they: Conversing
    var alice: Party { they.alice }
    var bob: Party { they.bob }

    init() throws { they = try Conversing() }

    /// Writes texts to Bob in a file. Returns its name.
    private func sealed(_ texts: [String], _ name: String = "sealed") throws -> String {
        they.home.files.write(name, lines(try alice.write(texts, to: bob)))
        return name
    }

    /// Runs `decrypt` of Bob on a terminal.
    @discardableResult
    private func show(_ file: String, _ options: String...) throws -> Run {
        let run = try TerminalSession(
            bob.command("decrypt", options + [file]), columns: 80
        ).finish()
        #expect(run.status == 0, "\(run.text)")
        return run
    }

    /// The numbers of unread messages as Bob sees them.
    private func unread() throws -> String { try bob.run("history", ["unread", "--text"]).text }

    @Test func aTextOnATerminalIsRead() throws {
        let file = try sealed(["one", #"{"text":"two\nlines"}"#])
        // A pipe, a record and a preview show nothing to a person.
        #expect(try bob.run("decrypt", ["--preview", "--text", file]).status == 0)
        try show(file, "--preview")
        #expect(try bob.run("decrypt", ["--text", file]).status == 0)
        try show(file, "--json")
        #expect(try unread() == "alice  2\n")
        let run = try show(file)
        #expect(run.text.contains("one\n") && run.text.contains("  | lines\n"), "\(run.text)")
        #expect(try unread().isEmpty)
        #expect(try bob.run("history", ["unread"]).status == 1)
    }

    /// A mark covers all messages before it, so it does not pass one that was not shown.
    @Test func aMarkPassesNoMessageThatWasNotShown() throws {
        #expect(try bob.run("decrypt", [sealed(["one"], "first")]).status == 0)
        try show(sealed(["two"], "second"))
        #expect(try unread() == "alice  2\n")
        try show("first")
        #expect(try unread() == "alice  1\n")
        try show("second")
        #expect(try unread().isEmpty)
    }

    /// A text of many lines is cut on a terminal.
    @Test func aTextThatWasCutIsUnread() throws {
        let long = String(repeating: #"\n"#, count: 200) + "end"
        try show(sealed(["short", #"{"text":"\#(long)"}"#, "after"]))
        #expect(try unread() == "alice  2\n")
    }

    /// Each message gets one receipt, which a mark without it would lose.
    @Test func aReceiptIsNotLost() throws {
        #expect(try bob.run("contact", ["set", "alice", "receipts=on"]).status == 0)
        let file = try sealed(["one", "two"])
        let run = try show(file)
        let note =
            "decrypt: note: a receipt is due; to mark as read and send it: sotto history read alice --send\n"
        #expect(run.text.contains(note), "\(run.text)")
        #expect(try unread() == "alice  2\n")
        #expect(try !show(file, "-q").text.contains("receipt"))
        // With a file for receipts, these are in it.
        try show(file, "--receipts", "receipts")
        #expect(try unread().isEmpty)
        let receipts = try they.home.files.read("receipts").split(separator: 10).map {
            try JSON.object(parsing: Array($0))
        }
        let ids = try bob.history("alice").compactMap { $0["id"] }
        #expect(receipts.map { $0.body["status"] } == [.string("read")])
        #expect(receipts.map { $0.body["ids"] } == [.array(ids)] && ids.count == 2)
    }

    @Test func aMessageOfAGroupIsReadInItsConversation() throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        try circle.say("alice", "hello")
        circle.home.files.write("sealed", lines(circle.take("bob")))
        let run = try TerminalSession(circle["bob"].command("decrypt", ["sealed"])).finish()
        #expect(run.status == 0 && run.text.contains("hello"), "\(run.text)")
        #expect(try circle["bob"].run("history", ["unread"]).status == 1)
    }
}
