import Sotto
import TestSupport
import Testing

/// `encrypt` takes the recipients of message records from the records.
struct RecordRecipientTests {
    let they: Conversing
    var alice: Party { they.alice }
    var bob: Party { they.bob }

    init() throws { they = try Conversing() }

    func encrypt(_ records: [String], _ options: String...) throws -> Run {
        try alice.run("encrypt", options, stdin: lines(records))
    }

    func message(to: String, _ text: String = "x", more: String = "") -> String {
        #"{"v":1,"type":"message","to":"\#(to)"\#(more),"body":{"type":"text","text":"\#(text)"}}"#
    }

    @Test func eachRecordGoesToItsRecipient() throws {
        let carol = try Party("carol", in: they.home)
        #expect(try alice.run("contact", ["add", carol.card]).status == 0)
        let names = ["bob", "carol", "me", bob.identity.id.description, "BOB"]
        for options in [[], ["--jsonl"]] {
            let run = try alice.run(
                "encrypt", options, stdin: lines(names.map { message(to: $0, $0) }))
            #expect(run.status == 0, "\(run.stderr)")
            let expected = [bob, carol, alice, bob, bob].map { $0.identity.id.description }
            #expect(try run.records.compactMap { $0["to"]?.string } == expected)
            #expect(
                try bob.read([run.lines[0], run.lines[3]]).messages.map(\.text) == [
                    names[0], names[3],
                ])
        }
        let uri = try they.home.output("keygen", ["public", "--uri", "carol.key"])
        let text = String(decoding: uri.dropLast(), as: UTF8.self)
        #expect(try encrypt([message(to: text)]).status == 0)
        // The history has each once.
        #expect(try alice.history("carol").count == 3)
    }

    @Test func aRecipientThatIsNotFoundFailsItsLine() throws {
        they.home.files.write("mallory", try they.home.files.read(bob.card))
        let run = try encrypt([
            message(to: "nobody"), message(to: "bob", "good"), message(to: "./bob.card"),
            message(to: "mallory"), #"{"v":1,"type":"message","body":{"type":"text","text":"x"}}"#,
            #"{"to":7,"text":"x"}"#, message(to: "05" + String(repeating: "0a", count: 32)),
            "plain",
        ])
        #expect(run.status == 15)
        let statuses = try run.records.map { $0["status"]?.integer }
        #expect(statuses == [66, nil, 66, 66, 65, 65, 10, 65], "\(run.text)")
        #expect(try alice.history("bob").map { $0.body["text"] } == [.string("good")])
    }

    @Test func aContradictionToTheCommandLineIsRefused() throws {
        let carol = try Party("carol", in: they.home)
        #expect(try alice.run("contact", ["add", carol.card]).status == 0)
        let good = try encrypt([message(to: "bob")], "--jsonl", "--to", "bob")
        #expect(good.status == 0 && good.lines.count == 1)
        for options in [["--to", "carol"], ["--to", "bob", "--to", "carol"]] {
            let run = try alice.run(
                "encrypt", options + ["--jsonl"], stdin: lines([message(to: "bob")]))
            #expect(run.status == 65, "\(run.stderr)")
            #expect(run.stderr.contains("names another recipient than the command line"))
        }
        #expect(try alice.history("carol").isEmpty)
    }

    @Test func aReceivedRecordIsNotAddressed() throws {
        try they.tell(bob, "hello")
        let received = try alice.run("history", ["bob"]).lines
        let run = try encrypt(received)
        #expect(run.status == 65 && run.stderr.contains("names no recipient"))
        // Its own recipient does not contradict: a script sends it on.
        #expect(try encrypt(received, "--jsonl", "--to", "bob").status == 0)
    }

    @Test func inputWithoutRecordsNeedsARecipient() throws {
        let text = try encrypt(["hello"])
        #expect(text.status == 64 && text.stderr.contains("no recipient is given"))
    }

    @Test func noRecordsAreNothingToDo() throws {
        for input in [[], [""]] {
            let run = try encrypt(input, "--identity-passphrase", "@FILE:/nonexistent")
            #expect(run.status == 0 && run.stdout.isEmpty && run.stderr.isEmpty)
        }
        #expect(try encrypt([], "-o", "none").status == 0)
        #expect(try they.home.files.read("none").isEmpty)
        // Zero bytes are no text, and nothing that was encrypted.
        let text = try alice.run("encrypt", ["--to", "bob"])
        #expect(text.status == 1 && !text.stderr.isEmpty)
        // The program before this pipe has said why it printed nothing.
        let opened = try alice.run("decrypt", [])
        #expect(opened.status == 1 && opened.stderr.isEmpty, "\(opened.stderr)")
    }

    @Test func aPipeWithNothingToTellEndsWellAtEachStage() throws {
        try they.tell(bob, "hello")
        let read = try alice.run("history", ["read", "-q", "bob"])
        #expect(read.status == 0 && read.stdout.isEmpty)
        let sealed = try alice.run("encrypt", [], stdin: read.stdout)
        #expect(sealed.status == 0 && sealed.stdout.isEmpty && sealed.stderr.isEmpty)
        _ = try alice.run("group", ["create", "-q", "friends"])
        let sync = try alice.run("group", ["sync", "-q"])
        #expect(sync.status == 0 && sync.stdout.isEmpty)
        #expect(try alice.run("encrypt", [], stdin: sync.stdout).status == 0)
    }

    // MARK: Time to live

    @Test func aRecordSetsItsTimeToLive() throws {
        let run = try encrypt([
            message(to: "bob", more: #","ttl":60"#), message(to: "bob", more: #","ttl":0"#),
            message(to: "bob"), message(to: "bob", more: #","ttl":-1"#),
            message(to: "bob", more: #","ttl":"1""#),
        ])
        let records = try run.records
        #expect(run.status == 15)
        #expect(records.map { $0["ttl"]?.integer } == [60, 0, nil, nil, nil])
        #expect(records.map { $0["status"]?.integer } == [nil, nil, nil, 65, 65])
        // A time to live of 0 leaves no trace.
        #expect(try alice.history("bob").count == 2)
    }

    @Test func aSignalHasATimeToLiveByItself() throws {
        func ttl(_ body: String, _ more: String = "", _ options: String...) throws -> Int64? {
            let run = try alice.run(
                "encrypt", options, stdin: lines([#"{"to":"bob"\#(more),"body":\#(body)}"#]))
            guard run.status == 0 else { throw Unexpected(run) }
            return try run.records[0]["ttl"]?.integer
        }
        let typing = #"{"type":"typing","state":"started"}"#
        let call =
            #"{"type":"call","call":"6e2f0d1c-6c0b-4b7e-9d6f-2b8a5c3d1e0f","kind":"hangup"}"#
        #expect(try ttl(typing) == 0)
        #expect(try ttl(#"{"type":"presence","state":"online"}"#) == 0)
        #expect(try ttl(call) == 60)
        #expect(try ttl(typing, #","ttl":5"#) == 5)
        #expect(try ttl(typing, "", "--ttl", "7") == 7)
        #expect(try ttl(#"{"type":"text","text":"x"}"#) == nil)
        #expect(try ttl(typing, "", "--to", "bob", "--jsonl") == 0)
    }

    /// A session exists. A signal between its messages takes no step of it.
    @Test func aShortTimeToLiveInAStreamTakesNoStepOfASession() throws {
        try they.two.begin()
        let typing = #"{"to":"bob","body":{"type":"typing","state":"started"}}"#
        for options in [[], ["--to", "bob", "--jsonl"]] {
            let run = try alice.run(
                "encrypt", options,
                stdin: lines([message(to: "bob", "1"), typing, message(to: "bob", "2")]))
            #expect(run.status == 0, "\(run.stderr)")
            #expect(
                try run.records.map { $0["suite"] }
                    == [.string("ratchet"), .string("sealed"), .string("ratchet")])
            #expect(try bob.texts(run.lines.filter { !$0.contains(#""ttl":0"#) }) == ["1", "2"])
        }
        let demanded = try alice.run(
            "encrypt", ["--suite", "ratchet"], stdin: lines([typing, message(to: "bob", "3")]))
        #expect(demanded.status == 15)
        #expect(try demanded.records.map { $0["status"]?.integer } == [64, nil])
    }
}
