import TestSupport
import Testing

@testable import Sotto

struct RoomTests {
    private struct Known {
        let object: JSONObject

        init() throws { object = try JSON.object(parsing: Vectors.file("room.json")) }

        func text(_ name: String) throws -> String { try #require(object[name]?.string) }

        func bytes(_ name: String) throws -> [UInt8] {
            try #require(SottoBytes.bytes(hex: try text(name)))
        }

        func record(_ place: Int) throws -> RoomRecord {
            try RoomRecord(record: try #require(object["records"]?.array?[place].object))
        }

        func door() throws -> RoomDoor {
            RoomDoor(root: SecretBytes(copying: try bytes("root")))
        }
    }

    @Test func thePhraseGivesTheKnownDoor() throws {
        let known = try Known()
        let door = try RoomDoor(
            phrase: SecretBytes(copying: try known.text("phrase").utf8),
            host: try known.text("host"))
        #expect(door.id.description == (try known.text("door")))
        #expect(try known.door().id == door.id)
        let other = try RoomDoor(
            phrase: SecretBytes(copying: try known.text("phrase").utf8), host: "other.example.org")
        #expect(other.id != door.id)
    }

    @Test func theKnownRecordsOpen() throws {
        let known = try Known()
        let content = try known.door().open(known.record(0))
        #expect(
            content.group?.bytes
                == SottoBytes.bytes(
                    hex: "7058b14ed9a6b2fcdd7fd90f78331cfa08b702d5e09cdb71d6ee8abbeb48c774"))
        #expect(content.changes == [["a": .integer(1)]])
        #expect(content.cards == [["b": .string("ü")]])
        #expect(try known.door().open(known.record(1)).group == nil)
        let newcomer = try #require(known.object["newcomer"]?.object)
        let group = try #require(newcomer["group"]?.string.flatMap { GroupID($0) })
        let id = try #require(newcomer["id"]?.string.flatMap { KeyID($0) })
        let act = try known.door().join(group, by: id, GroupChange.Entry(card: randomBytes(32)))
        guard case .doorJoin(_, let door, let proof) = act else {
            Issue.record("not a door-join")
            return
        }
        #expect(door == (try known.door().id.publicKey))
        #expect(newcomer["proof"]?.string == hex(proof))
    }

    @Test func aRecordOpensWithItsPhraseOnly() throws {
        let door = Sample.door()
        let keys = RoomKeys(door, relay: "tcp://a:1")
        let record = try RoomRecord(record: keys.record(.closed, seq: 7))
        #expect(record.seq == 7 && record.door == door.id && record.relay == "tcp://a:1")
        #expect(try door.open(record).group == nil)
        let other = Sample.door()
        #expect(throws: RoomError.authentication) { try other.open(record) }
    }

    /// The keys of a moderator publish, and do not sign newcomers.
    @Test func theKeysAreReadAgain() throws {
        let door = Sample.door()
        let keys = RoomKeys(door, relay: "tcp://a:1")
        let again = try RoomKeys(keys.object)
        let record = try RoomRecord(record: again.record(.closed, seq: 2))
        #expect(
            record.publisher == (try RoomRecord(record: keys.record(.closed, seq: 1))).publisher)
        #expect(try door.open(record).group == nil)
        var forged = keys.object
        forged["publisher"] = .base64(randomBytes(32))
        #expect(throws: RoomError.signature) { try RoomKeys(forged) }
    }

