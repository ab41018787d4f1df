import Foundation
import Sotto
import SottoMessengers
import TestSupport
import Testing

/// Tests of Message Flow's records with the built programs: its message, its file format and its acknowledgement.
struct MessageFlowToolTests {
    let accounts: Accounts
    init() throws {
        accounts = try Accounts()
        try accounts.meet()
        let bundle = try accounts.bob.bundle { $0["pqSignedPreKey"] = nil }
        let first = try accounts.alice.run(
            "encrypt", ["--to", "bob", "--classic", "--bundle", bundle, "-q"],
            stdin: Array("first".utf8))
        #expect(first.status == 0, "\(first.stderr)")
        #expect(try accounts.bob.texts(first.lines) == ["first"])
    }

    /// Writes to Bob with `bridge seal FORMAT`.
    private func write(_ text: String, _ format: String, _ more: String...) throws -> [String] {
        let run = try accounts.alice.run(
            "bridge", ["seal", format, "--to", "bob", "-q"] + more, stdin: Array(text.utf8))
        guard run.status == 0 else { throw Unexpected(run) }
        return run.lines
    }

    /// Runs Bob's `bridge open flow`, which reads the records of `kecalek` too.
    private func open(_ lines: [String], _ more: String...) throws -> Run {
        try accounts.open("flow", lines, more)
    }

