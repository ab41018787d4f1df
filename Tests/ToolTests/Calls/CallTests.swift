import Sotto
import SottoDatabase
import SottoProgram
import SottoState
import TestSupport
import Testing

/// Calls: the signals of `compose call`, the states that `decrypt` checks, and the line in `history`.
struct CallTests {
    static let address = "192.0.2.7"
    static let sdp =
        "v=0\r\no=- 1 1 IN IP4 \(address)\r\ns=-\r\nt=0 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 96\r\n"
    static let candidate = "candidate:1 1 udp 2130706431 \(address) 49152 typ host"

    let they: Conversing
    var alice: Party { they.alice }
    var bob: Party { they.bob }

    init() throws { they = try Conversing() }

    // MARK: Steps

    /// Writes a signal for the other side. Returns its envelopes.
    func write(_ party: Party, _ words: String..., text: String = sdp) throws -> [String] {
        let composed = try party.compose(
            ["call"] + words + ["--to", they.peer(of: party).name], text: text)
        return try seal(party, composed.stdout)
    }

    func seal(_ party: Party, _ records: [UInt8], _ more: String...) throws -> [String] {
        let sealed = try party.run("encrypt", ["-q"] + more, stdin: records)
        guard sealed.status == 0 else { throw Unexpected(sealed) }
        return sealed.lines
    }

    /// Encrypts bodies of calls for the other side, whatever the state of the calls is.
    func seal(_ party: Party, _ bodies: [JSONObject], _ more: String...) throws -> [String] {
        let records = bodies.map { body in
            JSONObject([
                ("to", .string(they.peer(of: party).identity.id.description)),
                ("body", .object(body)),
            ])
        }
        let run = try party.run(
            "encrypt", ["-q", "--jsonl"] + more, stdin: lines(records.map { $0.text }))
        guard run.status == 0 else { throw Unexpected(run) }
        return run.lines
    }

    static func body(_ kind: String, _ call: String, _ more: [(String, JSON?)] = []) -> JSONObject {
        let sdp: JSON? = ["offer", "answer"].contains(kind) ? .string(Self.sdp) : nil
        return JSONObject(
            [
                ("type", .string("call")), ("call", .string(call)), ("kind", .string(kind)),
                ("sdp", sdp),
            ] + more)
    }

    /// Opens envelopes at a party. They are one batch.
    func open(_ party: Party, _ envelopes: [String], _ more: String...) throws -> Run {
        they.home.files.write("envelopes", lines(envelopes))
        return try party.run("decrypt", more + ["envelopes"])
    }

    /// Returns the lines of the calls with the other side.
    func calls(_ party: Party) throws -> [JSONObject] {
        try party.history(they.peer(of: party).name).map(\.body)
    }

    /// Returns the texts of the history with the other side.
    func texts(_ party: Party) throws -> String {
        try party.run("history", ["--text", they.peer(of: party).name]).text
    }

    func id(_ envelopes: [String], openedBy party: Party) throws -> String {
        let run = try open(party, envelopes)
        return try #require(run.records.first?.body["call"]?.string, "\(run.stderr)")
    }

    // MARK: A call

    @Test func aCallIsOneLineOnBothSides() throws {
        let offer = try write(alice, "offer")
        let envelope = try JSON.object(parsing: Array(offer[0].utf8))
        #expect(envelope["ttl"] == .integer(60))
        #expect(envelope["suite"] == .string("sealed"))
        let rung = try open(bob, offer).records[0]
        #expect(rung["ringing"] == .bool(true))
        #expect(rung.body["sdp"] == .string(Self.sdp))
        #expect(rung.body["media"] == .string("audio"))
        let call = try #require(rung.body["call"]?.string)
        #expect(try calls(bob).map { $0["state"] } == [.string("ringing")])
        #expect(try calls(alice).map { $0["state"] } == [.string("ringing")])

        // Without an id, the signals belong to the last call.
        let answered = try open(alice, try write(bob, "answer"))
        #expect(answered.status == 0, "\(answered.stderr)")
        #expect(try answered.records[0].body["call"] == .string(call))
        #expect(try answered.records[0]["ringing"] == nil)
        for (one, other) in [(alice, bob), (bob, alice)] {
            let run = try open(other, try write(one, "candidates", text: Self.candidate + "\n"))
            #expect(run.status == 0, "\(run.stderr)")
            #expect(try run.records[0].body["candidates"] == .array([.string(Self.candidate)]))
        }
        #expect(try calls(bob).map { $0["state"] } == [.string("answered")])

        // The call lasts some minutes.
        for party in [alice, bob] {
            try party.state { connection throws(StateError) in
                try connection.run("UPDATE message SET time = time - 200")
            }
        }
        #expect(try open(bob, try write(alice, "hangup")).status == 0)
        for party in [alice, bob] {
            let shown = try party.history(they.peer(of: party).name)
            #expect(shown.count == 1)
            let body = shown[0].body
            #expect(body["type"] == .string("system") && body["event"] == .string("call"))
            #expect(body["call"] == .string(call) && body["media"] == .string("audio"))
            #expect(body["state"] == .string("ended"))
            #expect((200..<260).contains(try #require(body["seconds"]?.integer)))
            #expect(try texts(party).contains("[audio call, 3 min]"))
            // No address of the call is kept.
            let stored = try party.run("history", ["export"]).text
            #expect(stored.contains(call) && !stored.contains(Self.address))
        }
        // The call is over.
        let late = try bob.run(
            "compose", ["call", "hangup", "--to", "alice"])
        #expect(late.status == 1 && late.stderr.contains("no call with alice"))
    }

