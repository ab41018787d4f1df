import Glibc
import Sotto
import SottoMessengers
import TestSupport
import Testing

/// The history has what `bridge seal` writes, in all five formats, beside what `bridge open` reads.
struct BridgeHistoryTests {
    static let formats = ["shainy", "whisper2", "mercurio", "kecalek", "flow"]

    let accounts: Accounts
    var alice: Party { accounts.alice }
    var bob: Party { accounts.bob }
    init() throws {
        accounts = try Accounts()
        try accounts.meet()
    }

    /// Begins the session of the formats that need one.
    private func begin(_ format: String) throws {
        guard ["kecalek", "flow"].contains(format) else { return }
        let bundle = try bob.bundle { $0["pqSignedPreKey"] = nil }
        let first = try alice.run(
            "encrypt", ["--to", "bob", "--classic", "--bundle", bundle, "-q"],
            stdin: Array("begin".utf8))
        guard first.status == 0 else { throw Unexpected(first) }
        #expect(try bob.texts(first.lines) == ["begin"])
    }

    private func recipient(_ format: String) -> [String] {
        format == "shainy" ? ["--chat", "family.chat", "--show-secret"] : ["--to", "bob"]
    }

    private func seal(_ format: String, _ more: [String] = [], _ input: String) throws -> Run {
        try alice.run(
            "bridge", ["seal", format, "-q"] + recipient(format) + more, stdin: Array(input.utf8))
    }

    private func who(_ format: String, _ peer: String) -> String {
        format == "shainy" ? "family" : peer
    }

    @Test(arguments: formats) func bothDirectionsAreInTheHistory(_ format: String) throws {
        try begin(format)
        let sealed = try seal(format, [], "what was sealed")
        #expect(sealed.status == 0 && sealed.lines.count == 1, "\(sealed.stderr)")
        let opened = try accounts.open(format, sealed.lines)
        #expect(opened.status == 0, "\(opened.stderr)")
        let sent = try #require(alice.history(who(format, "bob")).last)
        let received = try #require(bob.history(who(format, "alice")).last)
        for record in [sent, received] {
            #expect(record.at("body", "text") == .string("what was sealed"))
        }
        #expect(sent["direction"] == .string("sent"))
        #expect(received["direction"] == .string("received"))
        #expect(sent["from"] == .string(alice.identity.id.description))
        // Both sides have one id, so that a reply or a receipt finds the message.
        #expect(sent["id"] == received["id"])
        // Nothing is known of the way of the record.
        #expect(sent["status"] == .string("handedOn") && sent["receipts"] == nil)
        let unsent = try alice.run("history", ["unsent", "-q"])
        #expect(!unsent.text.contains("what was sealed"))
        let text = try alice.run("history", [who(format, "bob"), "--text"]).text
        #expect(text.contains("what was sealed") && text.contains("[handed on]"))
    }

    /// A line that fails is not in the history, and the others are.
    @Test(arguments: formats) func aFailedLineIsNotInTheHistory(_ format: String) throws {
        try begin(format)
        let long = String(repeating: "x", count: 70_000)
        let run = try seal(format, ["--jsonl"], "first\n\(long)\nlast\n")
        #expect(run.status == 15 && run.lines.count == 3, "\(run.stderr)")
        let texts = try alice.history(who(format, "bob")).compactMap { $0.at("body", "text") }
        #expect(texts.suffix(2) == [.string("first"), .string("last")])
        // A whole input that fails leaves nothing.
        #expect(try seal(format, [], long).status == 65)
        #expect(try alice.history(who(format, "bob")).count == texts.count)
    }

    @Test func aRecordThatMayNotBePrintedIsNotInTheHistory() throws {
        let refused = try alice.run(
            "bridge", ["seal", "shainy", "--chat", "family.chat"], stdin: [0x78])
        #expect(refused.status == 64)
        #expect(try alice.run("history", ["list", "-q"]).records.isEmpty)
    }

