import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// Tests of the known flaws of Kecalek and Message Flow with the programs.
struct SessionFlawTests {
    let two: Couple
    var alice: Party { two.alice }
    var bob: Party { two.bob }
    init() throws { two = try Couple() }

    /// A first message without a one-time prekey gives the same keys each time.
    @Test func r5AFirstMessageBeginsOneSession() throws {
        let bundle = try bob.bundle { $0["oneTimePreKey"] = .null }
        let refused = try alice.encrypt("pay 10", to: bob, "--bundle", bundle, "--require-opk")
        #expect(refused.status == 10 && refused.stdout.isEmpty)
        let sent = try alice.encrypt("pay 10", to: bob, "--bundle", bundle)
        #expect(sent.status == 0 && sent.stderr.contains("without a one-time prekey"))
        let read = try bob.read(sent.lines)
        #expect(try read.messages.map(\.text) == ["pay 10"])
        // Again, and again with a state that has only the record of the beginning.
        #expect(try bob.read(sent.lines).messages.map(\.isSeen) == [true])
        try bob.state { connection throws(StateError) in
            try connection.run("DELETE FROM session")
            try connection.run("DELETE FROM message")
        }
        let again = try bob.read(sent.lines)
        #expect(try again.status == 13 && again.messages.isEmpty)
        #expect(try bob.sessions().isEmpty)
    }

    /// A server that always hands out an old signed prekey is detected.
    @Test func r6AnOldSignedPreKeyCausesAWarning() throws {
        func bundle(daysOld days: Int64) throws -> String {
            let time = Timestamp(seconds: Timestamp.now().seconds - days * 86_400 - 60)
            let bundle = try PreKeyBundle(
                identityKey: bob.identity.id.publicKey,
                signedPreKey: SecretPreKey(.signed, id: 1).signed(by: bob.identity, at: time),
                pqSignedPreKey: SecretPreKey(.postQuantum, id: 1).signed(
                    by: bob.identity, at: time), oneTimePreKey: nil)
            two.home.files.write("days-\(days)", bundle.record.serialized())
            return "days-\(days)"
        }
        for (days, isOld) in [(14, false), (15, true), (1000, true)] as [(Int64, Bool)] {
            let run = try alice.encrypt(
                "x", to: bob, "--new-session", "--bundle", bundle(daysOld: days))
            #expect(run.status == 0)
            let warning = "signed prekey is \(days) days old"
            #expect(run.stderr.contains(warning) == isOld, "\(run.stderr)")
        }
        // A date in the future comes from a wrong clock.
        for (days, isAhead) in [(0, false), (-1, false), (-3, true), (-3650, true)]
            as [(Int64, Bool)]
        {
            let run = try alice.encrypt(
                "x", to: bob, "--new-session", "--bundle", bundle(daysOld: days))
            #expect(run.status == 0)
            #expect(run.stderr.contains("in the future") == isAhead, "\(run.stderr)")
        }
        // Its date cannot be changed to look younger.
        let forged = try bob.bundle { bundle in
            var preKey = try #require(bundle["signedPreKey"]?.object)
            preKey["time"] = .string(
                Timestamp(seconds: Timestamp.now().seconds + 1000).description)
            bundle["signedPreKey"] = .object(preKey)
        }
        #expect(
            try alice.encrypt("x", to: bob, "--new-session", "--bundle", forged).status == 11)
    }

    /// The server could cause a new session with keys of its choice.
    @Test func r8OnlyTheContactsKeyBeginsANewSession() throws {
        try two.begin()
        let mallory = try Party("mallory", in: two.home)
        let before = try bob.sessions()
        // Requests from the messengers' servers are ignored.
        for type in ["reset_session", "rotate_keys", "session_reset"] {
            let record: JSONObject = [
                "type": .string(type), "from": .string(alice.identity.id.description),
                "to": .string(bob.identity.id.description), "userId": .string("alice"),
            ]
            let run = try bob.read([String(decoding: record.serialized(), as: UTF8.self)])
            #expect(try run.status == 65 && run.messages.isEmpty, "\(type): \(run.stderr)")
        }
        // A session that another person begins under Alice's name is not hers.
        let opened = try mallory.write(["new phone"], to: bob, "--bundle", bob.bundle())
        let forged = try changing(opened[0]) {
            $0["from"] = .string(alice.identity.id.description)
        }
        let run = try bob.read([forged])
        #expect(try run.status == 11 && run.messages.isEmpty, "\(run.stderr)")
        #expect(try bob.sessions() == before)
        #expect(try bob.texts(alice.write(["still me"], to: bob)) == ["still me"])
        // A card with a different key for a known name stops sending until the user confirms the key.
        #expect(try bob.run("contact", ["add", alice.card]).status == 0)
        let other = Identity(mnemonic: Mnemonic(randomWordCount: 12), name: "alice").card()
        two.home.files.write("other.card", try #require(other.record).serialized())
        #expect(try bob.run("contact", ["add", "other.card"]).status == 12)
        for _ in 0..<2 {
            let refused = try bob.run("encrypt", ["--to", "alice"], stdin: [0x78])
            #expect(refused.status == 12 && refused.stdout.isEmpty)
        }
        #expect(try bob.run("contact", ["keep-key", "alice"]).status == 0)
        #expect(try alice.texts(bob.write(["on"], to: alice)) == ["on"])
    }
}