    @Test func aRepeatedOfferDoesNotRing() throws {
        let offer = try write(alice, "offer")
        #expect(try open(bob, offer).records[0]["ringing"] == .bool(true))
        let again = try open(bob, offer).records[0]
        #expect(again["seen"] == .bool(true) && again["ringing"] == nil)
        #expect(again.body["sdp"] == .string(""))
    }

    @Test(arguments: [
        ("busy", [], "busy"), ("hangup", ["--reason", "declined"], "declined"),
        ("hangup", ["--reason", "failed"], "failed"), ("hangup", [], "missed"),
    ])
    func aCallThatIsNotTakenSaysWhy(_ signal: String, _ words: [String], _ state: String) throws {
        let offer = try write(alice, "offer", text: "v=0\r\n")
        let call = try id(offer, openedBy: bob)
        let composed = try bob.compose(["call", signal, "--to", "alice"] + words)
        #expect(try open(alice, try seal(bob, composed.stdout)).status == 0)
        #expect(try calls(bob).map { $0["state"] } == [.string(state)])
        let own = state == "missed" ? "unanswered" : state
        #expect(try calls(alice).map { $0["state"] } == [.string(own)])
        // Without audio and video it is only a call.
        let line = state == "missed" ? "[missed call]" : "[call, \(state)]"
        #expect(try texts(bob).contains(line))
        #expect(try calls(bob)[0]["call"] == .string(call))
    }

    // MARK: Odd steps

    @Test func anOddStepIsAnErrorRecordAndFailsNothingElse() throws {
        let call = Envelope.newID()
        let text: JSONObject = ["type": .string("text"), "text": .string("hello")]
        let candidates: [(String, JSON?)] = [("candidates", .array([.string(Self.candidate)]))]
        let steps: [(body: JSONObject, error: String?)] = [
            (Self.body("answer", call), "was not offered"),
            (Self.body("busy", call), "was not offered"),
            (Self.body("offer", call), nil),
            (Self.body("offer", call), "was offered before"),
            (Self.body("answer", call), "cannot be answered by its caller"),
            (Self.body("busy", call), "cannot be answered by its caller"),
            (Self.body("candidates", call, candidates), nil),
            (text, nil),
            (Self.body("hangup", call), nil),
            (Self.body("answer", call), "is over"),
            (Self.body("offer", call), "was offered before"),
        ]
        let run = try open(bob, seal(alice, steps.map(\.body)))
        #expect(run.status == 15)
        let records = try run.records
        try #require(records.count == steps.count)
        for (record, step) in zip(records, steps) {
            let message = record["message"]?.string ?? ""
            if let error = step.error {
                #expect(record["type"] == .string("error") && message.contains(error))
                #expect(record["status"] == .integer(65))
            } else {
                #expect(record["type"] == .string("message"), "\(message)")
            }
        }
        #expect(try bob.history("alice").count == 2)
    }

    /// The offer ended at the relay while the machine was off. The end of the call arrives.
    @Test func aCallWhoseOfferDidNotArriveIsMissed() throws {
        let call = Envelope.newID()
        let candidates: [(String, JSON?)] = [("candidates", .array([.string(Self.candidate)]))]
        let signals = try seal(
            alice, [Self.body("candidates", call, candidates), Self.body("hangup", call)])
        let run = try open(bob, signals, "--text", "-q")
        #expect(run.status == 0 && run.text == "[missed call]\n", "\(run.text)\(run.stderr)")
        #expect(try calls(bob).map { $0["state"] } == [.string("missed")])
        #expect(try texts(bob).contains("[missed call]"))
        #expect(try open(bob, signals).status == 0)
        #expect(try calls(bob).count == 1)
    }

