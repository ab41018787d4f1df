import Foundation
import Sotto
import SottoState
import TestSupport
import Testing

/// Rooms with the built programs and a relay. The pipelines are those of the manual pages.
@Suite(.timeLimit(.minutes(60))) final class RoomToolTests {
    static let phrase = "harbour violin cactus ledger ribbon mosaic tundra"
    private let home = Home()
    private let relay: RelayProcess
    private let scratch = TemporaryDirectory()
    private var people: [String: Party] = [:]

    init() throws {
        relay = try #require(RelayProcess(scratch))
        for name in ["alice", "bob", "carol"] {
            people[name] = try Party(name, in: home)
            try shell(name, "keygen prekeys | send -q")
        }
        home.files.write("phrase", Array((Self.phrase + "\n").utf8))
    }

    deinit { relay.end() }

    private func party(_ name: String) -> Party { people[name]! }

    private func command(_ name: String, _ line: String) -> Command {
        party(name).command(line: line, at: relay)
    }

    private func run(_ name: String, _ line: String, _ text: String = "") throws -> Run {
        try party(name).run(line: line, at: relay, text)
    }

    /// Runs a line of shell, which must succeed.
    @discardableResult
    private func shell(_ name: String, _ line: String, _ text: String = "") throws -> Run {
        try party(name).shell(line, at: relay, text)
    }

    /// Opens the waiting mail of a person. Returns the records.
    @discardableResult
    private func read(_ name: String) throws -> [JSONObject] {
        let run = try run(name, "recv -q | decrypt")
        guard run.status == 0 || run.status == 1 else { throw Unexpected(run) }
        return try run.records
    }

    /// Sends what members lack, if they lack anything.
    private func sync(_ name: String) throws {
        let records = try shell(name, "group sync").text
        if !records.isEmpty { try shell(name, "encrypt -q | send -q", records) }
    }

    private func say(_ name: String, _ text: String) throws {
        try shell(name, "encrypt -q --group climbing | send -q", text)
    }

    private func texts(_ name: String) throws -> [String] {
        try read(name).compactMap { $0.body["text"]?.string }
    }

    private func history(_ name: String) throws -> [String] {
        try party(name).history("climbing").compactMap { $0.body["text"]?.string }
    }

    private func show(_ name: String) throws -> JSONObject {
        try shell(name, "group show climbing").records[0]
    }

    private func create(_ options: String = "--preset room") throws {
        try shell(
            "alice",
            "group create \(options) --phrase @FILE:phrase --nickname Ally.W climbing -q | encrypt -q | send -q"
        )
    }

    /// Runs a line of shell, which must succeed, on a terminal. Returns what the terminal shows.
    private func onTerminal(_ name: String, _ line: String) throws -> Run {
        let session = try TerminalSession(
            command(name, line), stdin: home.files("phrase"), columns: 200)
        let run = try session.finish()
        guard run.status == 0 else { throw Unexpected(run) }
        return run
    }

    /// Without a phrase nine words are made. They open the room, and are shown once, also with `-q`; nothing stores them.
    @Test func aPhraseIsMadeAndShownOnce() throws {
        let made = try onTerminal(
            "alice",
            "group create --preset room --nickname Ally.W climbing -q | encrypt -q | send -q")
        let title = try #require(
            made.lines.firstIndex(of: "group: the phrase of the room, shown only now:"))
        let words = made.lines[title + 1]
        #expect(words.split(separator: " ").count == 9)
        home.files.write("made", Array((words + "\n").utf8))
        #expect(try shell("bob", "group check --phrase @FILE:made").text == "exists\n")
        let shown = try shell("alice", "group show climbing; group door climbing")
        #expect(!shown.text.contains(words))
        let changed = try onTerminal(
            "alice", "group door --new-phrase climbing -q | encrypt -q | send -q")
        #expect(changed.text.contains("shown only now:\n") && !changed.text.contains(words))
        #expect(try run("bob", "group check --phrase @FILE:made").status == 1)
    }

    /// A phrase that is made does not end in a log: without a terminal none is made, and nothing is changed.
    @Test func noPhraseIsMadeWithoutATerminal() throws {
        try create()
        let before = try show("alice")
        for line in [
            "group create --preset room --nickname A hut", "group door --new-phrase climbing",
        ] {
            let refused = try run("alice", line)
            #expect(refused.status == 64 && refused.stdout.isEmpty, "\(refused.text)")
            #expect(refused.stderr.contains("--phrase @FILE:PATH"), "\(refused.stderr)")
        }
        #expect(try show("alice") == before)
        #expect(try shell("alice", "group list --text").lines.count == 1)
        #expect(try shell("bob", "group check --phrase @FILE:phrase").text == "exists\n")
    }

    /// `group` runs `recv`, and its messages have the name of the command that the user typed.
    @Test func theMessagesOfAnotherToolHaveTheNameOfThisOne() throws {
        let run = try run("bob", "group check --relay tcp://127.0.0.1:1 --phrase @FILE:phrase")
        #expect(run.status == 69, "\(run)")
        #expect(run.stderr.hasPrefix("group: error: cannot reach tcp://127.0.0.1:1"), "\(run)")
        #expect(run.stderr.contains("\ngroup: hint: ") && !run.stderr.contains("recv:"))
    }

    /// Enters the room, and lets the members learn of it.
    private func enter(_ name: String, _ nickname: String) throws {
        try shell(
            name,
            "group join --phrase @FILE:phrase --nickname \(nickname) -q | encrypt -q | send -q"
        )
        for _ in 0..<2 {
            for member in people.keys.sorted() { try read(member) }
            for member in people.keys.sorted() { try sync(member) }
        }
        for member in people.keys.sorted() { try read(member) }
    }

    @Test func aRoomIsCheckedCreatedAndEntered() throws {
        let missing = try run("bob", "group check --phrase @FILE:phrase")
        #expect(missing.status == 1 && missing.text == "notExists\n" && missing.stderr.isEmpty)
        try create()
        #expect(try shell("bob", "group check --phrase @FILE:phrase").text == "exists\n")
        // The phrase is nowhere in the state, in the records, or at the relay.
        #expect(try !scratch.read("relay.db-wal").contains(Array("violin".utf8)))
        let uri = try shell("alice", "group door climbing").text
        #expect(uri.hasPrefix("sotto:room?relay=tcp%3A%2F%2F127.0.0.1") && uri.contains("climbing"))
        try shell(
            "bob",
            "group join --phrase @FILE:phrase --nickname Bo '\(uri.dropLast())' -q | encrypt -q | send -q"
        )
        #expect(try show("bob")["unconfirmed"] == .bool(true))
        // The newcomer's messages wait until a member has let them in.
        try say("bob", "hello")
        let events = try read("alice")
        #expect(events.contains { $0.body["text"] == .string("hello") })
        let joined = events.flatMap { $0.body["events"]?.array ?? [] }.compactMap(\.object)
        #expect(joined.map { $0["event"]?.string } == ["joined", "question"])
        #expect(joined.allSatisfy { $0["nickname"] == .string("Bo") })
        try sync("alice")
        try read("bob")
        #expect(try show("bob")["unconfirmed"] == nil)
        #expect(try show("bob")["state"] == (try show("alice")["state"]))
        let again = try run("bob", "group join --phrase @FILE:phrase --nickname Bo")
        #expect(again.status == 1 && again.stderr.contains("a member of the group already"))
    }

    /// The records of a newcomer are lost. The same command prints them again.
    @Test func aNewcomerEntersAgain() throws {
        try create()
        try shell("bob", "group join --phrase @FILE:phrase --nickname Bo -q >lost")
        try sync("bob")
        try read("alice")
        #expect(try show("bob")["unconfirmed"] == .bool(true))
        try enter("bob", "Bo")
        #expect(try show("bob")["unconfirmed"] == nil)
        #expect(try show("bob")["state"] == (try show("alice")["state"]))
        let log = try run("bob", "group log climbing").records
        #expect(log.filter { $0["act"] == .string("door-join") }.count == 1)
    }

    /// The door changes before a member reads the `door-join`. The newcomer enters by the new door, after that change.
    @Test func aNewcomerEntersByANewDoor() throws {
        try create()
        try shell(
            "bob", "group join --phrase @FILE:phrase --nickname Bo -q | encrypt -q | send -q")
        home.files.write("other", Array("tundra mosaic ribbon ledger cactus violin harbour".utf8))
        try shell(
            "alice",
            "group door --new-phrase --phrase @FILE:other climbing -q | encrypt -q | send -q")
        try read("alice")
        try shell(
            "bob", "group join --phrase @FILE:other --nickname Bo -q | encrypt -q | send -q")
        for _ in 0..<2 {
            try read("alice")
            try sync("alice")
            try read("bob")
        }
        #expect(try show("bob")["unconfirmed"] == nil)
        #expect(try show("bob")["state"] == (try show("alice")["state"]))
        try say("bob", "in by the new door")
        #expect(try texts("alice").contains("in by the new door"))
    }

    /// Each author decides who reads their messages, and earlier messages come with the grant.
    @Test func anAuthorGrants() throws {
        try create()
        try shell(
            "bob", "group join --phrase @FILE:phrase --nickname Bo -q | encrypt -q | send -q")
        let line = try shell("alice", "recv -q | decrypt --text").text
        try sync("alice")
        try read("bob")
        let unread = try shell("alice", "echo before | encrypt --group climbing | send -q")
        #expect(unread.text.isEmpty && unread.stderr.contains("no other member of climbing reads"))
        #expect(unread.stderr.contains("WHO | sotto encrypt | sotto send"))
        #expect(try shell("alice", "echo also | encrypt -q --group climbing").stderr.isEmpty)
        #expect(try texts("bob").isEmpty)
        let bob = party("bob").identity.id
        let command = try #require(line.range(of: "sotto group grant ")).lowerBound
        #expect(line[..<command].hasSuffix("?] to show them: "), "\(line)")
        let typed = line[command...].prefix { $0 != "\n" }
        #expect(typed.hasSuffix(" | sotto encrypt | sotto send"), "\(line)")
        try shell("alice", String(typed))
        let events = try read("bob").flatMap { $0.body["events"]?.array ?? [] }.compactMap(\.object)
        #expect(events.first?["event"] == .string("history"))
        #expect(events.first?["nickname"] == .string("Ally.W"))
        try say("alice", "after")
        #expect(try texts("bob") == ["after"])
        #expect(try history("bob") == ["before", "also", "after"])
        #expect(
            try !shell("alice", "echo more | encrypt --group climbing").stderr.contains("no other"))
        try enter("carol", "Caro")
        // A newcomer writes to all who were there, and reads those who grant.
        try say("carol", "hi")
        #expect(try texts("alice") == ["hi"] && texts("bob") == ["hi"])
        try say("alice", "third")
        #expect(try texts("bob") == ["third"] && texts("carol").isEmpty)
        let table = try shell("alice", "group participants --text climbing").text
        #expect(table.contains("Caro") && table.contains("does not see your messages"))
        #expect(table.contains(String(bob.description.prefix(16))))
    }

    @Test func aNewPhraseClosesTheOldDoor() throws {
        try create("--preset open")
        try enter("bob", "Bo")
        home.files.write("second", Array("tundra mosaic ribbon ledger cactus violin harbour".utf8))
        try shell(
            "alice",
            "group door --new-phrase --phrase @FILE:second climbing | encrypt -q | send -q")
        let old = try run("carol", "group check --phrase @FILE:phrase")
        #expect(old.status == 1 && old.text == "notExists\n")
        let refused = try run("carol", "group join --phrase @FILE:phrase --nickname Caro")
        #expect(refused.status == 12 && refused.stderr.contains("the door of the room is closed"))
        #expect(try shell("carol", "group check --phrase @FILE:second").text == "exists\n")
        try read("bob")
        #expect(try show("bob")["state"] == (try show("alice")["state"]))
        try say("bob", "still here")
        #expect(try texts("alice") == ["still here"])
        // A phrase that was used before would change the record of the same door.
        for (file, words) in [("second", "the present phrase"), ("phrase", "an earlier door")] {
            let refused = try run(
                "alice", "group door --new-phrase --phrase @FILE:\(file) climbing")
            #expect(refused.status == 64 && refused.stderr.contains(words), "\(refused.stderr)")
            #expect(refused.stdout.isEmpty)
        }
        #expect(try shell("carol", "group check --phrase @FILE:second").text == "exists\n")
        try shell("alice", "group door --close climbing | encrypt -q | send -q")
        #expect(try run("carol", "group check --phrase @FILE:second").status == 1)
        #expect(try run("alice", "group door climbing").status == 1)
    }

    /// The changes of a long room are in a file at its relay, so that it can have a new phrase. `group sync` goes on meanwhile.
    @Test func aLongRoomHasANewPhrase() throws {
        try create("--preset open")
        let store = try party("alice").store()
        try store.transaction { transaction in
            let found = try #require(try transaction.groupHeaders().first)
            var group = try #require(try transaction.group(found.id))
            for number in 0..<150 {
                group = try transaction.write(.set(.about("rule \(number)")), in: group)
            }
        }
        try sync("alice")
        try enter("bob", "Bo")
        home.files.write("second", Array("tundra mosaic ribbon ledger cactus violin harbour".utf8))
        let records = try shell(
            "alice", "group door --new-phrase --phrase @FILE:second climbing -q")
        #expect(try records.records.prefix(2).map { $0["type"]?.string } == ["blob", "room"])
        try shell("alice", "encrypt -q | send -q", records.text)
        // The file is not printed again while it is new, and the record has the later changes.
        try shell("alice", "group rename climbing climbing -q | encrypt -q | send -q")
        let later = try shell("alice", "group sync -q climbing").records
        #expect(later.contains { $0["type"] == .string("room") })
        #expect(!later.contains { $0["type"] == .string("blob") })
        try shell("alice", "group door --publish climbing | encrypt -q | send -q")
        func join(_ name: String, _ nickname: String) throws -> Run {
            try run(
                name,
                "group join --phrase @FILE:second --nickname \(nickname) -q > \(name).join")
        }
        #expect(try join("carol", "Caro").status == 0)
        try shell("carol", "encrypt -q carol.join | send -q")
        for _ in 0..<2 {
            for name in ["alice", "bob", "carol"] { try read(name) }
            for name in ["alice", "bob", "carol"] { try sync(name) }
        }
        #expect(try Set(["alice", "bob", "carol"].map { try show($0)["state"] }).count == 1)
        #expect(try show("carol")["unconfirmed"] == nil)
        try say("carol", "in")
        #expect(try texts("alice") == ["in"] && texts("bob") == ["in"])
        // The relay has deleted the file.
        let blobs = scratch("relay.db-blobs")
        try FileManager.default.removeItem(atPath: blobs)
        try FileManager.default.createDirectory(
            atPath: blobs, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        people["dave"] = try Party("dave", in: home)
        let missing = try join("dave", "Dave")
        #expect(missing.status != 0 && missing.stderr.contains("publish the room again"))
        try shell("alice", "group door --publish climbing | encrypt -q | send -q")
        #expect(try join("dave", "Dave").status == 0)
    }

    /// With `--newcomers` who enters by the door reads the author, and no question is asked.
    @Test func aRoomShowsMessagesToNewcomers() throws {
        try create("--preset room --newcomers")
        try say("alice", "before")
        try enter("bob", "Bo")
        #expect(try history("bob") == ["before"])
        let raw = try shell("alice", "sotto history --raw").text
        #expect(raw.contains("\"event\":\"joined\"") && !raw.contains("\"question\""))
    }

    /// A deleted room is closed at its relay, and nobody enters it.
    @Test func aDeletedRoomIsClosed() throws {
        try create()
        try enter("bob", "Bo")
        try shell("alice", "group delete --yes climbing -q | encrypt -q | send -q")
        let check = try run("carol", "group check --phrase @FILE:phrase")
        #expect(check.status == 1 && check.text == "notExists\n")
        let events = try read("bob").flatMap { $0.body["events"]?.array ?? [] }
        let names = events.map { $0.object?["event"] }
        #expect(names.contains(.string("conversation_deleted")), "\(names)")
        #expect(try run("bob", "group join --phrase @FILE:phrase --nickname Bo").status == 12)
    }

    /// A removed member does not come back by the door, only by an invitation.
    @Test func aDoorReadmitsNobodyWhoWasRemoved() throws {
        try create()
        try enter("bob", "Bo")
        let note = try shell("alice", "group remove climbing Bo > removal")
        #expect(note.stderr.contains("group door --new-phrase climbing"))
        try shell("alice", "encrypt -q removal | send -q")
        try read("bob")
        let again = try run("bob", "group join --phrase @FILE:phrase --nickname Bo")
        #expect(again.status == 12 && again.stderr.contains("the rules of the group"))
        #expect(try show("alice")["members"] == .integer(1))
    }

    /// A moderator gets the keys of the room, and publishes it when the creator is away.
    @Test func aModeratorPublishes() throws {
        try create()
        try enter("bob", "Bo")
        #expect(try run("bob", "group door --publish climbing").status == 10)
        try shell("alice", "group role climbing Bo moderator | encrypt -q | send -q")
        try read("bob")
        let record = try shell("bob", "group door --publish climbing").records[0]
        #expect(record["type"] == .string("room"))
        try shell("bob", "send -q", String(decoding: record.serialized(), as: UTF8.self))
        try enter("carol", "Caro")
        #expect(try Set(["alice", "bob", "carol"].map { try show($0)["state"] }).count == 1)
    }

    /// The keys of a room, a grant and its members are in a backup. No newcomer is let in before a member has confirmed the room.
    @Test(.needs(.pythonPackages)) func aRoomIsRestored() throws {
        try create()
        try enter("bob", "Bo")
        let bob = party("bob").identity.id
        try shell("alice", "group grant climbing \(bob) | encrypt -q | send -q")
        try say("alice", "one")
        #expect(try texts("bob") == ["one"])
        let before = try shell("alice", "group participants --json climbing").text
        try shell("alice", "sotto history export --backup -q -o room.age")
        let content = try party("alice").content(ofBackup: "room.age")
        let settings = content.filter { $0.contains("\"type\":\"group-settings\"") }
        #expect(settings.count == 1)
        #expect(try Peers.invalid(content, schema: "record.json").isEmpty)
        try shell("alice", "group nickname climbing Alma | encrypt -q | send -q")
        try shell("alice", "sotto history wipe --yes --keep-identity -q")
        try shell("alice", "keygen prekeys | send -q")
        try shell("alice", "sotto history import -q room.age")
        #expect(try show("alice")["unconfirmed"] == .bool(true))
        #expect(try shell("alice", "group participants --json climbing").text == before)
        for line in [
            "group door --publish climbing", "group door --close climbing",
            "echo early | encrypt --group climbing",
        ] {
            let refused = try run("alice", line)
            #expect(refused.status == 75 && refused.text.isEmpty, "\(line): \(refused)")
        }
        try shell(
            "carol",
            "group join --phrase @FILE:phrase --nickname Caro -q | encrypt -q | send -q")
        try read("alice")
        #expect(try show("alice")["members"] == .integer(2))
        try sync("alice")
        try read("bob")
        try sync("bob")
        try read("alice")
        #expect(try show("alice")["unconfirmed"] == nil)
        let names = try shell("alice", "group participants --text climbing").text
        #expect(names.contains("Alma") && names.contains("Caro"))
        for _ in 0..<2 {
            for member in people.keys.sorted() { try sync(member) }
            for member in people.keys.sorted() { try read(member) }
        }
        #expect(try show("alice")["members"] == .integer(3) && show("alice")["forks"] == nil)
        #expect(try Set(["alice", "bob", "carol"].map { try show($0)["state"] }).count == 1)
        #expect(try shell("alice", "group door --publish climbing").text.contains("\"room\""))
        try say("alice", "two")
        #expect(try texts("bob") == ["two"] && texts("carol").isEmpty)
        try say("bob", "three")
        #expect(try texts("alice") == ["three"])
        try say("carol", "four")
        #expect(try texts("alice") == ["four"] && texts("bob") == ["four"])
    }

    /// C19: the record of a room and its relay have no message, member or phrase in the clear; a weak phrase is refused.
    @Test func c19TheRelaySeesADoorOnly() throws {
        home.files.write("weak", Array("hunter2\n".utf8))
        let weak = try run(
            "alice", "group create --preset room --nickname A --phrase @FILE:weak climbing")
        #expect(weak.status == 64 && weak.stderr.contains("bits"))
        try create()
        let created = try shell("alice", "group door --publish climbing").text
        let id = party("alice").identity.id.description
        // The nickname has a full stop, so that it cannot occur in base64 by chance.
        #expect(
            !created.contains(id) && !created.contains("climbing") && !created.contains("Ally.W"))
        try enter("bob", "Bo")
        let store = try scratch.read("relay.db") + scratch.read("relay.db-wal")
        #expect(
            store.contains(Array("\"type\":\"room\"".utf8))
                && !store.contains(Array("Ally.W".utf8)))
    }

    /// C19: a flood at the door waits: a member lets in 20 people an hour.
    @Test func c19AFloodAtTheDoorWaits() throws {
        try create()
        let door = try RoomDoor(
            phrase: SecretBytes(copying: Self.phrase.utf8), host: "127.0.0.1")
        let log = try shell("alice", "group log climbing").records
        let group = try #require(log.first.flatMap { try? GroupChange($0) })
        let last = try #require(log.last.flatMap { try? GroupChange($0) })
        var lines = ""
        for _ in 0..<25 {
            let stranger = Sample.identity()
            let card = try #require(stranger.card().record)
            let change = try GroupChange(
                door.join(
                    group.id, by: stranger.id,
                    GroupChange.Entry(card: sha256(JSON.object(card).canonical()))),
                in: group.id, by: stranger.signingKey, seq: 1, parents: [last.id])
            var body = GroupBody(group.id)
            body.changes = [try JSON.object(parsing: change.bytes)]
            body.cards = [card]
            let envelope = try Sealed.seal(
                body: body.record, from: stranger, to: party("alice").identity.card(),
                time: .now())
            lines += String(decoding: envelope.record.serialized(), as: UTF8.self) + "\n"
        }
        try shell("alice", "decrypt", lines)
        #expect(try show("alice")["members"] == .integer(21))
        // The others wait for the next hour.
        try shell("alice", "group sync")
        #expect(try show("alice")["members"] == .integer(21))
    }

    @Test func badUseIsRefused() throws {
        try create()
        for (line, status, words) in [
            ("group join --phrase @FILE:phrase", 64, "--nickname is required"),
            ("group check --phrase secret", 64, "other users can read it"),
            ("group check --phrase @FILE:phrase sotto:05aa", 64, "not the address of a room"),
            ("group check --phrase @FILE:phrase --relay nowhere", 64, "not of the form"),
            ("group door --new-phrase --close climbing", 64, "cannot be combined"),
            ("group create --relay tcp://a:1 team", 64, "--relay is for a room"),
            ("group join --phrase @FILE:missing --nickname a", 66, "missing"),
        ] {
            let refused = try run("alice", line)
            #expect(
                refused.status == status && refused.stderr.contains(words), "\(line): \(refused)")
        }
        // A room of a relay that is not there.
        let away = try run(
            "bob", "group check --phrase @FILE:phrase --relay tcp://127.0.0.1:1")
        #expect(away.status == 69 && away.stderr.contains("cannot reach"))
        // The record of a room is no message for a chat.
        let record = try shell("alice", "group door --publish climbing").text
        try shell("alice", "keygen chat --phrase @FILE:phrase -q -o friends.chat")
        let chat = try run("alice", "encrypt --chat friends.chat --jsonl", record)
        #expect(chat.status == 65 && !chat.text.contains(#""box""#), "\(chat)")
    }
}
