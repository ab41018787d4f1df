import Foundation
import Glibc
import Sotto
import TestSupport
import Testing

/// Tests of envelopes: `encrypt --to` and `decrypt`.
struct MessageTests {
    let home: Home
    init() throws { home = try Home(people: "alice", "bob", "carol") }

    func seal(_ text: String, to: [String] = ["bob"], _ more: String...) throws -> [UInt8] {
        try home.output(
            "encrypt", to.flatMap { ["--to", "\($0).card"] } + ["-i", "alice.key"] + more,
            stdin: Array(text.utf8))
    }

    func open(_ lines: [UInt8], _ who: String = "bob", _ more: String...) throws -> Run {
        try home.run("decrypt", ["-i", "\(who).key"] + more, stdin: .whole(lines))
    }

    func records(_ bytes: [UInt8]) throws -> [JSONObject] {
        try bytes.split(separator: 10).map { try JSON.object(parsing: Array($0)) }
    }

    func line(_ record: JSONObject) -> [UInt8] { record.serialized() + [10] }

    @Test func aMessageIsOneRecordWithItsSenderAndTrust() throws {
        let envelope = try seal("hello\n")
        let opened = try records(try open(envelope).stdout)
        #expect(opened.count == 1)
        let record = opened[0]
        #expect(record.members.prefix(2).map(\.name) == ["v", "type"])
        #expect(record["type"] == .string("message") && record["v"] == .integer(1))
        #expect(record["body"]?.object?["text"] == .string("hello"))
        #expect(record["trust"] == .string("unverified"))
        #expect(record["authenticated"] == .bool(true))
        #expect(try record["id"] == records(envelope)[0]["id"])
        let known = try records(open(seal("x"), "bob", "--from", "alice.card").stdout)[0]
        #expect(known["trust"] == .string("trusted") && known["name"] == .string("alice"))
        let wrong = try open(seal("x"), "bob", "--from", "carol.card")
        #expect(wrong.status == 12 && !wrong.text.contains("\"body\""))
    }

    @Test func aSeenEnvelopeShowsTheCurrentTrust() throws {
        let envelope = try seal("twice")
        #expect(try records(open(envelope).stdout)[0]["trust"] == .string("unverified"))
        let again = try records(open(envelope, "bob", "--from", "alice.card").stdout)[0]
        #expect(again["seen"] == .bool(true))
        #expect(again["trust"] == .string("trusted") && again["name"] == .string("alice"))
        let later = try records(open(envelope).stdout)[0]
        #expect(later["trust"] == .string("unverified") && later["name"] == nil)
    }

    @Test func anErrorRecordOfAnEarlierStageIsCountedAndNotMisread() throws {
        let input = Array("{\"text\":\"one\"}\n{bad\n".utf8)
        let sealed = try home.run(
            "encrypt", ["--to", "bob.card", "--jsonl", "-i", "alice.key"], stdin: .whole(input))
        let opened = try open(sealed.stdout)
        #expect(opened.status == 15)
        let lines = try records(opened.stdout)
        #expect(lines.map { $0["type"]?.string } == ["message", "error"])
        #expect(lines[1]["message"]?.string?.contains("not JSON") == true)
    }

    @Test func eachRecipientGetsAnEnvelope() throws {
        let envelopes = try seal("all", to: ["bob", "carol"])
        let lines = envelopes.split(separator: 10)
        #expect(lines.count == 2)
        for (line, who) in zip(lines, ["bob", "carol"]) {
            #expect(try open(Array(line), who, "--text").text == "all\n")
        }
        let both = try open(envelopes)
        #expect(both.status == 15)
        #expect(try records(both.stdout)[1]["status"] == .integer(10))
    }

    @Test func oneBadLineIsOneErrorRecordAndTheOthersGoOn() throws {
        let input = ["{\"text\":\"one\"}", "{\"text\":1}", "two", "", "{\"a\":1,\"a\":2}", "three"]
        let sealed = try home.run(
            "encrypt", ["--to", "bob.card", "--jsonl", "-i", "alice.key"],
            text: input.joined(separator: "\n") + "\n")
        #expect(sealed.status == 15)
        let lines = try records(sealed.stdout)
        #expect(
            lines.map { $0["type"]?.string } == [
                "envelope", "error", "envelope", "error", "envelope",
            ])
        #expect(lines[1]["line"] == .integer(2) && lines[1]["status"] == .integer(65))
        #expect(lines[3]["line"] == .integer(5))