    /// Signals that come after the end of their call are no errors.
    @Test func aSignalThatComesAfterItsCallIsDropped() throws {
        let candidates: [(String, JSON?)] = [("candidates", .array([.string(Self.candidate)]))]
        let call = try id(try write(alice, "offer"), openedBy: bob)
        let signals = [
            Self.body("hangup", call), Self.body("hangup", call),
            Self.body("candidates", call, candidates),
        ]
        let run = try open(bob, seal(alice, signals))
        #expect(run.status == 0, "\(run.stderr)")
        #expect(try run.records.compactMap { $0.body["kind"]?.string } == ["hangup"])
        #expect(try calls(bob).map { $0["state"] } == [.string("missed")])
    }

    /// Ends of calls that were never offered are bounded like offers.
    @Test func aStormOfEndsIsBoundedAndCounted() throws {
        let run = try open(
            bob, seal(alice, (0..<9).map { _ in Self.body("hangup", Envelope.newID()) }))
        #expect(run.status == 0, "\(run.stderr)")
        let shown = try calls(bob)
        #expect(shown.count == 6 && shown.last?["more"] == .integer(3))
    }

    @Test(arguments: [
        (HistoryEntry.State.failed, "refused by the relay"),
        (.lapsed, "its time to live ended in the outbox"), (.dropped, "dropped from the outbox"),
    ]) func anOfferThatWasNotSentDoesNotRing(
        _ state: HistoryEntry.State, _ reason: String
    ) throws {
        _ = try write(alice, "offer")
        try alice.state { connection throws(StateError) in
            try connection.run("UPDATE message SET state = ?", state.rawValue)
        }
        #expect(try calls(alice).map { $0["state"] } == [.string("unanswered")])
        let shown = try texts(alice)
        #expect(
            shown.contains("[audio call, not answered]  [not sent: \(reason)]"),
            "\(shown)")
    }

    @Test func aCallIsAnsweredOnce() throws {
        let call = try id(try write(alice, "offer"), openedBy: bob)
        let answers = [
            Self.body("answer", call), Self.body("answer", call), Self.body("busy", call),
        ]
        let run = try open(alice, seal(bob, answers))
        #expect(
            try run.records.map { $0["type"]?.string } == ["message", "error", "error"])
        #expect(try calls(alice).map { $0["state"] } == [.string("answered")])
    }

    @Test func onlyTheTwoSidesSignalACall() throws {
        let carol = try Party("carol", in: they.home)
        #expect(try bob.run("contact", ["add", carol.card]).status == 0)
        #expect(try carol.run("contact", ["add", bob.card]).status == 0)
        let call = try id(try write(alice, "offer"), openedBy: bob)
        let record = JSONObject([
            ("to", .string(bob.identity.id.description)),
            ("body", .object(Self.body("hangup", call))),
        ])
        let sealed = try carol.run("encrypt", ["-q", "--jsonl"], stdin: lines([record.text]))
        let run = try open(bob, sealed.lines)
        #expect(try run.records.map { $0.body["reason"] } == [.string("timeout")])
        #expect(try calls(bob).map { $0["state"] } == [.string("ringing")])
    }

    @Test(arguments: [nil, "0", "1d"]) func aSignalLivesForAMinuteWhateverIsAsked(_ ttl: String?)
        throws
    {
        let offer = Self.body("offer", Envelope.newID())
        let sealed = try ttl.map { try seal(alice, [offer], "--ttl", $0) } ?? seal(alice, [offer])
        let envelope = try JSON.object(parsing: Array(sealed[0].utf8))
        #expect(envelope["ttl"] == .integer(ttl == "0" ? 1 : 60))
    }

    // MARK: C11

    @Test func c11OnlyAContactRings() throws {
        let dave = try Party("dave", in: they.home)
        #expect(try dave.run("contact", ["add", bob.card]).status == 0)
        for policy in [[], ["--trust", "any"]] {
            let composed = try dave.run(
                "compose", ["call", "offer", "--to", "bob"], stdin: Array(Self.sdp.utf8))
            let sealed = try dave.run("encrypt", ["-q"], stdin: composed.stdout)
            they.home.files.write("envelopes", sealed.stdout)
            let run = try bob.run("decrypt", policy + ["envelopes"])
            #expect(run.status == 0 && run.stdout.isEmpty, "\(run.stderr)")
        }
        #expect(try bob.run("contact", ["requests"]).status == 1)
        let blocked = try write(alice, "offer")
        #expect(try bob.run("contact", ["block", "alice"]).status == 0)
        #expect(try open(bob, blocked).stdout.isEmpty)
    }

    /// The relay deletes an offer after 60 s. These were held elsewhere.
    @Test func c11AnOldOfferDoesNotRing() throws {
        var bob = bob
        let clock = try MovedClock()
        bob.clock = clock
        // Without an inbox the clocks count.
        let envelopes = try write(alice, "offer")
        clock.set(61)
        let run = try open(bob, envelopes)
        let record = try #require(run.records.first)
        #expect(record["ringing"] == nil && record.body["reason"] == .string("timeout"))
        #expect(try calls(bob).map { $0["state"] } == [.string("missed")])
        #expect(try texts(bob).contains("[missed audio call]"))
        // With an inbox, the clock of the sender is not used.
        clock.set(3_600)
        let other = try write(alice, "offer")
        try bob.receive(other)
        try bob.state { connection throws(StateError) in
            try connection.run("UPDATE inbox SET arrived = arrived + 3600")
        }
        #expect(try open(bob, other).records[0]["ringing"] == .bool(true))
        // It waited in the inbox.
        let late = try write(alice, "offer")
        try bob.receive(late)
        try bob.state { connection throws(StateError) in
            try connection.run("UPDATE inbox SET arrived = arrived + 3539")
        }
        #expect(try open(bob, late).records[0]["ringing"] == nil)
        let text = try open(bob, try write(alice, "offer"), "--text", "-q").text
        #expect(text == "[missed audio call]\n")
    }

    @Test func c11AnOfferThatTheRelayMayHoldForLongerDoesNotRing() throws {
        let key = alice.identity
        let peer = try Card(record: JSON.object(parsing: they.home.files.read(bob.card)))
        for (ttl, rings) in [(60, true), (61, false), (nil, false)] as [(Int64?, Bool)] {
            let envelope = try Sealed.seal(
                body: Self.body("offer", Envelope.newID()), from: key, to: peer, time: .now(),
                ttl: ttl)
            let run = try open(bob, [envelope.record.text])
            #expect(try (run.records[0]["ringing"] == .bool(true)) == rings, "\(run.stderr)")
        }
        let volatile = try Sealed.seal(
            body: Self.body("offer", Envelope.newID()), from: key, to: peer, time: .now(), ttl: 0)
        #expect(try open(bob, [volatile.record.text]).status == 65)
    }

    @Test func c11ASenderCannotSayThatAnOfferRings() throws {
        let peer = try Card(record: JSON.object(parsing: they.home.files.read(bob.card)))
        for body in [
            Self.body("offer", Envelope.newID()),
            ["type": .string("text"), "text": .string("hello")],
        ] {
            let envelope = try Sealed.seal(
                body: body, extra: [("ringing", .bool(true))], from: alice.identity, to: peer,
                time: .now(), ttl: 61)
            let run = try open(bob, [envelope.record.text])
            #expect(try run.records[0]["ringing"] == nil, "\(run.stderr)")
        }
    }

    @Test func c11AStormOfOffersIsBoundedAndCounted() throws {
        let limit = 6
        let offers = (0..<limit + 3).map { _ in Self.body("offer", Envelope.newID()) }
        let run = try open(bob, seal(alice, offers))
        let records = try run.records
        #expect(records.filter { $0["ringing"] == .bool(true) }.count == limit)
        let errors = records.suffix(3).compactMap { $0["message"]?.string }
        #expect(errors.map { $0.hasSuffix(": 3 refused") } == [false, false, true])
        #expect(errors.allSatisfy { $0.contains("more than 6 calls in 10 minutes from alice") })
        let shown = try calls(bob)
        #expect(shown.count == limit && shown.last?["more"] == .integer(3))
        #expect(shown.dropLast().allSatisfy { $0["more"] == nil })
        #expect(try texts(bob).contains("[call, ringing, and 3 more]"))
        // A call that rings can be answered, and another contact can call.
        #expect(try open(alice, try write(bob, "answer")).status == 0)
        let carol = try Party("carol", in: they.home)
        #expect(try bob.run("contact", ["add", carol.card]).status == 0)
        #expect(try carol.run("contact", ["add", bob.card]).status == 0)
        let composed = try carol.run(
            "compose", ["call", "offer", "--to", "bob"], stdin: Array(Self.sdp.utf8))
        let sealed = try carol.run("encrypt", ["-q"], stdin: composed.stdout)
        #expect(try open(bob, sealed.lines).records[0]["ringing"] == .bool(true))
        // After ten minutes the contact can call again.
        try bob.state { connection throws(StateError) in
            try connection.run("UPDATE message SET time = time - 700")
        }
        #expect(try open(bob, try write(alice, "offer")).records[0]["ringing"] == .bool(true))
    }

    @Test func aCallNeedsTheState() throws {
        let run = try open(bob, try write(alice, "offer"), "--stateless")
        #expect(run.status == 64 && run.text.contains("a call requires the state directory"))
    }

    @Test func aPreviewDoesNotRing() throws {
        let offer = try write(alice, "offer")
        #expect(try open(bob, offer, "--preview").records[0]["ringing"] == nil)
        #expect(try open(bob, offer).records[0]["ringing"] == .bool(true))
    }

    // MARK: compose

    @Test func aGroupCannotBeCalled() throws {
        #expect(try alice.run("group", ["create", "team", "bob"]).status == 0)
        let run = try alice.run(
            "compose", ["call", "offer", "--to", "team"], stdin: Array(Self.sdp.utf8))
        #expect(run.status == 64 && run.stderr.contains("a call is between two people"))
        let record = JSONObject([
            ("group", .string("team")), ("body", .object(Self.body("offer", Envelope.newID()))),
        ])
        let sealed = try alice.run("encrypt", ["--jsonl"], stdin: lines([record.text]))
        #expect(sealed.status != 0 && !sealed.text.contains("envelope"))
        #expect((sealed.text + sealed.stderr).contains("a call is between two people"))
    }

    @Test func malformedInputIsRefused() throws {
        let call = Envelope.newID()
        let cases: [(words: [String], text: String, status: Int32)] = [
            (["offer", "--to", "bob"], "hello", 65), (["offer", "--to", "bob"], "", 65),
            (["offer", "--to", "bob"], Self.sdp + String(repeating: "a", count: 17_000), 65),
            (["candidates", "--to", "bob", "--id", call], "", 1),
            (["candidates", "--to", "bob", "--id", call], "{", 65),
            (
                ["candidates", "--to", "bob", "--id", call],
                String(repeating: "a", count: 1_100), 65
            ),
            (["answer", "--to", "bob"], Self.sdp, 1), (["hangup", "--to", "bob"], "", 1),
            (["offer", "--to", "me"], Self.sdp, 1), (["offer"], Self.sdp, 64),
            (["ring", "--to", "bob"], "", 64), (["busy", "--to", "bob", "--id", "1"], "", 64),
            (["hangup", "--to", "bob", "--id", call, "--reason", "bored"], "", 64),
            (["busy", "--to", "bob", "--id", call, "--reason", "busy"], "", 64),
        ]
        for (words, text, status) in cases {
            let run = try alice.run("compose", ["call"] + words, stdin: Array(text.utf8))
            #expect(run.status == status, "\(words): \(run.stderr)")
        }
    }

    @Test func manyCandidatesAreSeveralSignals() throws {
        let text = (0..<100).map { "candidate:\($0)\n" }.joined() + "candidate:7\n"
        let objects = #"{"candidate":"candidate:x","sdpMid":"0"}"# + "\n"
        let run = try alice.compose(
            ["call", "candidates", "--to", "bob", "--id", Envelope.newID()], text: text + objects)
        let lists = try run.records.map { $0.body["candidates"]?.array ?? [] }
        #expect(lists.map(\.count) == [64, 37])
        #expect(lists[1].last?.object?["sdpMid"] == .string("0"))
    }

    @Test(
        arguments: [
            (["state": .string("missed")], "missed call"),
            (["state": .string("ended"), "seconds": .integer(0)], "call, 0 s"),
            (["state": .string("ended"), "seconds": .integer(59)], "call, 59 s"),
            (["state": .string("ended"), "seconds": .integer(239)], "call, 3 min"),
            (
                ["media": .string("video"), "state": .string("ended"), "seconds": .integer(4_000)],
                "video call, 1 h 6 min"
            ),
            (["media": .string("x\u{1B}"), "state": .string("y")], "call"),
            (["state": .string("busy"), "more": .integer(1)], "call, busy, and 1 more"),
        ] as [(JSONObject, String)])
    func aCallHasWords(_ body: JSONObject, _ words: String) {
        #expect(CallWords.of(body) == words)
    }
}

extension JSONObject {
    /// The object on one line.
    fileprivate var text: String { String(decoding: serialized(), as: UTF8.self) }
}
