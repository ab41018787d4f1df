import Foundation
import Sotto
import SottoMessengers
import TestSupport
import Testing

/// `bridge seal kecalek --group` and the messages that it makes.
struct SenderKeyToolTests {
    /// Alice and others with classical sessions, in the group `team` of Alice's state.
    private func circle(_ names: [String]) throws -> Circle {
        let circle = try Circle(["alice"] + names)
        for name in names { try begin(circle, name) }
        try circle.team(["alice"] + names)
        return circle
    }

    private func begin(_ circle: Circle, _ name: String) throws {
        let bundle = try circle[name].bundle { $0["pqSignedPreKey"] = nil }
        let run = try circle["alice"].run(
            "bridge", ["seal", "kecalek", "--to", name, "--classic", "--bundle", bundle, "-q"],
            stdin: Array("begin".utf8))
        guard run.status == 0 else { throw Unexpected(run) }
        #expect(try open(circle, name, run.lines).status == 0)
    }

    private func seal(_ circle: Circle, _ text: String, _ more: String...) throws -> Run {
        try circle["alice"].run(
            "bridge", ["seal", "kecalek", "-q"] + (more.isEmpty ? ["--group", "team"] : more),
            stdin: Array(text.utf8))
    }

    private func open(_ circle: Circle, _ who: String, _ lines: [String]) throws -> Run {
        try circle[who].run(
            "bridge", ["open", "kecalek", "--from", "alice"],
            stdin: Array(lines.map { $0 + "\n" }.joined().utf8))
    }

    /// The lines for a member: the chain, if a line has it, and the message.
    private func mail(_ run: Run, to id: KeyID) throws -> [String] {
        try run.lines.filter { line in
            let to = try JSON.object(parsing: Array(line.utf8))["to"]?.string
            return to == nil || to == id.description
        }
    }

    @Test func oneMessageIsForAllMembers() throws {
        let circle = try circle(["bob", "carol"])
        let first = try seal(circle, "hello")
        #expect(first.status == 0 && first.lines.count == 3, "\(first.stderr)")
        let second = try seal(circle, "again")
        #expect(second.status == 0 && second.lines.count == 1, "\(second.stderr)")
        let record = try JSON.object(parsing: Array(second.lines[0].utf8))
        #expect(record.members.map(\.name) == ["chainId", "iteration", "ciphertext", "signature"])
        #expect(record["iteration"] == .integer(1))
        let group = try circle.must("alice", "group", ["show", "team"]).records[0]["id"]
        for name in ["bob", "carol"] {
            let lines = try mail(first, to: circle[name].identity.id)
            #expect(lines.count == 2)
            // The second message arrives before the first.
            let run = try open(circle, name, [lines[0], second.lines[0], lines[1]])
            #expect(run.status == 0, "\(run.stderr)")
            let records = try run.records
            #expect(records.count == 3)
            // The key is neither printed nor stored.
            #expect(records[0].at("body", "type") == .string("sender_key"))
            #expect(records[0].at("body", "chainKey") == nil && !run.text.contains("chainKey"))
            #expect(records[1].at("body", "text") == .string("again"))
            #expect(records[2].at("body", "text") == .string("hello"))
            for message in records[1...] {
                #expect(message["from"] == .string(circle["alice"].identity.id.description))
                #expect(message["authenticated"] == .bool(true))
                #expect(message.at("details", "group") == group)
            }
            #expect(try !circle[name].run("history", ["--raw"]).text.contains("chainKey"))
            let key = try circle[name].run(
                "bridge", ["open", "kecalek", "--from", "alice", "--text", "-q"],
                stdin: Array(lines[0].utf8) + [10])
            #expect(key.text == "[sent the key of a group]\n", "\(key.stderr)")
            let again = try open(circle, name, [lines[1]])
            #expect(try again.records[0]["seen"] == .bool(true))
            let texts = try circle[name].history("team").compactMap { $0.body["text"]?.string }
            #expect(texts.suffix(2) == ["again", "hello"])
        }
        // The sender has both once, in the group.
        let own = try circle["alice"].history("team").compactMap { $0.body["text"]?.string }
        #expect(own == ["hello", "again"])
    }

    /// The chain is new after a member left, and a new member cannot read what was before.
    @Test func membersComeAndGo() throws {
        let circle = try Circle(["alice", "bob", "carol"])
        for name in ["bob", "carol"] { try begin(circle, name) }
        func seal(_ text: String, _ to: [String]) throws -> Run {
            let run = try circle["alice"].run(
                "bridge",
                ["seal", "kecalek", "-q", "--group-id", "g"] + to.flatMap { ["--to", $0] },
                stdin: Array(text.utf8))
            guard run.status == 0 else { throw Unexpected(run) }
            return run
        }
        let alone = try seal("bob only", ["bob"])
        #expect(alone.lines.count == 2)
        let joined = try seal("both", ["bob", "carol"])
        #expect(joined.lines.count == 2)
        let carol = circle["carol"].identity.id
        let chain = try JSON.object(parsing: Array(joined.lines[1].utf8))["chainId"]
        let read = try open(circle, "carol", mail(joined, to: carol) + [alone.lines[1]])
        #expect(read.status == 15, "\(read.stderr)")
        #expect(try read.records[1].at("body", "text") == .string("both"))
        #expect(try read.records[2]["type"] == .string("error"))
        let left = try seal("without bob", ["carol"])
        #expect(left.lines.count == 2)
        #expect(try JSON.object(parsing: Array(left.lines[1].utf8))["chainId"] != chain)
        let outside = try open(circle, "bob", [left.lines[1]])
        #expect(outside.status == 11, "\(outside.stderr)")
        #expect(try open(circle, "carol", left.lines).status == 0)
    }