    @Test func aMessageIsExchangedInTheMessengersFormat() throws {
        let line = try write("hello", "flow", "--user-id", "alice@kecalek")[0]
        let record = try JSON.object(parsing: Array(line.utf8))
        #expect(record.members.map(\.name) == ["type", "message"])
        #expect(record["type"] == .string("new_message"))
        #expect(record.at("message", "from") == .string("alice@kecalek"))
        #expect(record.at("message", "to") == .string("bob@kecalek"))
        let payload = try #require(record.at("message", "encryptedPayload")?.object)
        #expect(
            payload.members.map(\.name) == [
                "ciphertext", "ratchetPublicKey", "chainLength", "previousChainLength",
            ])
        let run = try open([line])
        #expect(run.status == 0, "\(run.stderr)")
        let read = try accounts.record(run)
        #expect(read.at("body", "text") == .string("hello") && read["name"] == .string("alice"))
        #expect(read["authenticated"] == .bool(true) && read["suite"] == .string("ratchet"))
        #expect(
            try accounts.record(open([line]))["seen"]
                == .bool(true))
        // Over HTTP there is no type.
        let next = try write("more", "flow")[0]
        let http = try changing(next) { $0["type"] = nil }
        #expect(try accounts.read([http]).status == 65)
        let bare = try open([http])
        #expect(try accounts.record(bare).at("body", "text") == .string("more"))
    }

    @Test func theFileFormHasOnlyThePayload() throws {
        let line = try write("in a file", "kecalek")[0]
        let record = try JSON.object(parsing: Array(line.utf8))
        // Bob has not answered yet, so the prekey data is still included.
        #expect(record.members.map(\.name) == ["v", "encryptedPayload", "preKey"])
        let run = try open([line])
        // The file has no id, but the record inside has one.
        #expect(run.status == 0, "\(run.stderr)")
        #expect(try accounts.record(run).at("body", "text") == .string("in a file"))
    }

    /// A message that was lost after it was stored in the state is printed again at any later time.
    @Test func aFileThatIsReadAgainLaterIsARepeat() throws {
        let line = try write("in a file", "kecalek")[0]
        let first = try accounts.record(open([line]))
        let second = Timestamp.now().seconds
        while Timestamp.now().seconds == second {}
        let again = try open([line])
        #expect(again.status == 0, "\(again.stderr)")
        var record = try accounts.record(again)
        #expect(record["seen"] == .bool(true))
        record["seen"] = nil
        #expect(record == first)
    }

    /// A messenger's sessions are classical: a hybrid session is not used, and `--classic` begins one with X3DH from any
    /// bundle.
    @Test(arguments: ["flow", "kecalek"])
    func onlyAClassicalSessionCarriesAMessage(_ format: String) throws {
        let two = try Couple()
        try two.begin()
        func seal(_ more: String...) throws -> Run {
            try two.alice.run(
                "bridge", ["seal", format, "--to", two.bob.card] + more, stdin: [0x78])
        }
        let none = try seal()
        #expect(none.status == 10 && none.stderr.contains("no session"), "\(none.stderr)")
        let bundle = try two.bob.bundle()
        let refused = try seal("--bundle", bundle)
        #expect(
            refused.status == 12 && refused.stderr.contains("use --classic"), "\(refused.stderr)")
        let sealed = try seal("--bundle", bundle, "--classic")
        #expect(sealed.status == 0 && sealed.stderr.contains("X3DH"), "\(sealed.stderr)")
        let record = try JSON.object(parsing: Array(try #require(sealed.lines.first).utf8))
        let content =
            try format == "flow"
            ? MessageFlowMessage(record: record).content : MessageFlowContent(file: record)
        #expect(content.payload["kem"] == nil)
        #expect(try #require(content.preKeyHeader).kem == nil)
        let read = try two.bob.run("bridge", ["open", format, "--text"], stdin: sealed.stdout)
        #expect(read.status == 0 && read.text == "x\n", "\(read.stderr)")
    }

    /// A record of an unknown sender waits unchanged, and opens after the sender becomes a contact.
    @Test(arguments: ["flow", "kecalek"])
    func anUnknownSendersRecordWaitsAndOpensLater(_ format: String) throws {
        let carol = try Party("carol", in: accounts.home)
        let bundle = try accounts.bob.bundle()
        let sent = try carol.run(
            "bridge",
            ["seal", format, "--to", accounts.bob.card, "--classic", "--bundle", bundle, "-q"]
                + (format == "flow" ? ["--user-id", "carol@kecalek"] : []),
            stdin: Array("hello".utf8))
        #expect(sent.status == 0, "\(sent.stderr)")
        let waiting = try open(sent.lines)
        #expect(try accounts.record(waiting)["type"] == .string("request"), "\(waiting.stderr)")
        let accepted = try accounts.bob.run(
            "contact", ["accept", carol.identity.id.description, carol.card])
        #expect(accepted.lines.count == 1, "\(accepted.stderr)")
        let read = try open(accepted.lines)
        #expect(try accounts.record(read).at("body", "text") == .string("hello"), "\(read.stderr)")
        #expect(try accounts.bob.run("contact", ["requests"]).status == 1)
    }

    @Test func aFileOfARunningSessionNeedsItsSendersName() throws {
        let answer = try accounts.bob.run(
            "encrypt", ["--to", "alice", "-q"], stdin: Array("answer".utf8))
        #expect(try accounts.alice.texts(answer.lines) == ["answer"])
        let line = try write("again", "kecalek")[0]
        let unnamed = try open([line])
        #expect(unnamed.status == 65 && unnamed.stderr.contains("--from"))
        let run = try open([line], "--from", "alice")
        #expect(try accounts.record(run).at("body", "text") == .string("again"))
    }

    @Test func r13AcknowledgementsAreWrittenOnRequestAndHideTheCause() throws {
        let good = try write("good", "flow")[0]
        let other = try write("other", "flow")[0]
        func broken(_ name: String, _ value: JSON) throws -> String {
            try changing(other) { record in
                var message = try #require(record["message"]?.object)
                var payload = try #require(message["encryptedPayload"]?.object)
                payload[name] = value
                message["encryptedPayload"] = .object(payload)
                message["id"] = .string(Envelope.newID())
                record["message"] = .object(message)
            }
        }
        let tampered = try broken("chainLength", .integer(7))
        let unknown = try broken(
            "ratchetPublicKey", .string(Base64.standard.encode(randomBytes(32))))
        let silent = try open([good], "--preview")
        #expect(silent.status == 0 && !accounts.home.files.exists("acks"))
        let run = try open([good, tampered, unknown, "{junk"], "--ack", "acks")
        #expect(run.status == 15)
        let acks = try accounts.home.files.read("acks").split(separator: 10).map {
            try JSON.object(parsing: Array($0))
        }
        let ids = try [good, tampered, unknown].map {
            try JSON.object(parsing: Array($0.utf8)).at("message", "id")
        }
        #expect(acks.map { $0["messageId"] } == ids)
        #expect(
            acks.map { $0["status"] } == [
                .string("delivered"), .string("failed"), .string("failed"),
            ])
        #expect(acks.allSatisfy { $0.members.map(\.name) == ["type", "messageId", "status"] })
        // A received acknowledgement is a record without authentication.
        let incoming = try accounts.record(
            open([String(decoding: acks[0].serialized(), as: UTF8.self)]))
        #expect(incoming["type"] == .string("ack") && incoming["authenticated"] == .bool(false))
        #expect(incoming["status"] == .string("delivered"))
    }

    /// The answer to a poll has several messages on one line. A bad one fails nothing but itself.
    @Test(arguments: [([], "delivered"), (["--read"], "read")] as [([String], String)])
    func theAnswerToAPollIsOpenedAsItIs(_ option: [String], _ status: String) throws {
        let messages = try ["one", "two"].map { text in
            try #require(
                JSON.object(parsing: Array(write(text, "flow")[0].utf8))["message"]?.object)
        }
        let texts = messages.map { String(decoding: $0.serialized(), as: UTF8.self) }
        let answer = #"{"success":true,"messages":[\#(texts[0]),{"id":"m-1"},7,\#(texts[1])]}"#
        let run = try accounts.open("flow", [answer], ["--text", "--ack", "acks"] + option)
        #expect(run.status == 15 && run.lines == ["one", "two"], "\(run.stderr)")
        let acks = String(decoding: try accounts.home.files.read("acks"), as: UTF8.self)
        let wanted = [
            (messages[0]["id"]?.string, status), ("m-1", "failed"),
            (messages[1]["id"]?.string, status),
        ].map { id, status in #"{"messageId":"\#(id ?? "")","status":"\#(status)"}"# + "\n" }
        #expect(acks == wanted.joined())
    }

    @Test func anAnswerWithoutMessagesHasNothingToOpen() throws {
        let none = try open([#"{"success":true,"messages":[]}"#])
        #expect(none.status == 0 && none.text.isEmpty, "\(none.stderr)")
        for other in [
            #"{"success":false,"type":"error","code":401,"reason":"login_failed"}"#,
            #"{"success":true}"#, #"{"success":true,"messages":{}}"#,
        ] {
            let run = try open([other])
            #expect(run.status == 65 && run.stderr.contains("no messages"), "\(run.stderr)")
        }
        let lone = try open(["{}"], "--read")
        #expect(lone.status == 64 && lone.stderr.contains("--ack"), "\(lone.stderr)")
    }

    /// A messenger's server passes on that the other side has seen a message.
    @Test func anAcknowledgementSaysThatAMessageWasRead() throws {
        let ack = try accounts.record(
            open([#"{"type":"ack","messageId":"m-1","status":"read"}"#]))
        #expect(ack["type"] == .string("ack") && ack["status"] == .string("read"))
    }

    @Test func aCopyForTheOwnIdentityIsOpened() throws {
        let copy = try SelfEncryption.seal(Array("mine".utf8), for: accounts.alice.identity)
        let line = lines([Base64.standard.encode(copy)])
        let read = try accounts.alice.run("bridge", ["open", "kecalek", "--own-copy"], stdin: line)
        let record = try accounts.record(read)
        #expect(read.status == 0 && record["type"] == .string("own-copy"), "\(read.stderr)")
        #expect(record.at("body", "text") == .string("mine"))
        let other = try accounts.bob.run("bridge", ["open", "kecalek", "--own-copy"], stdin: line)
        #expect(other.status == 11, "\(other.stderr)")
    }

    /// A session has one order of messages, whichever of the two tools writes or reads them.
    @Test func theToolsShareASession() throws {
        let first = try write("one", "flow")
        let second = try accounts.alice.run(
            "encrypt", ["--to", "bob", "-q"], stdin: Array("two".utf8)
        ).lines
        let third = try write("three", "kecalek")
        #expect(
            try accounts.record(open(third)).at("body", "text")
                == .string("three"))
        #expect(try accounts.bob.texts(second) == ["two"])
        #expect(
            try accounts.record(open(first)).at("body", "text")
                == .string("one"))
        // Both are in the one record of opened messages.
        let all = try accounts.bob.run("decrypt", ["--again", "--text"])
        #expect(all.lines == ["first", "three", "two", "one"], "\(all.text)")
        // Each tool names the other for what it does not read.
        let flow = try accounts.bob.run("decrypt", [], stdin: lines(first))
        #expect(flow.status == 65 && flow.stderr.contains("sotto bridge open"), "\(flow.stderr)")
        let envelope = try accounts.bob.run("bridge", ["open", "flow"], stdin: lines(second))
        #expect(envelope.status == 64 && envelope.stderr.contains("decrypt"), "\(envelope.stderr)")
    }

    @Test func anAttachmentWorksWithAnySuiteWithRecords() throws {
        let file = randomBytes(100_000)
        accounts.home.files.write("plan.pdf", file)
        for suite in [
            ["--to", "bob", "--suite", "sealed"], ["--to", "bob"], ["--chat", "family.chat"],
        ] {
            let run = try accounts.alice.run(
                "encrypt", suite + ["-q", "--attach", "plan.pdf", "--blob", "plan.blob"])
            #expect(run.status == 0, "\(suite): \(run.stderr)")
            #expect(
                try accounts.home.files.read("plan.blob").count == Int(Blob.size(ofFile: 100_000)))
            let opened = try accounts.read(run.lines)
            let record = try accounts.record(opened)
            #expect(record.at("body", "name") == .string("plan.pdf"))
            #expect(record.at("body", "size") == .integer(100_000))
            let got = try accounts.bob.run(
                "decrypt", ["--attachment", "-", "plan.blob", "-o", "got"], stdin: opened.stdout)
            #expect(got.status == 0, "\(got.stderr)")
            #expect(try accounts.home.files.read("got") == file)
        }
    }
}
