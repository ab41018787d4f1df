import Sotto
import TestSupport
import Testing

/// Tests of `decrypt --text` (separated texts, attachments, failures) and `decrypt --again`.
struct DecryptedTextTests {
    let two: Couple
    var alice: Party { two.alice }
    var bob: Party { two.bob }
    let first: [String]

    init() throws {
        two = try Couple()
        #expect(try two.bob.run("contact", ["add", two.alice.card]).status == 0)
        first = try two.alice.write(["one", "two", "three"], to: two.bob)
    }

    private func seal(_ text: String) throws -> String {
        let run = try alice.encrypt(text, to: bob)
        #expect(run.status == 0, "\(run.stderr)")
        return run.lines[0]
    }

    // MARK: Texts

    @Test func nullEndsEachTextWithAZeroByte() throws {
        let texts = ["a\n\nb", "c", "nul\0nul"]
        let run = try bob.read(texts.map(seal), "--text", "-0", "-q")
        #expect(run.text == "a\n\nb\0c\0nul\u{FFFD}nul\0")
        // Without the option, a text in a pipe is unchanged.
        #expect(try bob.read(texts.map(seal), "--text", "-q").text == "a\n\nb\nc\nnul\0nul\n")
    }

    @Test func timeAndNamePrecedeATextAndTabsItsFurtherLines() throws {
        let line = try seal("dinner\nat 8\n2026-01-01T00:00:00Z\tbob\tno")
        let time = try #require(JSON.object(parsing: Array(line.utf8))["time"]?.string)
        let run = try bob.read([line] + first, "--text", "--time", "-q")
        #expect(
            run.text.hasPrefix(
                "\(time)\talice\tdinner\n\t\tat 8\n\t\t2026-01-01T00:00:00Z\tbob\tno\n"))
        #expect(run.lines.count == 6 && run.lines[5].hasSuffix("Z\talice\tthree"))
    }

    @Test(arguments: [["--time"], ["-0"], ["--since", "1"], ["--again", "--stateless"]])
    func optionsWithMissingPartnersAreRefused(_ arguments: [String]) throws {
        #expect(try bob.run("decrypt", arguments).status == 64)
    }

    @Test func aFailureIsReportedImmediatelyInAPipe() throws {
        let pipeline = try Pipeline([bob.command("decrypt", ["--text"])])
        try pipeline.feed(.whole(lines([first[0]])))
        try pipeline.collect { $0 == Array("one\n".utf8) }
        try pipeline.feed(.whole(lines(["{\"type\":\"nothing\"}"])))
        try pipeline.collectErrors { $0.contains("decrypt: error: line 2: ") }
        try pipeline.feed(.whole(lines([first[1]])))
        try pipeline.collect { $0 == Array("one\ntwo\n".utf8) }
        let run = try pipeline.finish()[0]
        #expect(run.status == 15)
        let errors = run.stderr.split(separator: "\n").filter { $0.contains("error:") }
        #expect(errors.count == 1, "\(run.stderr)")
    }

    /// The error of a stage comes to the next one as a record. It is printed once, and both have its status.
    @Test func anErrorIsPrintedByOneStage() throws {
        let pipeline = try Pipeline([
            two.alice.command("encrypt", ["--to", bob.card, "--jsonl"]), bob.command("decrypt", []),
        ])
        try pipeline.feed(.whole(lines(["{}"])))
        let runs = try pipeline.finish()
        #expect(runs[0].stderr.contains("encrypt: error: line 1: "), "\(runs[0].stderr)")
        #expect(!runs[1].stderr.contains("error:"), "\(runs[1].stderr)")
        #expect(runs.map(\.status) == [65, 65])
        #expect(runs[1].text.contains(#""type":"error""#))
    }

    @Test func manyFailuresAreSummarized() throws {
        let run = try bob.read(Array(repeating: "{}", count: 500), "--text")
        #expect(run.status == 65 && run.stderr.contains(" more\n"))
        #expect(run.stderr.split(separator: "\n").count < 100)
    }

    // MARK: Attachments

    @Test func anAttachmentLineShowsTheCommandToSaveIt() throws {
        let file = randomBytes(10_000)
        two.home.files.write("plan \u{1B}[2J\nb.pdf", file)
        let sent = try alice.run(
            "encrypt",
            ["--to", bob.card, "-q", "--attach", "plan \u{1B}[2J\nb.pdf", "--blob", "plan.blob"],
            stdin: Array("the plan".utf8))
        #expect(sent.status == 0, "\(sent.stderr)")
        let run = try bob.read(first + sent.lines, "--text", "-q")
        #expect(run.status == 0 && run.lines.count == 5)
        #expect(run.lines[3] == "the plan")
        let line = run.lines[4]
        #expect(line.hasPrefix("[file plan \u{FFFD}[2J\u{FFFD}b.pdf, 10000 bytes; to save it: "))
        // The command in the line uses the recipient's own file names.
        let command = try #require(line.split(separator: ":").last?.dropLast())
        let words = command.split(separator: " ").map(String.init)
        #expect(words == ["sotto", "decrypt", "--attachment", "4", "-o", "FILE", "BLOB"])
        for _ in 0..<2 {
            let saved = try bob.run("decrypt", Array(words[2...4]) + ["got", "plan.blob"])
            #expect(saved.status == 0, "\(saved.stderr)")
            #expect(try two.home.files.read("got") == file)
        }
        let none = try bob.run("decrypt", ["--attachment", "1", "plan.blob"])
        #expect(none.status == 66 && none.stdout.isEmpty && none.stderr.contains("not a file"))
        let missing = try bob.run("decrypt", ["--attachment", "99", "plan.blob"])
        #expect(missing.status == 66 && missing.stderr.contains(": sotto history\n"))
        let bare = try bob.read(sent.lines, "--text", "-q", "--stateless")
        #expect(bare.text.contains("its key is in the record"))
    }

    // MARK: --again

    /// The program at the end of a pipe crashed: only the state still has the messages.
    @Test func openedMessagesArePrintedAgain() throws {
        #expect(try bob.run("decrypt", ["--again"]).status == 1)
        let read = try bob.read(first)
        let records = try read.lines.map { try JSON.object(parsing: Array($0.utf8)) }
        #expect(records.map { $0["number"] } == [.integer(1), .integer(2), .integer(3)])
        let again = try bob.run("decrypt", ["--again"])
        #expect(again.status == 0, "\(again.stderr)")
        let repeated = try again.lines.map { line in
            var record = try JSON.object(parsing: Array(line.utf8))
            #expect(record["seen"] == .bool(true))
            record["seen"] = nil
            return record
        }
        #expect(repeated == records)
        let rest = try bob.run("decrypt", ["--again", "--since", "2", "--text", "-q"])
        #expect(rest.text == "three\n")
        #expect(try bob.run("decrypt", ["--again", "--since", "3"]).status == 1)
        let hour = Timestamp(seconds: Timestamp.now().seconds - 3_600).description
        #expect(try bob.run("decrypt", ["--again", "--since", hour]).lines == again.lines)
        let later = Timestamp(seconds: Timestamp.now().seconds + 3_600).description
        #expect(try bob.run("decrypt", ["--again", "--since", later]).status == 1)
        #expect(try bob.run("decrypt", ["--again", "--since", "yesterday"]).status == 64)
        // No message is new, and a message from the input has the same number.
        #expect(try bob.read([first[1]]).text.contains("\"number\":2"))
    }

    @Test func againAppliesTheTrustPolicy() throws {
        #expect(try bob.read(first).status == 0)
        #expect(try bob.run("decrypt", ["--again", "--trust", "verified"]).status == 1)
        #expect(try bob.run("decrypt", ["--again", "--from", "alice"]).lines.count == 3)
        #expect(try bob.run("contact", ["block", "alice"]).status == 0)
        #expect(try bob.run("decrypt", ["--again"]).status == 1)
    }

    /// A sender cannot choose the number that a record shows.
    @Test func aSenderCannotChooseTheNumber() throws {
        let sent = try alice.run(
            "encrypt", ["--to", bob.card, "--jsonl"],
            stdin: Array(#"{"body":{"type":"text","text":"x"},"number":7}"#.utf8))
        #expect(sent.status == 0, "\(sent.stderr)")
        let record = try JSON.object(parsing: Array(bob.read(sent.lines).lines[0].utf8))
        #expect(record["number"] == .integer(1))
    }
}
