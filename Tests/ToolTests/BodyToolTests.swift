import Sotto
import SottoState
import TestSupport
import Testing

/// Tests of the kinds of messages with the built programs: what is refused, printed and passed through.
struct BodyToolTests {
    let two: Couple
    var alice: Party { two.alice }
    var bob: Party { two.bob }
    private let target = MessageTarget(
        id: "6e2f0d1c-6c0b-4b7e-9d6f-2b8a5c3d1e0f",
        from: KeyID("05" + String(repeating: "0a", count: 32))!)

    init() throws { two = try Couple() }

    private func body(_ type: String, _ members: [(String, JSON?)] = []) -> JSONObject {
        JSONObject([("type", .string(type)), ("target", .object(target.record))] + members)
    }

    private func profile(_ members: JSONObject) -> JSONObject {
        var body = members
        body["type"] = .string("profile")
        body["issued"] = .string("2026-11-26T09:30:00Z")
        return body
    }

    /// A body that only a faulty program sends, because `encrypt` refuses it.
    private var malformed: JSONObject { body("reaction", [("emoji", .string("ok"))]) }

    /// Returns the line of a sealed envelope to Bob with any body.
    private func seal(_ body: JSONObject) throws -> String {
        let card = try Card(record: JSON.object(parsing: two.home.files.read(bob.card)))
        let envelope = try Sealed.seal(
            body: body, from: alice.identity, to: card, time: .now())
        return String(decoding: envelope.record.serialized(), as: UTF8.self)
    }

    /// Returns the line of an envelope in Alice's session with Bob.
    private func ratchet(_ body: JSONObject) throws -> String {
        let store = try IdentityStore(
            directory: StateDirectory(path: two.home.files(alice.stateDirectory)),
            identity: alice.identity, lockTimeout: 20)
        let envelope = try store.transaction {
            try $0.seal(Draft(body: body), to: bob.identity.id)
        }
        return String(decoding: envelope.record.serialized(), as: UTF8.self)
    }

    private func record(_ line: String) throws -> JSONObject {
        try JSON.object(parsing: Array(line.utf8))
    }

    @Test func aMalformedBodyIsRefusedAndItsSessionContinues() throws {
        try two.begin()
        let bad = try ratchet(malformed)
        let good = try alice.write(["after"], to: bob)
        try bob.receive([bad])
        let run = try bob.read([bad] + good)
        #expect(run.status == 15 && run.lines.count == 2, "\(run.stderr)")
        let error = try record(run.lines[0])
        #expect(error["type"] == .string("error") && error["status"] == .integer(65))
        #expect(try error["id"] == record(bad)["id"] && error["line"] == .integer(1))
        #expect(error["message"]?.string?.contains("\"emoji\" is missing or malformed") == true)
        #expect(try run.messages.map(\.text) == ["after"])
        // It is final: the inbox does not keep it.
        #expect(try bob.unread().isEmpty)
        // Its message key is used.
        #expect(try bob.read([bad]).status == 13)
        #expect(try bob.texts(alice.write(["later"], to: bob)) == ["later"])
        #expect(try alice.texts(bob.write(["answer"], to: alice)) == ["answer"])
    }

