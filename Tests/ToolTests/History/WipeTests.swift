import Foundation
import Glibc
import Sotto
import TestSupport
import Testing

/// `history keep`, `history wipe`, and messages that end, with the built programs.
@Suite(.timeLimit(.minutes(60))) struct WipeTests {
    let they: Conversing
    var alice: Party { they.alice }
    var bob: Party { they.bob }
    var files: TemporaryDirectory { they.home.files }

    init() throws { they = try Conversing() }

    func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: files(alice.stateDirectory)).sorted()
    }

    @Test func aMessageEndsOnBothSides() throws {
        try they.say(alice, ["timer", "bob", "1s"])
        for party in [alice, bob] {
            let list = try party.history("list")[0]
            #expect(list["timer"] == .integer(1))
        }
        try they.tell(bob, "secret")
        // The timer does not apply to earlier messages, and unread messages stay.
        #expect(try alice.history("bob").last?.body["expires"] != nil)
        #expect(try alice.run("history", ["read", "bob"]).status == 0)
        for party in [alice, bob] {
            let peer = they.peer(of: party).name
            var last: JSONObject = [:]
            for _ in 0..<3_000 {
                last = try #require(try party.history(peer).last)
                if last["expired"] != nil { break }
                usleep(10_000)
            }
            #expect(last["expired"] == .bool(true) && last["deleted"] == .bool(true))
            #expect(last["body"] == nil && last["id"] == nil)
            let text = try party.run("history", [peer, "--text"]).text
            // The name is that of the conversation.
            #expect(text.contains("[message expired]") && !text.contains("unknown"), "\(text)")
            #expect(try party.run("history", ["search", "secret"]).status == 1)
        }
        try they.say(bob, ["timer", "alice", "off"])
        try they.tell(alice, "stays")
        #expect(try bob.history("alice").last?.body["expires"] == nil)
        #expect(try they.view().count == 4)
    }

    @Test func howLongMessagesAreKeptIsShown() throws {
        try they.tell(alice, "hello")
        #expect(try alice.run("history", ["keep", "--text"]).text == "all  forever\n")
        #expect(try alice.run("history", ["keep", "90d"]).status == 0)
        #expect(try alice.run("history", ["keep", "2w", "bob"]).status == 0)
        #expect(try alice.run("history", ["keep", "--text"]).text == "all  90d\nbob  2w\n")
        let records = try alice.history("keep")
        #expect(records.map { $0["seconds"] } == [.integer(7_776_000), .integer(1_209_600)])
        #expect(try alice.run("history", ["keep", "forever"]).status == 0)
        #expect(try alice.history("keep")[0]["seconds"] == nil)
        for bad in ["1", "1h", "0d", "-1d", "3651d", "9999999w", "", "d"] {
            #expect(try alice.run("history", ["keep", bad]).status == 64, "\(bad)")
        }
    }

    @Test func wipeRemovesTheStateAndTheIdentity() throws {
        try they.tell(bob, "hello")
        #expect(
            try alice.run("history", ["--as", "bot", "--from-start", "--exec", "cat"]).status == 0)
        // Without a terminal nothing is asked and nothing is removed.
        let unasked = try alice.run("history", ["wipe"])
        #expect(unasked.status != 0)
        #expect(try !names().isEmpty)
        let run = try alice.run("history", ["wipe", "--yes"])
        #expect(run.status == 0 && run.stderr.contains("removed the state and"), "\(run.stderr)")
        #expect(try names().isEmpty)
        #expect(access(files("alice.key"), F_OK) != 0)
        #expect(access(files("bob.key"), F_OK) == 0)
    }

    @Test func theTerminalAsksBefore() throws {
        try they.tell(bob, "hello")
        for (answer, status) in [("no", 1), ("yes", 0)] {
            let session = try TerminalSession(
                alice.command("history", ["wipe", "--keep-identity"]))
            try session.expect("1 message")
            try session.expect("Type yes to remove them: ")
            try session.type(answer + "\n")
            #expect(try session.finish().status == Int32(status))
            #expect(try names().isEmpty == (status == 0))
        }
        #expect(access(files("alice.key"), F_OK) == 0)
        #expect(try alice.run("history", ["wipe", "--keep-identity", "--yes"]).status == 1)
    }

    @Test func aUsedStateOrALinkIsNotRemoved() throws {
        try they.tell(bob, "hello")
        let follower = ChildProcess(
            "history", ["--follow"],
            environment: they.home.environment.merging(alice.environment) { $1 },
            output: files("shown"), errors: files("errors"))
        for _ in 0..<3_000 where files.lines("shown").isEmpty { usleep(10_000) }
        let used = try alice.run("history", ["wipe", "--yes", "--lock-timeout", "0.1"])
        #expect(used.status == 75, "\(used.stderr)")
        #expect(access(files("alice.key"), F_OK) == 0)
        follower.kill(SIGTERM)
        follower.wait()
        #expect(try alice.history("bob").count == 1)
        try FileManager.default.createSymbolicLink(
            atPath: files("link.key"), withDestinationPath: files("alice.key"))
        let link = try alice.run("history", ["wipe", "--yes", "-i", files("link.key")])
        #expect(link.status == 64 && link.stderr.contains("not a regular file"), "\(link.stderr)")
        #expect(try alice.history("bob").count == 1)
    }
}
