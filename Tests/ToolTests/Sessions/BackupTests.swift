import Foundation
import Sotto
import TestSupport
import Testing

/// Tests of a state restored from a backup: no message is misread, both sides get an explanation, and a new session
/// repairs it.
struct BackupTests {
    let two: Couple
    var alice: Party { two.alice }
    var bob: Party { two.bob }
    init() throws {
        two = try Couple()
        try two.begin()
    }

    private func backUp(_ party: Party) throws {
        try FileManager.default.copyItem(
            atPath: two.home.files(party.stateDirectory), toPath: two.home.files("backup"))
    }

    private func restore(_ party: Party) throws {
        let state = two.home.files(party.stateDirectory)
        try FileManager.default.removeItem(atPath: state)
        try FileManager.default.moveItem(atPath: two.home.files("backup"), toPath: state)
    }

    private func talk(_ turns: Int) throws {
        for turn in 0..<turns {
            #expect(try bob.texts(alice.write(["a \(turn)"], to: bob)) == ["a \(turn)"])
            #expect(try alice.texts(bob.write(["b \(turn)"], to: alice)) == ["b \(turn)"])
        }
    }

    private func heal() throws {
        let anew = try alice.write(["anew"], to: bob, "--new-session", "--bundle", bob.bundle())
        #expect(try bob.texts(anew) == ["anew"])
        try talk(2)
    }

    /// A state whose file is another one was copied. It begins new sessions, so that it uses no key again.
    @Test func aCopiedStateUsesNoKeyAgain() throws {
        #expect(try bob.texts(alice.write(["zero"], to: bob)) == ["zero"])
        try backUp(alice)
        let sent = try alice.write(["one"], to: bob)
        #expect(try bob.texts(sent) == ["one"])
        try restore(alice)
        let again = try alice.write(["other"], to: bob)
        let envelope = try JSON.object(parsing: Array(again[0].utf8))
        #expect(envelope["suite"] == .string("sealed"))
        #expect(try bob.texts(again) == ["other"])
        try heal()
    }

    /// A snapshot in the same file is not noticed. The keys that the sender uses again were used before: the recipient refuses them as replays.
    @Test func reusedKeysOfARestoredSenderAreRefused() throws {
        #expect(try bob.texts(alice.write(["zero"], to: bob)) == ["zero"])
        let snapshot = try StateSnapshot(of: alice)
        let sent = try alice.write(["one", "two"], to: bob)
        #expect(try bob.texts(sent) == ["one", "two"])
        try snapshot.putBack(to: alice)
        let again = try alice.write(["other"], to: bob)
        #expect(try messageKey(again[0]) == messageKey(sent[0]))
        let before = try bob.sessions()
        let run = try bob.read(again)
        #expect(run.status == 13 && run.stdout.contains(UInt8(ascii: "{")))
        #expect(try run.messages.isEmpty)
        #expect(run.stderr.contains("backup") && run.stderr.contains("new session"))
        #expect(try bob.sessions() == before)
        try heal()
    }

    /// A sender who had read and not answered has no chain in the backup: it begins another one, and uses no key again.
    @Test func aSenderRestoredBeforeItsAnswerBeginsAnotherChain() throws {
        let snapshot = try StateSnapshot(of: alice)
        let sent = try alice.write(["one"], to: bob)
        #expect(try bob.texts(sent) == ["one"])
        try snapshot.putBack(to: alice)
        let again = try alice.write(["other"], to: bob)
        #expect(try messageKey(again[0]) != messageKey(sent[0]))
        let before = try bob.sessions()
        let run = try bob.read(again)
        #expect(run.status == 11 && run.stderr.contains("backup"), "\(run.stderr)")
        #expect(try run.messages.isEmpty && bob.sessions() == before)
        try heal()
    }

    /// The recipient's old state does not have the chains that began since.
    @Test func aRestoredRecipientRefusesUnknownChains() throws {
        let snapshot = try StateSnapshot(of: bob)
        try talk(2)
        try snapshot.putBack(to: bob)
        let before = try bob.sessions()
        let run = try bob.read(try alice.write(["unknown"], to: bob))
        #expect(run.status == 11 && run.stderr.contains("backup"), "\(run.stderr)")
        #expect(try run.messages.isEmpty && bob.sessions() == before)
        // Its own messages are not accepted as new either.
        let reply = try bob.write(["from the past"], to: alice)
        let refused = try alice.read(reply)
        #expect([11, 13].contains(refused.status) && refused.stderr.contains("backup"))
        try heal()
    }

    @Test func aRestoredRecipientReadsOnInTheSameChain() throws {
        try backUp(bob)
        let sent = try alice.write(["one", "two"], to: bob)
        #expect(try bob.texts(sent) == ["one", "two"])
        try restore(bob)
        // Messages opened since then are new to it, once.
        #expect(try bob.texts(sent) == ["one", "two"])
        #expect(try bob.texts(alice.write(["three"], to: bob)) == ["three"])
    }

    /// Without any state, the message names an unknown session.
    @Test func aLostStateIsReported() throws {
        try FileManager.default.removeItem(atPath: two.home.files(bob.stateDirectory))
        let run = try bob.read(try alice.write(["x"], to: bob))
        #expect(run.status == 10 && run.stderr.contains("restored"), "\(run.stderr)")
        try heal()
    }

    /// A first message to a recipient whose old state does not have the prekey yet.
    @Test func aBundleOfALostStateIsReported() throws {
        try backUp(bob)
        let bundle = try bob.bundle()
        try restore(bob)
        let run = try bob.read(
            try alice.write(["x"], to: bob, "--new-session", "--bundle", bundle))
        #expect(run.status == 10 && run.stderr.contains("restored"), "\(run.stderr)")
        #expect(run.stderr.contains("contact repair"))
        try heal()
    }
}