    /// What a killed program has printed is in the history.
    @Test(arguments: formats) func aKilledRunHasRecordedWhatItPrinted(_ format: String) throws {
        try begin(format)
        // The history knows the chat after its first message.
        if format == "shainy" { #expect(try seal(format, [], "begin").status == 0) }
        // All runs together skip fewer messages than a session can.
        let input = (0..<25).map { "line \($0)\n" }.joined()
        try withGenerator { random in
            var moment = KillMoment()
            for _ in 0..<8 {
                let before = Set(try alice.history(who(format, "bob"), "--limit", "10000").ids)
                let run = try KillMoment.kill(
                    alice.command(
                        "bridge", ["seal", format, "-q", "--jsonl"] + recipient(format)),
                    Array(input.utf8), &moment, &random)
                let after = try alice.history(who(format, "bob"), "--limit", "10000")
                let new = after.filter { !before.contains($0["id"]?.string ?? "") }
                // A transaction is whole: either none of the lines that were read together is there, or all of them.
                #expect(new.count >= run.wholeLines.count, random.comment)
                let texts = new.compactMap { $0.at("body", "text")?.string }
                #expect(texts == (0..<new.count).map { "line \($0)" }, random.comment)
                // The printed records open on the other side, also after lost ones.
                let opened = try accounts.open(format, run.wholeLines, "--text")
                #expect(opened.lines.count == run.wholeLines.count, "\(opened.stderr)")
            }
        }
    }

    @Test func aStatelessMessageIsNotRecorded() throws {
        for format in ["shainy", "whisper2", "mercurio"] {
            let to = format == "shainy" ? recipient(format) : ["--to", "bob.card"]
            let run = try alice.run(
                "bridge", ["seal", format, "-q", "--stateless"] + to, stdin: Array("hello".utf8))
            #expect(run.status == 0, "\(run.stderr)")
        }
        #expect(try alice.run("history", ["list", "-q"]).records.isEmpty)
    }

    /// The server of a chat returns a message to its author. The history has it once.
    @Test func aReturnedMessageOfAChatIsThereOnce() throws {
        let sealed = try seal("shainy", [], "mine")
        let back = try alice.run(
            "bridge", ["open", "shainy", "--chat", "family.chat"],
            stdin: Array((sealed.lines[0] + "\n").utf8))
        #expect(back.status == 0, "\(back.stderr)")
        let records = try alice.history("family")
        #expect(records.count == 1 && records[0]["direction"] == .string("sent"))
        let list = try alice.run("history", ["list"]).records
        #expect(list.count == 1 && list[0]["unread"] == .integer(0))
        // Another text under the same id is another member's.
        let envelope = try alice.run(
            "encrypt", ["--chat", "family.chat"], stdin: Array("also mine".utf8))
        let id = try #require(try envelope.records.first?["id"])
        #expect(
            try alice.run("decrypt", ["--chat", "family.chat"], stdin: envelope.stdout).status == 0)
        #expect(try alice.history("family").count == 2)
        #expect(try alice.history("family").last?["id"] == id)
    }

    /// One message to several people of a Whisper2 group is in the history of each of them, and for a group of this state in its own.
    @Test func aGroupMessageIsWithItsRecipients() throws {
        let run = try alice.run(
            "bridge", ["seal", "whisper2", "-q", "--group-id", "app", "--to", "bob"],
            stdin: Array("to the app's group".utf8))
        #expect(run.status == 0, "\(run.stderr)")
        let sent = try #require(alice.history("bob").last)
        #expect(sent.at("details", "group") == .string("app"))
        #expect(sent["to"] == .string(bob.identity.id.description))
    }

    @Test func anAttachmentOpensFromTheSendersHistory() throws {
        accounts.home.files.write("photo", Array("a picture".utf8))
        let run = try alice.run(
            "bridge",
            ["seal", "whisper2", "-q", "--to", "bob", "--attach", "photo", "--blob", "blob"],
            stdin: Array("look".utf8))
        #expect(run.status == 0, "\(run.stderr)")
        let number = try #require(alice.history("bob").last?["number"]?.integer)
        let opened = try alice.run(
            "bridge", ["open", "whisper2", "--attachment", "\(number)", "-o", "copy", "blob"])
        #expect(opened.status == 0, "\(opened.stderr)")
        #expect(try accounts.home.files.read("copy") == Array("a picture".utf8))
    }

    /// A reply has the words of its format on the sender's side too.
    @Test func aReplyIsRecordedAsItsReaderHasIt() throws {
        let id = Envelope.newID()
        let reply = #"{"body":{"type":"text","text":"yes","replyTo":"\#(id)"}}"#
        let run = try seal("whisper2", ["--jsonl"], reply + "\n")
        #expect(run.status == 0, "\(run.stderr)")
        let sent = try #require(alice.history("bob").last)
        #expect(sent.at("body", "replyTo") == nil && sent.at("body", "text") == .string("yes"))
        #expect(sent.at("details", "untrusted", "replyTo") == .string(id))
    }
}

extension [JSONObject] {
    /// The ids of records.
    fileprivate var ids: [String] { compactMap { $0["id"]?.string } }
}
