import Sotto
import TestSupport
import Testing

/// `decrypt` of envelopes with a time to live of 0: nothing of them is recorded.
struct SignalTests {
    let home: Home
    init() throws { home = try Home(people: "alice", "bob", "carol") }

    /// Returns the line of an envelope to Bob.
    func seal(_ text: String, age: Int64 = 0, ttl: Int64? = 0, id: String = Envelope.newID()) throws
        -> [UInt8]
    {
        let alice = try Identity(record: JSON.object(parsing: home.files.read("alice.key")))
        let bob = try Identity(record: JSON.object(parsing: home.files.read("bob.key")))
        let time = Timestamp(seconds: Timestamp.now().seconds - age)
        return try Sealed.seal(
            body: Message.textBody(text), from: alice, to: bob.card(), time: time, ttl: ttl, id: id
        ).record.serialized() + [10]
    }

    func open(_ lines: [UInt8], _ more: String...) throws -> Run {
        try home.run("decrypt", ["-i", "bob.key"] + more, stdin: .whole(lines))
    }

    func records(_ run: Run) throws -> [JSONObject] {
        try run.lines.map { try JSON.object(parsing: Array($0.utf8)) }
    }

    @Test func aSignalIsOpenedAndNotRecorded() throws {
        let id = Envelope.newID()
        let opened = try open(seal("now", id: id))
        #expect(opened.status == 0)
        let record = try records(opened)[0]
        #expect(record["ttl"] == .integer(0) && record["number"] == nil)
        #expect(record["body"]?.object?["text"] == .string("now"))
        #expect(try open([], "--again").status == 1)
        let mail = try seal("kept", ttl: 60)
        let kept = try records(open(mail))[0]
        #expect(kept["ttl"] == .integer(60) && kept["number"] == .integer(1))
        let again = try records(try home.run("decrypt", ["-i", "bob.key", "--again"]))
        #expect(again.map { $0["body"]?.object?["text"] } == [.string("kept")])
        #expect(again[0]["ttl"] == .integer(60))
    }

    @Test func encryptWritesTheTimeToLive() throws {
        func seal(_ more: String...) throws -> Run {
            try home.run(
                "encrypt", ["--to", "bob.card", "-i", "alice.key"] + more,
                stdin: .whole(Array("now".utf8)))
        }
        for ttl: Int64 in [0, 60, 31_536_000] {
            let sealed = try seal("--ttl", "\(ttl)")
            let record = try records(sealed)[0]
            #expect(record["ttl"] == .integer(ttl) && record["suite"] == .string("sealed"))
            #expect(try records(open(sealed.stdout))[0]["ttl"] == .integer(ttl))
        }
        #expect(try records(seal())[0]["ttl"] == nil)
        for bad in [
            ["--ttl", "-1"], ["--ttl", "31536001"], ["--ttl", "x"],
            ["--ttl", "86399", "--suite", "ratchet"], ["--ttl", "0", "--new-session"],
        ] {
            let run = try home.run(
                "encrypt", ["--to", "bob.card", "-i", "alice.key"] + bad,
                stdin: .whole(Array("now".utf8)))
            #expect(run.status == 64 && run.stdout.isEmpty)
        }
        #expect(
            try home.run("encrypt", ["-r", "bob.card", "--ttl", "0"], stdin: .whole([65])).status
                == 64)
    }

    /// A session exists, and a message with a short time to live does not use it.
    @Test func aShortTimeToLiveTakesNoStepOfASession() throws {
        home.files.write("bundle", try home.output("keygen", ["prekeys", "--bundle", "bob.key"]))
        func seal(_ more: String...) throws -> JSONObject {
            try records(
                try home.run(
                    "encrypt", ["--to", "bob.card", "-i", "alice.key", "-q"] + more,
                    stdin: .whole(Array("now".utf8))))[0]
        }
        #expect(try seal("--bundle", "bundle")["suite"] == .string("ratchet"))
        #expect(try seal()["suite"] == .string("ratchet"))
        #expect(try seal("--ttl", "86399")["suite"] == .string("sealed"))
        #expect(try seal("--ttl", "1d")["ttl"] == .integer(86_400))
        let long = try seal("--ttl", "86400")
        #expect(long["suite"] == .string("ratchet") && long["ttl"] == .integer(86_400))
    }

    @Test func theHistoryHasNoMessageWithATimeToLiveOfZero() throws {
        for ttl in ["0", "60"] {
            let run = try home.run(
                "encrypt", ["--to", "bob.card", "-i", "alice.key", "-q", "--ttl", ttl],
                stdin: .whole(Array("ttl \(ttl)".utf8)))
            #expect(run.status == 0)
        }
        let sent = try home.run("history", ["-i", "alice.key"])
        #expect(sent.text.contains("ttl 60") && !sent.text.contains("ttl 0"), "\(sent.stderr)")
    }

    @Test func aRepeatInOneRunIsAReplay() throws {
        let line = try seal("now")
        let run = try open(line + line)
        #expect(run.status == 15)
        let records = try records(run)
        #expect(records.map { $0["type"] } == [.string("message"), .string("error")])
        #expect(records[1]["status"] == .integer(13))
        let stateless = try open(line + line, "--stateless")
        #expect(stateless.status == 15)
        #expect(try open(line, "--preview").status == 0)
    }

    @Test(arguments: [[], ["--stateless"], ["--preview"]])
    func aSignalOfAnotherTimeIsAReplay(_ options: [String]) throws {
        for age: Int64 in [75, 100_000, -75] {
            let run = try home.run(
                "decrypt", ["-i", "bob.key"] + options, stdin: .whole(seal("old", age: age)))
            #expect(run.status == 13)
            #expect(run.stderr.contains("differs from this clock by more than 60 seconds"))
        }
        let run = try home.run(
            "decrypt", ["-i", "bob.key"] + options, stdin: .whole(seal("old", age: 40)))
        #expect(run.status == 0)
    }

    /// A sender who is not a contact waits as a message request, but not with a signal.
    @Test func aSignalIsNoMessageRequest() throws {
        #expect(try home.run("contact", ["add", "carol.card", "-i", "bob.key"]).status == 0)
        let run = try open(seal("now"))
        #expect(run.status == 0 && run.stdout.isEmpty)
        #expect(try home.run("contact", ["requests", "-i", "bob.key"]).status == 1)
        #expect(try home.run("contact", ["add", "alice.card", "-i", "bob.key"]).status == 0)
        #expect(try records(open(seal("now")))[0]["trust"] == .string("trusted"))
    }
}
