import Sotto
import SottoMessengers
import TestSupport
import Testing

/// Whisper2's frames of calls through `bridge seal` and `bridge open`.
struct Whisper2CallToolTests {
    let accounts: Accounts
    init() throws {
        accounts = try Accounts()
        try accounts.meet()
    }

    static let call = "6e2f0d1c-6c0b-4b7e-9d6f-2b8a5c3d1e0f"
    static let sdp = "v=0\r\nm=video 9 RTP/AVP 96\r\n"

    static func body(_ kind: String, _ more: [(String, JSON?)] = []) -> JSONObject {
        JSONObject(
            [
                ("type", .string("call")), ("call", .string(call)), ("kind", .string(kind)),
            ] + more)
    }

    /// Returns the frames of bodies from Alice to Bob.
    func seal(_ bodies: [JSONObject]) throws -> [JSONObject] {
        let input = bodies.map { body in
            let record: JSONObject = ["body": .object(body)]
            return String(decoding: record.serialized(), as: UTF8.self)
        }
        let run = try accounts.alice.run(
            "bridge", ["seal", "whisper2", "--to", "bob", "--jsonl", "-q"], stdin: lines(input))
        guard run.status == 0 else { throw Unexpected(run) }
        return try run.lines.map { try JSON.object(parsing: Array($0.utf8)) }
    }

    func open(_ frames: [JSONObject]) throws -> Run {
        try accounts.open(
            "whisper2", frames.map { String(decoding: $0.serialized(), as: UTF8.self) })
    }

    @Test func aCallGoesThroughTheBridge() throws {
        let candidate: JSONObject = [
            "candidate": .string("candidate:1 1 udp 1 192.0.2.7 9 typ host"),
            "sdpMid": .string("0"),
        ]
        let bodies = [
            Self.body("offer", [("media", .string("video")), ("sdp", .string(Self.sdp))]),
            Self.body("candidates", [("candidates", .array([.object(candidate)]))]),
            Self.body("hangup", [("reason", .string("declined"))]),
        ]
        let frames = try seal(bodies)
        #expect(
            frames.map { $0["type"]?.string } == [
                "call_initiate", "call_ice_candidate", "call_end",
            ])
        for frame in frames {
            #expect(frame.at("payload", "callId") == .string(Self.call))
            // The description and the addresses are in the box.
            let text = String(decoding: frame.serialized(), as: UTF8.self)
            #expect(!text.contains("192.0.2.7") && !text.contains("v=0"))
        }
        #expect(frames[0].at("payload", "isVideo") == .bool(true))
        #expect(frames[2].at("payload", "reason") == .string("declined"))

        let run = try open(frames)
        #expect(run.status == 0, "\(run.stderr)")
        let records = try run.records
        try #require(records.count == 3)
        for record in records {
            #expect(record["authenticated"] == .bool(true) && record["name"] == .string("alice"))
            #expect(record["from"] == .string(accounts.alice.identity.id.description))
            #expect(record["suite"] == .string("whisper2"))
        }
        #expect(records[0]["body"] == .object(bodies[0]))
        #expect(records[0]["ringing"] == .bool(true))
        #expect(records[1]["body"] == .object(bodies[1]))
        // The reason is not signed, so it is no fact.
        #expect(records[2]["body"] == .object(Self.body("hangup")))
        #expect(records[2].at("details", "untrusted", "reason") == .string("declined"))
        let shown = try accounts.bob.run("history", ["--text", "alice"])
        #expect(shown.text.contains("[missed video call]"), "\(shown.text)")
        // A repeat is recognised, and does not ring.
        let again = try open([frames[0]]).records[0]
        #expect(again["seen"] == .bool(true) && again["ringing"] == nil)
    }

    /// The offer of a call in another messenger need not be here.
    @Test func anAnswerAndABusyEndAreOpened() throws {
        let frames = try seal([
            Self.body("answer", [("sdp", .string("v=0\r\n"))]), Self.body("busy"),
        ])
        #expect(frames.map { $0["type"]?.string } == ["call_answer", "call_end"])
        #expect(frames[1].at("payload", "reason") == .string("busy"))
        let run = try open(frames)
        #expect(run.status == 0, "\(run.stderr)")
        #expect(
            try run.records.map { $0.at("body", "kind") } == [.string("answer"), .string("hangup")])
    }

    @Test func aChangedFrameIsRefused() throws {
        let frame = try seal([Self.body("offer", [("sdp", .string(Self.sdp))])])[0]
        func changed(_ name: String, _ value: JSON) throws -> JSONObject {
            var frame = frame
            var payload = try #require(frame["payload"]?.object)
            payload[name] = value
            frame["payload"] = .object(payload)
            return frame
        }
        for broken in [
            try changed("callId", .string(Envelope.newID())), try changed("timestamp", .integer(1)),
            try changed("sig", .string(Base64.standard.encode([UInt8](repeating: 1, count: 64)))),
            try changed("callId", .integer(1)), ["type": .string("call_initiate")],
        ] {
            let run = try open([broken])
            #expect(run.status == 11)
            #expect(try accounts.record(run)["message"] == .string(refusal))
        }
        var other = frame
        other["type"] = .string("call_answer")
        #expect(try open([other]).status == 11)
        // What the sender did not sign changes no decision.
        let run = try open([changed("isVideo", .bool(false))])
        #expect(try accounts.record(run).at("body", "media") == .string("video"))
    }

    @Test func whatAFrameCannotHaveIsRefused() throws {
        let many: [JSON] = [.string("candidate:1"), .string("candidate:2")]
        #expect(throws: (any Error).self) {
            try seal([Self.body("candidates", [("candidates", .array(many))])])
        }
        let run = try accounts.alice.run(
            "bridge",
            ["seal", "whisper2", "--to", "bob", "--group-id", "g", "--jsonl", "-q"],
            stdin: lines([
                String(
                    decoding: JSONObject([("body", .object(Self.body("busy")))]).serialized(),
                    as: UTF8.self)
            ]))
        #expect(run.status != 0)
    }
}
