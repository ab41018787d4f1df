import Sotto
import SottoState
import TestSupport
import Testing

/// Tests of the choice of the session that sends, with the programs.
struct SendingSessionTests {
    let two: Couple
    var alice: Party { two.alice }
    var bob: Party { two.bob }
    init() throws { two = try Couple() }

    /// Begins a session with X3DH, in which Bob writes a message that a relay delays.
    private func beginX3DH() throws -> [String] {
        let bundle = try bob.bundle { $0["pqSignedPreKey"] = nil }
        let first = try alice.write(
            ["old"], to: bob, "--new-session", "--classic", "--bundle", bundle)
        #expect(try bob.texts(first) == ["old"])
        return try bob.write(["late"], to: alice)
    }

    /// Begins a session with PQXDH, which Bob answers.
    private func beginPQXDH() throws {
        let first = try alice.write(["new"], to: bob, "--new-session", "--bundle", bob.bundle())
        #expect(try bob.texts(first) == ["new"])
        #expect(try alice.texts(bob.write(["answer"], to: alice)) == ["answer"])
    }

    /// The ratchet key of Alice's next message to Bob. Messages of one chain have the same key.
    private func nextKey() throws -> String {
        let sent = try alice.write(["x"], to: bob)
        #expect(try bob.texts(sent) == ["x"])
        return try #require(payload(sent[0])["ratchetPublicKey"]?.string)
    }

    private func isPostQuantum(_ peer: Party, for reader: Party) throws -> Bool? {
        let run = try reader.run("contact", ["list", "--json"])
        return try run.lines.map { try JSON.object(parsing: Array($0.utf8)) }
            .first { $0["id"]?.string == peer.identity.id.description }?["postQuantum"]?.bool
    }

    /// Nine sessions are more than a state reads for a usual message.
    @Test(arguments: [1, 9])
    func aLateMessageOfAnX3DHSessionMovesNoSending(_ count: Int) throws {
        let late = try (0..<count).flatMap { _ in try beginX3DH() }
        try beginPQXDH()
        #expect(try alice.run("contact", ["add", bob.card]).status == 0)
        let key = try nextKey()
        for envelope in late {
            #expect(try alice.texts([envelope]) == ["late"])
            #expect(try nextKey() == key)
            #expect(try isPostQuantum(bob, for: alice) == true)
        }
    }

    /// `--new-session --classic` is the user's decision, which no message of another session changes.
    @Test func aDecisionForX3DHStaysUntilTheNext() throws {
        try beginPQXDH()
        let postQuantum = try nextKey()
        _ = try beginX3DH()
        let classic = try nextKey()
        #expect(classic != postQuantum)
        // Bob prefers the session with PQXDH.
        #expect(try alice.texts(bob.write(["still here"], to: alice)) == ["still here"])
        #expect(try nextKey() == classic)
        let again = try alice.write(["again"], to: bob, "--new-session", "--bundle", bob.bundle())
        #expect(try payload(again[0])["preKey"]?.object?["kemCiphertext"] != nil)
        #expect(try bob.texts(again) == ["again"])
        #expect(try alice.texts(bob.write(["yes"], to: alice)) == ["yes"])
        let key = try nextKey()
        #expect(key != classic && key != postQuantum)
    }
}
