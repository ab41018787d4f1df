import Foundation
import Sotto
import TestSupport
import Testing

/// Changes and cards that are too long for messages, with the built programs and a relay.
@Suite(.timeLimit(.minutes(60))) final class GroupFileTests {
    private static let members = (1...8).map { "p\($0)" }
    private let home = Home()
    private let scratch = TemporaryDirectory()
    private let relay: RelayProcess
    private var people: [String: Party] = [:]

    init() throws {
        relay = try #require(RelayProcess(scratch))
        for name in ["alice", "late"] + Self.members {
            people[name] = try Party(name, in: home)
            try shell(name, "keygen set --relay tcp://\(relay.address) \(name).key")
            try shell(name, "keygen public \(name).key > \(name).signed")
        }
        for name in ["late"] + Self.members {
            try shell("alice", "contact add -q \(name).signed")
            try shell(name, "contact add -q alice.signed")
        }
    }

    deinit { relay.end() }

    private func run(_ name: String, _ line: String, _ text: String = "") throws -> Run {
        try people[name]!.run(line: line, at: relay, text)
    }

    @discardableResult
    private func shell(_ name: String, _ line: String, _ text: String = "") throws -> Run {
        try people[name]!.shell(line, at: relay, text)
    }

    /// Receives mail, and then opens it. A file that it names is fetched by the next `recv`.
    private func read(_ name: String) throws -> [JSONObject] {
        try run(name, "recv -q > \(name).mail; decrypt -q < \(name).mail").records
    }

    private func show(_ name: String) throws -> JSONObject {
        try shell(name, "group show -q team").records[0]
    }

    /// Returns the files that were fetched for a person and not taken yet.
    private func fetched(_ name: String) throws -> [String] {
        let home = try #require(people[name]?.environment["SOTTO_HOME"])
        let files = try? FileManager.default.contentsOfDirectory(atPath: home + "/blobs")
        return (files ?? []).filter { $0.hasPrefix("in-") }
    }

    /// Creates a group of Alice, whom all accept before they know each other.
    private func create() throws {
        try shell(
            "alice",
            "group create -q team \(Self.members.joined(separator: " ")) | encrypt -q | send -q")
        for name in Self.members {
            _ = try read(name)
            try shell(name, "group accept -q team | encrypt -q | send -q")
        }
        _ = try read("alice")
    }

    /// The joins and cards of many newcomers are one upload for all members.
    @Test func manyNewcomersAreToldInAFile() throws {
        try create()
        let told = try shell("alice", "group sync -q | encrypt -q")
        let blobs = try told.records.filter { $0["type"] == .string("blob") }
        #expect(blobs.count == 1)
        let envelopes = try told.records.filter { $0["type"] == .string("envelope") }
        #expect(envelopes.count == Self.members.count)
        #expect(envelopes.allSatisfy { $0["blob"] == blobs.first?["id"] })
        try shell("alice", "send -q", told.text)
        #expect(try shell("alice", "group sync -q").text.isEmpty)
        let state = try show("alice")["state"]
        for name in Self.members {
            _ = try read(name)
            #expect(try show(name)["members"] != .integer(9))
            // The file is known now, and the next recv fetches it.
            _ = try run(name, "recv -q")
            #expect(try fetched(name).count == 1)
            #expect(try show(name)["state"] == state)
            #expect(try fetched(name).isEmpty)
            #expect(try run(name, "recv -q").status == 1)
            #expect(try fetched(name).isEmpty)
        }
        try shell("p1", "encrypt -q --group team | send -q", "hello")
        let texts = try read("p8").compactMap { $0.body["text"]?.string }
        #expect(texts == ["hello"])
    }

    /// `decrypt` takes a file too, prints the events, and opens the messages that waited for its changes.
    @Test func messagesWaitForAFile() throws {
        try create()
        try shell("alice", "group sync -q | encrypt -q | send -q")
        _ = try read("p1")
        for name in ["p2", "alice"] {
            _ = try read(name)
            _ = try run(name, "recv -q")
        }
        // The message names joins that are only in the file, which is taken after the messages.
        try shell("p2", "encrypt -q --group team | send -q", "early")
        let opened = try read("p1")
        #expect(opened.compactMap { $0.body["text"]?.string } == ["early"])
        let events = opened.flatMap { $0.body["events"]?.array ?? [] }
        #expect(events.count { $0.object?["event"] == .string("joined") } == 7, "\(opened)")
    }

    /// `recv` prints nothing if it only fetched a file. `decrypt` still prints the events.
    @Test func anEmptyPipeTakesAFile() throws {
        try create()
        try shell("alice", "group sync -q | encrypt -q | send -q")
        _ = try read("p1")
        let run = try run("p1", "set +o pipefail; recv -q | decrypt -q")
        #expect(run.status == 0, "\(run)")
        let events = try run.records.flatMap { $0.body["events"]?.array ?? [] }
        #expect(events.count == Self.members.count - 1)
        #expect(try show("p1")["state"] == show("alice")["state"])
        let empty = try self.run("p1", "decrypt -q < /dev/null")
        #expect(empty.status == 1)
    }

    /// The log of an invitation is fetched after `group accept`, never before.
    @Test func aLongInvitationIsFetchedAfterAccepting() throws {
        try create()
        let invited = try shell("alice", "group invite -q team late | encrypt -q")
        #expect(try invited.records.contains { $0["type"] == .string("blob") })
        try shell("alice", "send -q", invited.text)
        let events = try read("late").flatMap { $0.body["events"]?.array ?? [] }
        #expect(events.first?.object?["event"] == .string("invited"))
        #expect(events.first?.object?["name"] == .string("team"))
        let alice = try #require(people["alice"]).identity.id
        #expect(events.first?.object?["by"] == .string(alice.description))
        #expect(try shell("late", "group list --text").text.contains("by alice"))
        _ = try run("late", "recv -q")
        #expect(try fetched("late").isEmpty)
        let early = try run("late", "group accept team")
        #expect(early.status == 75 && early.stderr.contains("recv"), "\(early.stderr)")
        _ = try run("late", "recv -q")
        #expect(try fetched("late").count == 1)
        try shell("late", "group accept -q team | encrypt -q | send -q")
        #expect(try show("late")["members"] == .integer(10))
        _ = try read("alice")
        #expect(try show("alice")["state"] == show("late")["state"])
    }

    /// A stranger who knows the id of a group offers a file to an invited person. `group accept` does not wait for it.
    @Test func aFileOfAStrangerBlocksNoInvitation() throws {
        try create()
        try shell("alice", "group invite -q team late | encrypt -q | send -q")
        _ = try read("late")
        let group = try shell("late", "group list --json").records[0]["id"]?.string ?? ""
        let blob: JSONObject = [
            "relay": .string("tcp://127.0.0.1:9"), "id": .base64(randomBytes(32)),
            "key": .base64(randomBytes(32)), "digest": .base64(randomBytes(32)),
            "size": .integer(Blob.size(ofFile: 20_000)),
        ]
        let file: JSONObject = [
            "blob": .object(blob), "size": .integer(20_000),
            "heads": .array([.string(hex(randomBytes(32)))]),
        ]
        let record: JSONObject = [
            "v": .integer(1), "type": .string("message"),
            "to": .string(try #require(people["late"]).identity.id.description),
            "body": .object([
                "type": .string("group"), "group": .string(group), "file": .object(file),
            ]),
        ]
        let stranger = try Party("stranger", in: home)
        people["stranger"] = stranger
        try shell("stranger", "keygen public > stranger.signed")
        try shell("late", "keygen public late.key > late.card")
        try shell("stranger", "contact add -q late.card")
        try shell(
            "stranger", "encrypt -q | send -q",
            String(decoding: record.serialized(), as: UTF8.self) + "\n")
        _ = try read("late")
        #expect(try run("late", "group accept -q team").status == 75)
        _ = try run("late", "recv -q")
        try shell("late", "group accept -q team | encrypt -q | send -q")
        #expect(try show("late")["members"] == .integer(10))
    }

    /// A file that the relay lost is replaced by messages.
    @Test func aLostFileIsAskedFor() throws {
        try create()
        // The upload stays here, so the relay never gets it.
        let told = try shell("alice", "group sync -q | encrypt -q")
        let envelopes = told.lines.filter { !$0.contains(#""type":"blob""#) }.map { line in
            line.replacing(/,"blob":"[0-9a-f]*"/, with: "")
        }
        try shell("alice", "send -q", envelopes.joined(separator: "\n") + "\n")
        _ = try read("p1")
        _ = try run("p1", "recv -q")
        #expect(try fetched("p1").isEmpty)
        #expect(try show("p1")["missingChanges"] != nil)
        for _ in 0..<6 where try show("p1")["state"] != show("alice")["state"] {
            try shell("p1", "group sync -q > asked; [ ! -s asked ] || encrypt -q < asked | send -q")
            _ = try read("alice")
            try shell("alice", "group sync -q > told; [ ! -s told ] || encrypt -q < told | send -q")
            _ = try read("p1")
            _ = try run("p1", "recv -q")
        }
        #expect(try show("p1")["state"] == show("alice")["state"])
    }

    /// A member cannot make others connect to an address of their choice.
    @Test func aFileIsFetchedOnlyFromAKnownRelay() throws {
        try create()
        // A contact's card would make the relay known.
        try shell("p1", "contact remove -q alice")
        let other = try #require(RelayProcess(scratch, store: scratch("other.db")))
        defer { other.end() }
        try shell("alice", "keygen set --relay tcp://\(other.address) alice.key")
        let told = try shell("alice", "group sync -q | encrypt -q")
        #expect(told.text.contains(other.address))
        try shell("alice", "send -q", told.text)
        _ = try read("p1")
        _ = try run("p1", "recv -q")
        #expect(try fetched("p1").isEmpty)
        #expect(try show("p1")["members"] != .integer(9))
        // The relay of a contact is known.
        try shell("alice", "keygen public alice.key > alice.signed")
        try shell("p1", "contact add -q alice.signed")
        _ = try run("p1", "recv -q")
        #expect(try show("p1")["members"] == .integer(9))
    }

    /// The copies of a message with a file wait until the relay of their author has the file. Then they go to the relay of each
    /// member, also if that relay was reached before.
    @Test func copiesWaitForAFileAtAnotherRelay() throws {
        try create()
        try shell("alice", "group sync -q | encrypt -q | send -q")
        for name in ["p1", "p2"] {
            _ = try read(name)
            _ = try run(name, "recv -q")
        }
        let first = try #require(RelayProcess(scratch, store: scratch("other.db")))
        first.end()
        try shell("alice", "keygen set --relay tcp://\(first.address) alice.key")
        home.files.write("file", Array("a file".utf8))
        let sent = try run("alice", "encrypt -q --group team --attach file | send -q")
        #expect(sent.status == 75, "\(sent.text)")
        #expect(try !read("p1").contains { $0.body["type"] == .string("file") })
        let other = try #require(
            RelayProcess(scratch, listen: first.address, store: scratch("other.db")))
        defer { other.end() }
        let rest = try shell("alice", "send -q")
        let statuses = try rest.records.map { [$0["relay"]?.string, $0["status"]?.string] }
        #expect(statuses.contains(["tcp://\(other.address)", "stored"]), "\(rest.text)")
        #expect(statuses.contains(["tcp://\(relay.address)", "stored"]), "\(rest.text)")
        let opened = try read("p1").filter { $0.body["type"] == .string("file") }
        #expect(opened.count == 1)
        // Both relays are up.
        try shell("alice", "encrypt -q --group team --attach file | send -q")
        #expect(try read("p2").count { $0.body["type"] == .string("file") } == 2)
    }

    /// Of the files that a member offers, some wait. The last changes of the others are asked for in messages.
    @Test func c15AFloodOfFilesIsBounded() throws {
        try create()
        let group = try show("alice")["id"]?.string ?? ""
        let alice = try #require(people["alice"]).identity.id.description
        let records = (0..<12).map { _ in
            let blob: JSONObject = [
                "relay": .string("tcp://\(relay.address)"), "id": .base64(randomBytes(32)),
                "key": .base64(randomBytes(32)), "digest": .base64(randomBytes(32)),
                "size": .integer(Blob.size(ofFile: 20_000)),
            ]
            let file: JSONObject = [
                "blob": .object(blob), "size": .integer(20_000),
                "heads": .array([.string(hex(randomBytes(32)))]),
            ]
            let body: JSONObject = [
                "type": .string("group"), "group": .string(group), "file": .object(file),
            ]
            let record: JSONObject = [
                "v": .integer(1), "type": .string("message"), "to": .string(alice),
                "body": .object(body),
            ]
            return String(decoding: record.serialized(), as: UTF8.self)
        }
        try shell("p1", "encrypt -q | send -q", records.joined(separator: "\n") + "\n")
        _ = try read("alice")
        #expect(try show("alice")["missingChanges"] == .integer(8))
        // The relay has none of them.
        _ = try run("alice", "recv -q")
        #expect(try fetched("alice").isEmpty)
        #expect(try show("alice")["missingChanges"] == .integer(12))
    }
}
