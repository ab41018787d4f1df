import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// Hybrid sessions with the programs: what waits, what a relay can remove, and both sides that begin at once.
struct HybridToolTests {
    let two: Couple
    var alice: Party { two.alice }
    var bob: Party { two.bob }

    init() throws { two = try Couple() }

    private func kem(_ envelope: String) throws -> JSONObject? {
        try payload(envelope)["kem"]?.object
    }

    private func without(_ member: String, _ envelope: String) throws -> String {
        try changing(payload: envelope) { $0[member] = nil }
    }

    private func texts(_ range: ClosedRange<Int>) -> [String] { range.map { "message \($0)" } }

    /// Returns the number of the prekeys in the state.
    private func preKeys(_ party: Party) throws -> Int64 {
        try party.state { connection throws(StateError) in
            try connection.integer("SELECT count(*) FROM prekey")
        }
    }

    @Test func eachChainCarriesItsKEM() throws {
        let first = try alice.write(texts(0...5), to: bob, "--bundle", bob.bundle())
        #expect(try first.map { try kem($0) != nil } == [true, true, true, false, true, false])
        #expect(try kem(first[0])?["ciphertext"] == nil)
        #expect(try payload(first[0])["preKey"]?.object?["ratchet"] == .string("kem/v1"))
        #expect(try bob.texts(first) == texts(0...5))
        let answer = try bob.write(texts(0...5), to: alice)
        #expect(try answer.map { try kem($0) != nil } == [true, true, true, false, true, false])
        #expect(try kem(answer[0])?["ciphertext"] != nil)
        #expect(try Set(answer.compactMap { try kem($0)?.serialized() }).count == 1)
        #expect(try alice.texts(answer) == texts(0...5))
    }

    /// The messages 5, 6 and 7 arrive before 8, in any order and in separate processes, also at the beginning of a
    /// session. Nothing is stored for them, and no prekey is used.
    @Test(arguments: [false, true])
    func messagesWaitForTheirChain(atBeginning: Bool) throws {
        if !atBeginning { try two.begin() }
        let bundle = atBeginning ? ["--bundle", try bob.bundle()] : []
        let run = try alice.run(
            "encrypt", ["--to", bob.card, "--jsonl"] + bundle, stdin: lines(texts(0...260)))
        let sent = run.lines
        try bob.receive(sent)
        let (sessions, keys) = (try bob.sessions(), try preKeys(bob))
        for number in [7, 5, 200, 6] {
            let early = try bob.read([sent[number]])
            #expect(try early.status == 11 && early.messages.isEmpty, "\(early.stderr)")
            #expect(early.stderr.contains("waits in the inbox for 30 days"), "\(early.stderr)")
            #expect(try bob.sessions() == sessions && preKeys(bob) == keys)
        }
        #expect(try bob.unread() == sent)
        let read = try bob.read([sent[8]])
        #expect(read.status == 0, "\(read.stderr)")
        #expect(try read.messages.map(\.text) == [8, 5, 6, 7, 200].map { "message \($0)" })
        let rest = try bob.read(bob.unread())
        #expect(try rest.status == 0 && rest.messages.count == 261 - 5, "\(rest.stderr)")
        #expect(try bob.unread().isEmpty)
    }

    /// In one run the order of the lines does not matter, with and without an inbox.
    @Test func aBatchInAnyOrderIsReadInItsPlaces() throws {
        try two.begin()
        let sent = try alice.write(texts(0...6), to: bob)
        let order = [6, 5, 3, 0, 1, 2, 4]
        let read = try bob.read(order.map { sent[$0] })
        #expect(read.status == 0, "\(read.stderr)")
        #expect(try read.messages.map(\.text) == order.map { "message \($0)" })
    }

    /// A preview stores no step, and still opens the messages of a chain after those that begin it.
    @Test func aPreviewShowsAWholeChain() throws {
        try two.begin()
        let sent = try alice.write(texts(0...9), to: bob)
        let before = try bob.sessions()
        for _ in 0..<2 {
            let preview = try bob.read(sent + [sent[0], sent[5]], "--preview")
            #expect(preview.status == 0, "\(preview.stderr)")
            #expect(
                try preview.messages.map(\.text) == texts(0...9) + ["message 0", "message 5"])
            #expect(try bob.sessions() == before)
        }
        #expect(try bob.texts(sent) == texts(0...9))
    }

    /// A relay that removes `kem` delays a message; one that changes it gets it refused, and the genuine one opens.
    @Test func aRelayCannotMakeAStepClassical() throws {
        try two.begin()
        let sent = try alice.write(texts(0...3), to: bob)
        try bob.receive(sent)
        let before = try bob.sessions()
        func changingKEM(_ change: (inout JSONObject) throws -> Void) throws -> String {
            try changing(payload: sent[0]) { payload in
                var kem = try #require(payload["kem"]?.object)
                try change(&kem)
                payload["kem"] = .object(kem)
            }
        }
        let own = try bob.write(["x"], to: alice)
        let other = try #require(try kem(own[0]))
        let stored = try bob.sessions()
        #expect(stored != before)
        for (forged, status) in [
            (try without("kem", sent[0]), 11),
            (try changingKEM { $0["ciphertext"] = nil }, 65),
            (try changingKEM { $0["key"] = nil }, 65),
            (try changingKEM { $0["key"] = .string("AAAA") }, 65),
            (try changingKEM { $0["key"] = other["key"] }, 11),
            (try changingKEM { $0["ciphertext"] = other["ciphertext"] }, 11),
        ] {
            let run = try bob.read([forged])
            #expect(Int(run.status) == status, "\(run.stderr)")
            #expect(try run.messages.isEmpty && bob.sessions() == stored)
        }
        #expect(try bob.texts(sent) == texts(0...3))
    }

    /// The kind of a session is in its keys. A header without the kind, or without all of PQXDH, opens nothing.
    @Test func aRelayCannotMakeASessionClassical() throws {
        let sent = try alice.write(["hello"], to: bob, "--bundle", bob.bundle())
        func header(_ names: String...) throws -> String {
            try changing(payload: sent[0]) { payload in
                var header = try #require(payload["preKey"]?.object)
                for name in names { header[name] = nil }
                payload["preKey"] = .object(header)
            }
        }
        let later = try changing(payload: sent[0]) { payload in
            var header = try #require(payload["preKey"]?.object)
            header["ratchet"] = .string("kem/v2")
            payload["preKey"] = .object(header)
        }
        for (forged, status) in [
            (try header("ratchet"), 65), (try header("kemCiphertext", "pqPreKeyId"), 65),
            (try header("ratchet", "kemCiphertext", "pqPreKeyId"), 11), (later, 65),
        ] {
            let run = try bob.read([forged])
            #expect(Int(run.status) == status, "\(run.stderr)")
        }
        #expect(try bob.texts(sent) == ["hello"])
    }

    /// Both begin at once and their messages cross: both sessions go on, and then one sends in both directions.
    @Test func twoSessionsThatCrossConverge() throws {
        let one = try alice.write(["from alice"], to: bob, "--bundle", bob.bundle())
        let other = try bob.write(["from bob"], to: alice, "--bundle", alice.bundle())
        #expect(try alice.texts(other) == ["from bob"])
        #expect(try bob.texts(one) == ["from alice"])
        for turn in 0..<4 {
            let (writer, reader) = turn.isMultiple(of: 2) ? (alice, bob) : (bob, alice)
            let sent = try writer.write(["turn \(turn)"], to: reader)
            #expect(try kem(sent[0]) != nil)
            #expect(try reader.texts(sent) == ["turn \(turn)"])
        }
    }
}