    @Test(arguments: [[], ["--preview"], ["--stateless"]])
    func aMalformedSealedBodyIsRefusedEachTime(_ options: [String]) throws {
        let long = body("receipt", [("status", .string("read"))])
        let nested = body("edit", [("body", .object(body("delete")))])
        let lines = try [seal(malformed), seal(long), seal(nested), seal(body("system"))]
        for _ in 0..<2 {
            let run = try bob.run("decrypt", options, stdin: ToolTests.lines(lines))
            #expect(run.status == 65 && run.lines.count == 4, "\(run.stderr)")
            for line in run.lines { #expect(try record(line)["status"] == .integer(65)) }
        }
    }

    /// A malformed message of an unknown sender is no message request, and a blocked sender gets no report.
    @Test func aMalformedBodyOfAnotherSenderIsNoRequest() throws {
        try two.home.makePerson("carol")
        #expect(try bob.run("contact", ["add", "carol.card"]).status == 0)
        let run = try bob.read([seal(malformed)])
        #expect(run.status == 65, "\(run.stderr)")
        #expect(try bob.run("contact", ["requests"]).status == 1)
        #expect(try bob.run("contact", ["add", alice.card]).status == 0)
        #expect(try bob.run("contact", ["block", "alice"]).status == 0)
        let dropped = try bob.read([seal(malformed)])
        #expect(dropped.status == 0 && dropped.stdout.isEmpty, "\(dropped.stderr)")
    }

    @Test func anUnknownTypeAndUnknownMembersPassThrough() throws {
        let sent = [
            #"{"type":"poll","question":"when?","expires":7}"#,
            #"{"type":"text","text":"hi","mood":{"colour":"red"}}"#,
        ]
        let made = try alice.write(sent.map { #"{"body":\#($0)}"# }, to: bob)
        let run = try bob.read(made)
        #expect(run.status == 0)
        for (line, body) in zip(run.lines, sent) {
            #expect(try record(line)["body"] == .object(record(body)))
        }
    }

    @Test func encryptRefusesWhatDecryptWouldRefuse() throws {
        let bodies = [malformed, body("system"), body("pin", [("until", .string("tomorrow"))])]
        let input = lines(
            bodies.map {
                String(decoding: JSONObject([("body", .object($0))]).serialized(), as: UTF8.self)
            })
        let run = try alice.run("encrypt", ["--to", bob.card, "--jsonl"], stdin: input)
        #expect(run.status == 65 && run.lines.count == 3)
        #expect(!run.text.contains("envelope"))
    }

    @Test func textOutputDescribesEachKind() throws {
        let id = target.id
        let text: JSON = .object(Message.textBody("new\ntext"))
        let bodies: [(body: JSONObject, line: String)] = [
            (body("reaction", [("emoji", .string("👍"))]), "[reacted 👍 to a message]"),
            (body("reaction", [("emoji", .string(""))]), "[removed the reaction to a message]"),
            (body("edit", [("body", text)]), "[edited a message] new\ntext"),
            (body("delete"), "[deleted a message]"),
            (body("pin"), "[pinned a message]"),
            (
                body("pin", [("until", .string("2026-12-24T18:00:00Z"))]),
                "[pinned a message until 2026-12-24T18:00:00Z]"
            ),
            (body("unpin"), "[unpinned a message]"),
            (
                [
                    "type": .string("receipt"), "status": .string("read"),
                    "ids": .array([.string(id)]), "time": .string("2026-12-24T18:00:00Z"),
                ], "[read: a message]"
            ),
            (
                ["type": .string("timer"), "seconds": .integer(60)],
                "[messages are deleted after 60 s]"
            ),
            (["type": .string("timer"), "seconds": .integer(0)], "[messages are kept]"),
            (["type": .string("typing"), "state": .string("started")], "[is typing]"),
            (["type": .string("presence"), "state": .string("offline")], "[is offline]"),
            (profile(["name": .string("Alice")]), "[sent a profile: name \"Alice\"]"),
            (
                profile(["name": .string("a] \"b\u{200B}"), "about": .string("x")]),
                "[sent a profile: name \"a) 'b\u{FFFD}\", description]"
            ),
            (profile([:]), "[removed the profile]"),
            (body("poll"), "[unsupported message of type poll]"),
            (body("a\nb", [("text", .string("so?"))]), "[unsupported message of type ?] so?"),
        ]
        let run = try bob.read(bodies.map { try seal($0.body) }, "--text", "-q")
        #expect(run.status == 0)
        #expect(run.text == bodies.map { $0.line + "\n" }.joined())
    }
}