    @Test func changedRecordsAreRefused() throws {
        let door = Sample.door()
        let record = RoomKeys(door, relay: "tcp://a:1").record(.closed, seq: 1)
        for (name, value) in [
            ("seq", JSON.integer(2)), ("relay", .string("tcp://b:1")),
            ("id", .string(Sample.identity().id.description)),
            ("publisher", .string(hex(SigningKey(seed: SecretBytes(randomCount: 32)).publicKey))),
            ("proof", .string(hex(randomBytes(64)))), ("box", .base64(randomBytes(100))),
        ] {
            var changed = record
            changed[name] = value
            #expect(throws: RoomError.signature, "\(name)") { try RoomRecord(record: changed) }
        }
        for name in ["id", "publisher", "proof", "seq", "issued", "box"] {
            var changed = record
            changed[name] = nil
            #expect(throws: RoomError.member(name)) { try RoomRecord(record: changed) }
        }
        // Without the phrase another key cannot publish.
        var stolen = record
        let thief = SigningKey(seed: SecretBytes(randomCount: 32))
        stolen["publisher"] = .string(hex(thief.publicKey))
        SignedRecord.sign(&stolen, with: thief)
        #expect(throws: RoomError.signature) { try RoomRecord(record: stolen) }
    }

    /// A long log has space for the door, what is before it, and some of the rest.
    @Test func aRecordHasWhatANewcomerNeeds() throws {
        let owner = Sample.identity()
        let door = Sample.door()
        var log = try #require(
            GroupLog(
                GroupChange(
                    .create(nonce: randomBytes(32), GroupPolicy()), in: nil, by: owner.signingKey,
                    seq: 1, parents: [])))
        func add(_ act: GroupChange.Act) throws {
            let change = try GroupChange(
                act, in: log.group, by: owner.signingKey, seq: log.nextSeq(of: owner.id),
                parents: log.heads)
            #expect(log.add(change) == .stored)
        }
        try add(.policy(GroupPolicy(door: door.id.publicKey)))
        for number in 0..<200 { try add(.set(.name("name \(number)"))) }
        let content = try RoomContent(log, door: door.id, cards: [owner.card()])
        let record = RoomKeys(door, relay: "tcp://a:1").record(content, seq: 1)
        #expect(record.serialized().count <= RoomRecord.limit)
        let read = try door.open(RoomRecord(record: record))
        #expect((2..<202).contains(read.changes.count) && read.cards.count == 1)
        let first = try GroupChange(#require(read.changes.first))
        var copy = try #require(GroupLog(first))
        for change in read.changes.dropFirst() {
            #expect(copy.add(try GroupChange(change)) == .stored)
        }
        #expect(copy.fold().policy.door == door.id.publicKey)
        // A door at the end of the log needs all of it.
        let late = Sample.door()
        try add(.policy(GroupPolicy(door: late.id.publicKey)))
        #expect(throws: RoomError.tooLong) {
            try RoomContent(log, door: late.id, cards: [owner.card()])
        }
        // A file has them.
        let needed = RoomContent.needed(log, door: late.id)
        #expect(needed.map(\.id) == log.changes.map(\.id))
        var (file, blob) = try GroupFile.seal(
            Array(needed.map { $0.bytes + [10] }.joined()), heads: log.heads,
            key: randomBytes(32), nonce: randomBytes(16))
        try add(.set(.name("after")))
        func opened() throws -> RoomContent {
            let content = try RoomContent(log, door: late.id, cards: [owner.card()], file: file)
            let record = RoomKeys(late, relay: "tcp://a:1").record(content, seq: 1)
            return try late.open(RoomRecord(record: record))
        }
        #expect(throws: RoomError.member("file")) { try opened() }
        file.pointer.place = .init(relay: "tcp://a:1", id: randomBytes(32))
        let short = try opened()
        #expect(short.file == file && short.changes.count == 1)
        let whole = short.adding(try file.records(in: MemorySource(blob)).changes)
        #expect(try whole.changes.map { try GroupChange($0).id } == log.changes.map(\.id))
    }

    @Test func theAddressIsReadAgain() throws {
        let uri = RoomURI(relay: "tls://relay.example.org:7667#sha256=00", name: "Grüne Küche & co")
        #expect(RoomURI(uri.text) == uri)
        #expect(RoomURI("sotto:room?relay=tcp%3A%2F%2Fa%3A1&more=1")?.relay == "tcp://a:1")
        for bad in [
            "", "sotto:room", "sotto:room?name=a", "sotto:05?relay=a", "sotto:room?relay=%",
        ] {
            #expect(RoomURI(bad) == nil, "\(bad)")
        }
    }
}