        let envelopes = lines.filter { $0["type"]?.string == "envelope" }
        let stream = line(envelopes[0]) + Array("not json\n".utf8) + line(envelopes[1])
        let opened = try open(stream)
        #expect(opened.status == 15)
        let records = try records(opened.stdout)
        #expect(records.map { $0["type"]?.string } == ["message", "error", "message"])
        #expect(records[1]["line"] == .integer(2) && records[1]["status"] == .integer(65))
        #expect(opened.stderr.contains("line 2"))
        #expect(!opened.stderr.contains("not json"))
        let text = try open(stream, "bob", "--text", "--stateless")
        #expect(text.text == "one\ntwo\n" && text.status == 15)
    }

    @Test(arguments: ["garbage", "[1]", "null", "{", "\u{FFFD}", " ", "\n"])
    func aBadFirstLineIsOneErrorRecord(_ bad: String) throws {
        let long = bad == "garbage" ? String(repeating: bad, count: 1000) : bad
        let run = try open(Array((long + "\n").utf8) + seal("one") + seal("two"))
        let isBlank = bad.allSatisfy(\.isWhitespace)
        #expect(run.status == (isBlank ? 0 : 15), "\(run.stderr)")
        let types = try records(run.stdout).map { $0["type"]?.string }
        #expect(types == (isBlank ? [] : ["error"]) + ["message", "message"])
    }

    @Test func inputWithoutEnvelopesIsRefused() throws {
        for text in ["garbage", "garbage\nmore\n", String(repeating: "x\n", count: 100_000)] {
            let run = try open(Array(text.utf8))
            #expect(run.status == 65 && run.stdout.isEmpty && run.stderr.contains("neither"))
        }
    }

    @Test func linesThatAllFailAlikeGiveTheirOwnStatus() throws {
        let run = try open(Array("{\"a\":1}\n{\"b\":1}\n".utf8))
        #expect(run.status == 65)
        #expect(try records(run.stdout).map { $0["line"] } == [.integer(1), .integer(2)])
        let foreign = try open(try seal("x", to: ["carol"]) + seal("y", to: ["carol"]))
        #expect(foreign.status == 10)
    }

    @Test func unknownMembersPassThroughEveryStage() throws {
        let input = #"{"text":"hi","thread":7,"x":{"deep":[null,1.5,"é"]}}"#
        let sealed = try home.run(
            "encrypt", ["--to", "bob.card", "--jsonl", "-i", "alice.key"], text: input)
        let record = try records(open(sealed.stdout).stdout)[0]
        #expect(record["thread"] == .integer(7))
        #expect(record["x"]?.object?["deep"] == .array([.null, .number(1.5), .string("é")]))
        let body = #"{"body":{"type":"poll","options":["a","b"]}}"#
        let poll = try home.run(
            "encrypt", ["--to", "bob.card", "--jsonl", "-i", "alice.key"], text: body)
        #expect(
            try records(open(poll.stdout).stdout)[0]["body"]?.object?["options"]
                == .array([.string("a"), .string("b")]))
    }

    @Test func bytesThatAreNotTextComeBack() throws {
        let bytes = [UInt8](0...255)
        let envelope = try home.output(
            "encrypt", ["--to", "bob.card", "-i", "alice.key"], stdin: bytes)
        #expect(try open(envelope, "bob", "--text").stdout == bytes)
    }

    @Test func theSameEnvelopeTwiceIsSeen() throws {
        let envelope = try seal("once")
        let first = try records(open(envelope).stdout)[0]
        #expect(first["seen"] == nil)
        let second = try open(envelope)
        #expect(second.status == 0)
        var again = try records(second.stdout)[0]
        #expect(again["seen"] == .bool(true))
        again["seen"] = nil
        #expect(again == first)
        // The same within one input.
        let other = try seal("twice")
        let both = try records(open(other + other).stdout)
        #expect(both.map { $0["seen"] } == [nil, .bool(true)])
    }

    @Test func otherContentUnderASeenIdIsAReplay() throws {
        let alice = try Identity(record: JSON.object(parsing: home.files.read("alice.key")))
        let bob = try Identity(record: JSON.object(parsing: home.files.read("bob.key")))
        let id = Envelope.newID()
        func envelope(_ text: String) throws -> [UInt8] {
            line(
                try Sealed.seal(
                    body: Message.textBody(text), from: alice, to: bob.card(), time: .now(), id: id
                ).record)
        }
        let first = try envelope("one")
        #expect(try open(first).status == 0)
        let changed = try open(envelope("two"))
        #expect(changed.status == 13)
        #expect(try records(changed.stdout)[0]["type"] == .string("error"))
        // It does not change the state.
        #expect(try open(first).status == 0)
    }

    /// A carrier of an envelope may add members to it. They must not make the genuine one look like a replay.
    @Test func membersAddedInTransitAreNotAReplay() throws {
        let genuine = try seal("one")
        var record = try records(genuine)[0]
        record["note"] = .string("from the carrier")
        var payload = try #require(record["payload"]?.object)
        payload["note"] = .integer(1)
        record["payload"] = .object(payload)
        #expect(try open(line(record)).status == 0)
        let again = try open(genuine)
        #expect(again.status == 0)
        #expect(try records(again.stdout)[0]["seen"] == .bool(true))
    }

    @Test func statelessRemembersNothing() throws {
        let envelope = try seal("once", "--stateless")
        for _ in 0..<2 {
            let run = try open(envelope, "bob", "--stateless")
            #expect(run.status == 0)
            #expect(try records(run.stdout)[0]["seen"] == nil)
        }
        #expect(!home.files.exists("state"))
    }

    @Test func changedOuterFieldsAreRefused() throws {
        let record = try records(seal("x"))[0]
        let carol = try Card(record: JSON.object(parsing: home.files.read("carol.card"))).id
        for (name, value, status) in [
            ("id", "00000000-0000-4000-8000-000000000000", 11),
            ("time", "2020-01-01T00:00:00Z", 11),
            ("from", carol.description, 11), ("to", carol.description, 10), ("suite", "other", 65),
            ("type", "message", 65), ("id", "../../etc/passwd", 65),
        ] as [(String, String, Int32)] {
            var changed = record
            changed[name] = .string(value)
            let run = try open(line(changed))
            #expect(run.status == status, "\(name): \(run.stderr)")
            #expect(try records(run.stdout)[0]["type"] == .string("error"))
        }
        var passed = record
        passed["to"] = .string(carol.description)
        #expect(try open(line(passed), "carol").status == 10)
        #expect(try open(line(record)).status == 0)
    }

    @Test func aLineOverTheLimitIsSkippedAndTheOthersGoOn() throws {
        let (one, two) = (try seal("one"), try seal("two"))
        let long = [UInt8](text: "{\"x\":\"") + [UInt8](repeating: 0x61, count: 2 << 20) + [10]
        let run = try open(one + long + two)
        #expect(run.status == 15)
        let records = try records(run.stdout)
        #expect(records.map { $0["type"]?.string } == ["message", "error", "message"])
        #expect(records[1]["line"] == .integer(2))
    }

    @Test func aMessageTooLongOrEmptyIsRefused() throws {
        let long = try home.run(
            "encrypt", ["--to", "bob.card", "-i", "alice.key", "--stateless"],
            text: String(repeating: "x", count: 40_000))
        #expect(long.status == 65 && long.stdout.isEmpty && long.stderr.contains("hint:"))
        let empty = try home.run("encrypt", ["--to", "bob.card", "-i", "alice.key"])
        #expect(empty.status == 1 && empty.stdout.isEmpty)
    }

    @Test func anEmptyInputIs1() throws {
        let run = try open([])
        #expect(run.status == 1 && run.stdout.isEmpty)
        let text = try open([], "bob", "--text")
        #expect(text.status == 1 && text.stderr.isEmpty)
    }

    /// A bad line among good ones is one record in the file, as in a pipe; otherwise an attacker could suppress a whole
    /// batch with one bad line. If all lines fail, no file is created.
    @Test func messagesToAFile() throws {
        let envelope = try seal("x")
        let rubbish = Array("{}\n".utf8)
        let bad = try open(rubbish, "bob", "-o", "out")
        #expect(bad.status == 65 && !home.files.exists("out"))
        let mixed = try open(rubbish + envelope, "bob", "-o", "out")
        #expect(mixed.status == 15)
        #expect(
            try records(home.files.read("out")).map { $0["type"]?.string } == ["error", "message"])
    }

    @Test func everyLineIsPrintedImmediately() throws {
        let pipeline = try Pipeline([home.command("decrypt", ["-i", "bob.key", "--text"])])
        for text in ["one", "two", "three"] {
            try pipeline.feed(.whole(try seal(text)))
            try pipeline.collect { $0.suffix(text.utf8.count + 1).elementsEqual("\(text)\n".utf8) }
        }
        #expect(try pipeline.finish()[0].text == "one\ntwo\nthree\n")
    }

    @Test func exactlyOneOfTwoProcessesOpensEachEnvelopeFirst() throws {
        let envelopes = try (0..<20).flatMap { try seal("message \($0)") }
        let both = try [
            Pipeline([home.command("decrypt", ["-i", "bob.key"])]),
            Pipeline([home.command("decrypt", ["-i", "bob.key"])]),
        ]
        let lines = envelopes.split(separator: 10).map { Array($0) + [10] }
        for line in lines {
            for pipeline in both { try pipeline.feed(.whole(line)) }
        }
        let runs = try both.map { try $0.finish()[0] }
        #expect(runs.map(\.status) == [0, 0], "\(runs.map(\.stderr))")
        let opened = try runs.map { try records($0.stdout) }
        #expect(opened.map(\.count) == [20, 20])
        for (one, two) in zip(opened[0], opened[1]) {
            #expect(one["id"] == two["id"])
            #expect([one["seen"], two["seen"]].count { $0 == nil } == 1)
        }
    }

    @Test func theStateIsClosedToOthersAndHoldsNoPlaintext() throws {
        let envelope = try seal("x")
        #expect(try open(envelope).status == 0)
        let state = try home.files.names()
        #expect(state.contains("state"))
        var status = stat()
        #expect(stat(home.files("state"), &status) == 0 && status.st_mode & 0o077 == 0)
        for name in try FileManager.default.contentsOfDirectory(atPath: home.files("state")) {
            #expect(stat(home.files("state/" + name), &status) == 0)
            #expect(status.st_mode & 0o077 == 0, "\(name)")
            // The folder of blobs is empty here.
            guard status.st_mode & S_IFMT == S_IFREG else { continue }
            let bytes = try home.files.read("state/" + name)
            #expect(!String(decoding: bytes, as: UTF8.self).contains("unverified"), "\(name)")
        }
    }
}