    @Test func membersWithoutASessionAreNamed() throws {
        let circle = try Circle(["alice", "bob", "carol"])
        try begin(circle, "bob")
        try circle.team(["alice", "bob", "carol"])
        let run = try seal(circle, "hello")
        #expect(run.status == 15 && run.lines.count == 2, "\(run.stderr)")
        #expect(run.stderr.contains("carol gets no message"))
        #expect(run.stderr.contains("1 of 2 members of team get no message"))
        let none = try seal(circle, "hello", "--to", "carol", "--group-id", "g")
        #expect(none.status == 10 && none.stdout.isEmpty, "\(none.stderr)")
    }

    /// A forged, changed or repeated message of a group changes nothing.
    @Test func changedMessagesAreRefused() throws {
        let circle = try circle(["bob"])
        let run = try seal(circle, "hello")
        let lines = run.lines
        #expect(try open(circle, "bob", [lines[0]]).status == 0)
        for name in ["chainId", "iteration", "ciphertext", "signature"] {
            let changed = try changing(lines[1]) { record in
                switch record[name] {
                case .integer(let number): record[name] = .integer(number + 1)
                case .string(let text):
                    let first = text.first == "a" ? "b" : "a"
                    record[name] = .string(first + text.dropFirst())
                default: break
                }
            }
            let refused = try open(circle, "bob", [changed])
            #expect([11, 65].contains(refused.status), "\(name) \(refused.stderr)")
        }
        let stateless = try circle["bob"].run(
            "bridge", ["open", "kecalek", "--stateless"], stdin: Array((lines[1] + "\n").utf8))
        #expect(stateless.status == 64, "\(stateless.stderr)")
        let preview = try circle["bob"].run(
            "bridge", ["open", "kecalek", "--preview"], stdin: Array((lines[1] + "\n").utf8))
        #expect(preview.status == 0, "\(preview.stderr)")
        let opened = try open(circle, "bob", [lines[1]])
        #expect(opened.status == 0, "\(opened.stderr)")
        #expect(try opened.records[0]["seen"] == nil)
    }

    /// What Python writes with a chain is read, and what the tool writes is read by Python.
    @Test(.needs(.pythonPackages)) func anIndependentProgramReadsAndWrites() throws {
        let circle = try circle(["bob"])
        let bob = circle["bob"].identity.id
        // Python's chain, distributed as the text of a message.
        let key = randomBytes(32)
        func python(_ iteration: Int, _ text: String) throws -> Peers.Answer {
            try Peers.ask([
                "op": "sender_key_seal", "chainKey": Peers.text(key), "iteration": "\(iteration)",
                "m": Peers.text(Array(text.utf8)),
                "seed": Peers.text([UInt8](repeating: 7, count: 32)),
            ])
        }
        let answers = try (0..<3).map { try python($0, "from python \($0)") }
        let distribution = JSONObject([
            ("type", .string("sender_key")), ("groupId", .string("python")),
            ("chainId", .string(answers[0]["chainId"])), ("iteration", .integer(0)),
            ("chainKey", .base64(key)), ("signingKey", .string(answers[0]["signingKey"])),
        ])
        let body = JSONObject([("body", .object(distribution))])
        let sent = try circle["alice"].run(
            "bridge", ["seal", "kecalek", "--to", "bob", "-q", "--jsonl"],
            stdin: body.serialized() + [10])
        #expect(sent.status == 0, "\(sent.stderr)")
        let lines = answers.enumerated().map { iteration, answer in
            String(
                decoding: JSONObject([
                    ("chainId", .string(answer["chainId"])),
                    ("iteration", .integer(Int64(iteration))),
                    ("ciphertext", .string(answer["ciphertext"])),
                    ("signature", .string(answer["signature"])),
                ]).serialized(), as: UTF8.self)
        }
        let run = try open(circle, "bob", sent.lines + [lines[2], lines[0], lines[1]])
        #expect(run.status == 0, "\(run.stderr)")
        let texts = try run.records.dropFirst().map { $0.at("body", "text")?.string }
        #expect(texts == ["from python 2", "from python 0", "from python 1"])
        #expect(try run.records.last?.at("details", "group") == .string("python"))

        // The library opens the distribution of the tool, so that Python gets the key.
        let own = try seal(circle, "to python")
        let first = try JSON.object(parsing: Array(own.lines[0].utf8))
        #expect(first["to"] == .string(bob.description) && first["encryptedPayload"] != nil)
        let message = try JSON.object(parsing: Array(own.lines[1].utf8))
        #expect(message["chainId"]?.string?.utf8.count == 64)
    }
}
