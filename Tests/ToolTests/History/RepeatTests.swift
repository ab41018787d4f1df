import Foundation
import Sotto
import SottoDatabase
import TestSupport
import Testing

@testable import SottoState

/// `history repeat`: own messages are sent again, in envelopes with ids of their own.
@Suite(.timeLimit(.minutes(60))) struct RepeatTests {
    let circle: Circle
    let clock: MovedClock

    init() throws {
        clock = try MovedClock()
        circle = try Circle("alice", "bob", "carol", clock: clock)
    }

    private var alice: Party { circle["alice"] }
    private var bob: Party { circle["bob"] }

    /// Encrypts texts, or records, for `send`. Returns the envelopes.
    private func encrypt(_ input: String, _ arguments: String...) throws -> [String] {
        try circle.encrypt("alice", input, arguments)
    }

    private func again(_ arguments: String...) throws -> String {
        try circle.must("alice", "history", ["repeat"] + arguments).text
    }

    private func statuses(_ who: String = "bob") throws -> [String?] {
        try alice.history(who).map { $0["status"]?.string }
    }

    private func texts(_ records: [JSONObject]) -> [String?] {
        records.map { $0.body["text"]?.string }
    }

    // MARK: One person

    @Test func aLostMessageIsSentAgain() throws {
        _ = try encrypt("teh end", "--to", "bob")
        _ = try encrypt(
            circle.must("alice", "compose", ["edit", "-1", "--with", "bob"], "the end").text)
        _ = try encrypt("second", "--to", "bob")
        let early = try circle.must("alice", "history", ["repeat", "bob"])
        #expect(early.stdout.isEmpty && early.stderr.contains("less than a minute old"))
        clock.set(61)
        let record = try again("bob")
        #expect(record.split(separator: "\n").count == 1)
        let sealed = try encrypt(record)
        #expect(try statuses() == ["unsent", "unsent"])
        #expect(
            try circle.must("alice", "history", ["bob", "--text"]).text.contains("[not sent yet]"))
        try alice.queue(sealed)
        #expect(try statuses() == ["queued", "queued"])
        #expect(try again("bob").isEmpty && alice.run("history", ["unsent"]).status == 1)
        try alice.settle("stored")
        #expect(try statuses() == ["stored", "stored"])
        let opened = try bob.read(sealed)
        #expect(opened.status == 0)
        #expect(try texts(opened.records) == ["teh end", nil, "second"])
        #expect(try bob.history("alice").map { $0["edited"] != nil } == [true, false])
        // A repeat of a repeat is the same.
        clock.set(200)
        let more = try bob.read(encrypt(again("1", "3")))
        #expect(try more.status == 0 && more.records.allSatisfy { $0["seen"] == .bool(true) })
        #expect(try bob.history("alice").count == 2)
    }

    /// The content is in the rows of the messages alone, so that their deletion erases it.
    @Test func theRepeatItselfHasTheIdsAlone() throws {
        _ = try encrypt("erase me", "--to", "bob")
        clock.set(61)
        #expect(try bob.read(encrypt(again("bob"))).status == 0)
        for (party, peer) in [(alice, "bob"), (bob, "alice")] {
            let bodies = try party.history(peer, "--raw").map(\.body)
            let repeats = bodies.filter { $0["type"] == .string("history") }
            #expect(repeats.count == 1 && repeats[0]["ids"]?.array?.count == 1)
            #expect(repeats.allSatisfy { $0["history"] == nil })
        }
    }

    @Test func eitherOrderOfArrivalIsSeen() throws {
        let first = try encrypt("one", "--to", "bob", "--elsewhere")
        let second = try encrypt("two", "--to", "bob", "--elsewhere")
        clock.set(61)
        let repeats = try encrypt(again("1", "2"), "--elsewhere")
        #expect(try bob.read(first).status == 0)
        let opened = try bob.read(repeats)
        #expect(try opened.status == 0 && texts(opened.records) == ["one", "two"])
        #expect(try opened.records.map { $0["seen"] } == [.bool(true), nil])
        for _ in 0..<2 {
            let late = try bob.read(second)
            #expect(try late.status == 0 && late.records.map { $0["seen"] } == [.bool(true)])
        }
        #expect(try texts(bob.history("alice")) == ["one", "two"])
    }

    /// The message of a request came in a repeat, and is opened after that.
    @Test func aRequestEndsAfterItsRepeat() throws {
        try circle.must("bob", "contact", ["add", "carol.card"])
        try circle.must("bob", "contact", ["remove", "alice"])
        let sealed = try encrypt("one", "--to", "bob", "--elsewhere")
        #expect(try bob.read(sealed).status == 0)
        let store = try bob.store()
        #expect(try store.requestedEnvelopes(from: alice.identity.id).count == 1)
        try circle.must("bob", "contact", ["add", "alice.card"])
        clock.set(61)
        #expect(try bob.read(encrypt(again("1"), "--elsewhere")).status == 0)
        let late = try bob.read(sealed)
        #expect(try late.status == 0 && late.records.map { $0["seen"] } == [.bool(true)])
        #expect(try store.requestedEnvelopes(from: alice.identity.id).isEmpty)
    }

    @Test func otherContentIs13() throws {
        let sealed = try encrypt("one", "--to", "bob", "--elsewhere")
        let other = try encrypt("two", "--to", "bob", "--elsewhere")
        _ = try encrypt("three", "--to", "bob", "--elsewhere")
        clock.set(61)
        let record = try again("1", "2", "3")
        let forged = try encrypt(
            record.replacing("\"one\"", with: "\"1\"").replacing("\"two\"", with: "\"2\""),
            "--elsewhere")
        #expect(try bob.read(sealed).status == 0)
        let opened = try bob.read(forged)
        #expect(opened.status == 15)
        #expect(
            try opened.records.map { $0["status"]?.integer ?? 0 }.sorted() == [0, 0, 13])
        #expect(try bob.read(other).status == 13)
        #expect(try texts(bob.history("alice")) == ["one", "2", "three"])
    }

    /// Only its author sends a message again.
    @Test func aRepeatOfAnotherPersonIsRefused() throws {
        try circle.must("bob", "contact", ["add", "carol.card"])
        try circle.must("carol", "contact", ["add", "bob.card"])
        let sealed = try encrypt("of alice", "--to", "bob", "--elsewhere")
        #expect(try bob.read(sealed).status == 0)
        clock.set(61)
        let record = try again("1")
        let taken = try circle["carol"].run("encrypt", stdin: Array(record.utf8))
        #expect(taken.status == 0)
        let opened = try bob.read(taken.lines)
        #expect(opened.status == 13, "\(opened)")
        #expect(try bob.history("alice").map { $0["name"] } == [.string("alice")])
        // A message of another person is not sent again, and neither is one of a chat.
        let run = try bob.run("history", ["repeat", "1"])
        #expect(run.status == 64 && run.stderr.contains("only own messages"))
    }

    @Test func aBadElementFailsAlone() throws {
        let id = { Envelope.newID() }
        let time = "2026-11-22T09:30:00Z"
        let elements = [
            #"{"id":"\#(id())","time":"\#(time)","body":{"type":"text","text":"good"}}"#,
            #"{"id":"\#(id())","body":{"type":"text","text":"no time"}}"#,
            #"{"id":"x","time":"\#(time)","body":{"type":"text","text":"no id"}}"#,
            #"{"id":"\#(id())","time":"\#(time)","body":{"type":"text"}}"#,
            #"{"id":"\#(id())","time":"\#(time)","body":{"type":"typing","state":"started"}}"#,
            #"{"id":"\#(id())","time":"\#(time)","body":{"type":"call","call":"\#(id())","kind":"busy"}}"#,
            #"{"id":"\#(id())","time":"\#(time)","body":{"type":"system","event":"verified"}}"#,
            #"{"id":"\#(id())","time":"\#(time)","body":{"type":"history","ids":["\#(id())"]}}"#,
        ]
        let body = #"{"type":"history","history":[\#(elements.joined(separator: ","))]}"#
        let sealed = try encrypt(#"{"to":"bob","body":\#(body)}"#)
        let opened = try bob.read(sealed)
        #expect(opened.status == 15)
        let expected: [Int64] = [0] + Array(repeating: 65, count: elements.count - 1)
        #expect(try opened.records.map { $0["status"]?.integer ?? 0 } == expected)
        #expect(try texts(bob.history("alice")) == ["good"])
        for bad in [#"{"type":"history"}"#, #"{"type":"history","history":[7]}"#] {
            let run = try alice.run("encrypt", stdin: Array(#"{"to":"bob","body":\#(bad)}"#.utf8))
            #expect(run.status == 65)
        }
    }

    /// An element can name the message that carries it, or a message that is in another element.
    @Test func anIdThatIsUsedTwiceFailsAlone() throws {
        let (own, twice) = (Envelope.newID(), Envelope.newID())
        let named = [
            (own, "own"), (twice, "twice"), (twice, "twice"), (twice, "other"),
            (Envelope.newID(), "good"),
        ]
        let elements = named.map { id, text in
            JSON.object([
                "id": .string(id), "time": .string("2026-11-22T09:30:00Z"),
                "body": .object(Message.textBody(text)),
            ])
        }
        func open(_ elements: [JSON], in id: String) throws -> Run {
            let sealed = try Sealed.seal(
                body: ["type": .string("history"), "history": .array(elements)],
                from: alice.identity, to: bob.identity.card(), time: .now(), id: id)
            return try bob.run("decrypt", stdin: sealed.record.serialized() + [10])
        }
        let opened = try open(elements, in: own)
        #expect(opened.status == 15, "\(opened)")
        #expect(try opened.records.map { $0["status"]?.integer ?? 0 } == [65, 0, 0, 13, 0])
        #expect(try texts(bob.history("alice")) == ["twice", "good"])
        // No other element is left for the record of the history.
        let alone = Envelope.newID()
        var element = try #require(elements[0].object)
        element["id"] = .string(alone)
        #expect(try open([.object(element)], in: alone).status == 65)
        #expect(try texts(bob.history("alice")) == ["twice", "good"])
    }

    @Test func whatIsGoneIsNotSentAgain() throws {
        for text in ["deleted", "ended", "waiting", "lost"] {
            let ending =
                #"{"body":{"type":"text","text":"ended","expires":{"after":60,"from":"sent"}}}"#
            let input = text == "ended" ? ending : text
            let sealed = try encrypt(input, "--to", "bob", "--jsonl")
            if text == "waiting" { try alice.queue(sealed) }
        }
        try circle.must("alice", "history", ["delete", "1"])
        clock.set(120)
        let record = try again("bob", "1", "2", "3")
        #expect(record.contains("lost") && !record.contains("waiting"))
        #expect(!record.contains("deleted\"") && !record.contains("ended\""))
    }

    /// On a terminal the records would be lost.
    @Test func aTerminalGetsNoRecords() throws {
        _ = try encrypt("one", "--to", "bob")
        clock.set(61)
        let run = try TerminalSession(alice.command("history", ["repeat", "bob"])).finish()
        #expect(run.status == 64 && run.text.contains("sotto history repeat bob --send"))
        let forced = try TerminalSession(alice.command("history", ["repeat", "bob", "--json"]))
            .finish()
        #expect(forced.status == 0 && forced.text.contains(#""type":"history""#))
    }

    /// A receipt for a message that was sent again counts for the message.
    @Test func aReceiptCounts() throws {
        try circle.must("bob", "contact", ["set", "alice", "receipts=on"])
        _ = try encrypt("lost", "--to", "bob")
        clock.set(61)
        let receipts = circle.home.files("receipts")
        #expect(try bob.read(encrypt(again("bob")), "--receipts", receipts).status == 0)
        #expect(try alice.read(bob.run("encrypt", [receipts]).lines).status == 0)
        #expect(try statuses() == ["delivered"])
    }

    /// The author deleted the message before its repeat arrived.
    @Test func aDeletionBeforeTheRepeatCounts() throws {
        _ = try encrypt("a mistake", "--to", "bob")
        clock.set(61)
        let sealed = try encrypt(again("bob"))
        let deletion = try encrypt(
            circle.must("alice", "compose", ["delete", "-1", "--with", "bob"]).text)
        #expect(try bob.read(deletion).status == 0)
        let opened = try bob.read(sealed)
        #expect(opened.status == 0 && !opened.text.contains("a mistake"))
    }

    /// The file of a lost message did not reach a relay either.
    @Test func aLostFileIsUploadedAfterAll() throws {
        circle.home.files.write("a.bin", [UInt8](repeating: 7, count: 1_000))
        let sealed = try encrypt("see", "--to", "bob", "--attach", circle.home.files("a.bin"))
        _ = try encrypt("and more", "--to", "bob")
        clock.set(61)
        let record = try again("bob")
        #expect(record.split(separator: "\n").count == 2)
        let repeated = try encrypt(record)
        #expect(sealed.count == 2 && repeated.count == 3)
        #expect(repeated[0] == sealed[0] && repeated[0].contains(#""type":"blob""#))
        let blob = try JSON.object(parsing: Array(repeated[1].utf8))["blob"]
        #expect(try blob != nil && blob == JSON.object(parsing: Array(sealed[1].utf8))["blob"])
        let opened = try bob.read([repeated[1], repeated[2]])
        #expect(try opened.records.map { $0.body["type"] } == [.string("file"), .string("text")])
    }

    // MARK: Files

    private static let day = 86_400

    /// Sends Bob a file, which he opens and does not fetch. Returns the lines of `encrypt`.
    private func sendFile() throws -> [String] {
        circle.home.files.write("a.bin", [UInt8](repeating: 7, count: 1_000))
        let sealed = try encrypt(
            "see", "--to", "bob", "--elsewhere", "--attach", circle.home.files("a.bin"))
        try #require(sealed.count == 2)
        #expect(try bob.read([sealed[1]]).status == 0)
        return sealed
    }

    /// Whether the pages and the records of both have the mark, or those of none.
    private func isExpired() throws -> Bool {
        var found: Set<Bool> = []
        for (party, peer) in [(alice, "bob"), (bob, "alice")] {
            found.insert(try party.history(peer).last?["fileExpired"] == .bool(true))
            let text = try party.run("history", [peer, "--text"]).text
            found.insert(
                text.contains(
                    peer == "bob" ? "[file no longer at the relay]" : "[file expired]"))
        }
        try #require(found.count == 1)
        return found.contains(true)
    }

    /// The relay keeps a file for seven days. A repeat brings it there again, also one that was uploaded.
    @Test func anExpiredFileIsUploadedAnew() throws {
        let sealed = try sendFile()
        var warned: [Int32] = []
        for hours in [0, 5 * 24 - 1, 5 * 24 + 1, 7 * 24 - 1, 7 * 24 + 1] {
            clock.set(hours * 3_600)
            warned.append(try bob.run("history", ["--expiring"]).status)
            #expect(try isExpired() == (hours > 7 * 24))
        }
        #expect(warned == [1, 1, 0, 0, 1])
        #expect(try alice.run("history", ["--expiring"]).status == 1)
        // send has removed the name of the file that waited.
        let folder = circle.home.files("\(alice.stateDirectory)/blobs")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        for name in files where name.hasPrefix("out-") {
            try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
        let repeated = try encrypt(again("1"), "--elsewhere")
        #expect(repeated.count == 2 && repeated[0] == sealed[0])
        let named = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(named.sorted() == files.sorted() && files.count == 2)
        let opened = try bob.read([repeated[1]])
        #expect(try opened.status == 0 && opened.records.map { $0["seen"] } == [.bool(true)])
        #expect(try !isExpired())
        clock.set(13 * Self.day)
        #expect(try !isExpired() && bob.run("history", ["--expiring"]).status == 0)
        // A repeat before the end changes nothing at the relay.
        #expect(try bob.read([encrypt(again("1"), "--elsewhere")[1]]).status == 0)
        clock.set(15 * Self.day)
        #expect(try isExpired())
    }

    /// Without the bytes, a repeat would point to nothing.
    @Test func aFileThatIsNotKeptIsLeftOut() throws {
        _ = try sendFile()
        try FileManager.default.removeItem(
            atPath: circle.home.files("\(alice.stateDirectory)/blobs"))
        clock.set(6 * Self.day)
        #expect(try again("1").contains(#""type":"file""#))
        clock.set(8 * Self.day)
        let run = try circle.must("alice", "history", ["repeat", "1"])
        #expect(run.stdout.isEmpty && run.stderr.contains("not kept here"), "\(run.stderr)")
    }

    /// Each side knows only its own part: the reader that the file was fetched, the sender that the message was read.
    @Test func aFileThatWasFetchedDoesNotExpire() throws {
        try circle.must("bob", "contact", ["set", "alice", "receipts=on"])
        _ = try sendFile()
        clock.set(8 * Self.day)
        #expect(try isExpired())
        let message = try #require(bob.history("alice").last)
        try bob.store().noteFetched(message)
        #expect(try bob.history("alice").last?["fileExpired"] == nil)
        let receipts = try circle.must("bob", "history", ["read", "alice"])
        #expect(try alice.read(bob.run("encrypt", stdin: receipts.stdout).lines).status == 0)
        #expect(try alice.history("bob").last?["fileExpired"] == nil)
    }

    // MARK: Groups

    @Test func aLostMessageToAGroupIsSentAgain() throws {
        try circle.team("alice", "bob", "carol")
        try circle.say("alice", "first")
        try circle.settle()
        let lost = try encrypt("lost", "--group", "team")
        #expect(lost.count == 2)
        clock.set(61)
        #expect(try statuses("team") == ["handedOn", "unsent"])
        let sealed = try encrypt(again("team"))
        try alice.queue(sealed)
        #expect(try statuses("team") == ["handedOn", "queued"])
        for line in sealed { try circle.deliver(line: line) }
        #expect(try circle.texts("bob") == ["lost"] && circle.texts("carol") == ["lost"])
        // The pipe was only slow.
        for line in lost { try circle.deliver(line: line) }
        let late = try circle.read("bob")
        #expect(try late.status == 0 && late.records.map { $0["seen"] } == [.bool(true)])
        #expect(try circle.history("bob") == ["first", "lost"])
        try alice.settle("stored")
        #expect(try statuses("team") == ["handedOn", "stored"])
    }

    /// A copy that reached no outbox is missing, also when the other one was read.
    @Test func aMessageToSomeMembersIsSentAgain() throws {
        try circle.team("alice", "bob", "carol")
        let sealed = try encrypt("to all", "--group", "team")
        let carol = circle["carol"].identity.id.description
        let missing = sealed.last { $0.contains(carol) }
        let others = sealed.filter { $0 != missing }
        try alice.queue(others)
        #expect(try statuses("team") == ["queued"])
        try alice.settle("stored")
        for line in others { try circle.deliver(line: line) }
        try circle.settle()
        try circle.compose("bob", ["react", "-1", "--with", "team", "👍"])
        try circle.settle()
        clock.set(61)
        #expect(try statuses("team") == ["unsent"])
        let repeats = try encrypt(again("team"))
        for line in repeats { try circle.deliver(line: line) }
        #expect(try circle.texts("carol") == ["to all"])
        try alice.queue(repeats)
        #expect(try statuses("team") == ["queued"])
        try alice.settle("stored")
        #expect(try statuses("team") == ["stored"])
    }

    @Test func otherContentInAGroupIs13() throws {
        try circle.team("alice", "bob", "carol")
        let sealed = try encrypt("one", "--group", "team", "--elsewhere")
        clock.set(61)
        let number = try #require(alice.history("team").last?["number"]?.integer)
        let forged = try encrypt(
            again("\(number)").replacing("\"one\"", with: "\"1\""), "--elsewhere")
        // Bob gets the message first, Carol the repeat.
        for line in sealed { try circle.deliver(line: line) }
        #expect(try circle.texts("bob") == ["one"])
        let own = circle.take("carol")
        for line in forged { try circle.deliver(line: line) }
        #expect(try circle.read("bob").status == 13)
        // Without the chain, which was in the mail of the message, the repeat waits.
        let bodies = own.filter { !$0.contains(#""suite":"group""#) }
        #expect(try circle.read("carol", bodies).status == 0)
        #expect(try circle.texts("carol") == ["1"])
        let copies = own.filter { $0.contains(#""suite":"group""#) }
        #expect(try circle.read("carol", copies).status == 13)
        #expect(try circle.history("bob") == ["one"] && circle.history("carol") == ["1"])
    }

    /// An author knows the place of the message that carries the elements.
    @Test func thePlaceOfTheRepeatItselfIsRefused() throws {
        try circle.team("alice", "bob")
        try circle.say("alice", "one")
        try circle.settle()
        let one = try #require(alice.history("team").last)
        let place = try #require(try circle.place(ofLastBy: "alice"))
        var next = place
        next["iteration"] = .integer(try #require(place["iteration"]?.integer) + 1)
        let elements = [(next, "own"), (place, "one")].map { place, text in
            JSON.object([
                "place": .object(place), "time": one["time"] ?? .null,
                "body": .object(Message.textBody(text)),
            ])
        }
        let record: JSONObject = [
            "group": .string(try circle.onlyGroup("alice")),
            "body": .object(["type": .string("history"), "history": .array(elements)]),
        ]
        let sealed = try encrypt(String(decoding: record.serialized(), as: UTF8.self))
        for line in sealed { try circle.deliver(line: line) }
        let opened = try circle.read("bob")
        #expect(opened.status == 15, "\(opened)")
        #expect(try opened.records.map { $0["status"]?.integer ?? 0 } == [65, 0])
        #expect(try circle.history("bob") == ["one"])
    }

    /// With the visibility `joined` a newcomer takes no message from before.
    @Test func aNewcomerTakesNoEarlierMessage() throws {
        try circle.team("alice", "bob")
        _ = try encrypt("before", "--group", "team")
        clock.set(100)
        // The record is older than the membership.
        let record = try again("team")
        try circle.invite("carol", by: "alice")
        try circle.settle()
        for line in try encrypt(record, "--elsewhere") { try circle.deliver(line: line) }
        #expect(try circle.texts("bob") == ["before"] && circle.texts("carol").isEmpty)
        #expect(try circle.history("carol").isEmpty)
    }

    /// The author sends no message again that a newcomer may not read, and later ones as before.
    @Test(arguments: ["joined", "granted", "global"])
    func aNewcomerIsShownNoEarlierMessage(_ visibility: String) throws {
        try circle.team("alice", "bob", options: ["--visibility", visibility])
        if visibility == "granted" { try circle.group("alice", "grant", "team", "bob") }
        try circle.settle()
        _ = try encrypt("before", "--group", "team")
        clock.set(100)
        #expect(try again("team").contains("before"))
        try circle.invite("carol", by: "alice")
        try circle.settle()
        _ = try encrypt("after", "--group", "team")
        clock.set(200)
        let run = try circle.must("alice", "history", ["repeat", "team"])
        // Without a grant the newcomer is no reader.
        #expect(run.text.contains("before") == (visibility != "joined"))
        #expect(run.text.contains("after"))
        let isLeftOut = run.stderr.contains("1 message left out: a present member")
        #expect(isLeftOut == (visibility == "joined"))
    }
}
