import Foundation
import Sotto
import TestSupport
import Testing

/// The limits of records from other people: what is accepted can be read back wherever it stands.
@Suite struct RecordFormTests {
    private let key = People.alice.signingKey

    /// Returns arrays that nest `depth` deep.
    private func nested(_ depth: Int) -> JSON {
        (1..<depth).reduce(.array([])) { value, _ in .array([value]) }
    }

    /// Returns a record with a further member, signed again.
    private func signed(_ record: JSONObject, _ value: JSON, by key: SigningKey) -> JSONObject {
        var record = record
        record["x"] = value
        SignedRecord.sign(&record, with: key)
        return record
    }

    private func change() throws -> JSONObject {
        let change = try GroupChange(
            .create(nonce: randomBytes(32), GroupPolicy()), in: nil, by: key, seq: 1, parents: [])
        return try JSON.object(parsing: change.bytes)
    }

    /// The readers of the signed records, each with a record and the key that signs it.
    private func kinds() throws -> [(
        form: RecordForm, record: JSONObject, key: SigningKey, read: (JSONObject) throws -> Void
    )] {
        let publication = PreKeyPublication(
            by: People.alice,
            signedPreKey: SecretPreKey(.signed, id: 1).signed(by: People.alice, at: .now()),
            pqSignedPreKey: nil, oneTimePreKeys: [])
        return [
            (.card, try #require(People.alice.card().record), key, { _ = try Card(record: $0) }),
            (.change, try change(), key, { _ = try GroupChange($0) }),
            (
                .preKeys, publication.record, key,
                { _ = try PreKeyPublication(record: $0) }
            ),
            (
                .devices, try DeviceListTests.list(["laptop"]).record, key,
                { _ = try DeviceList(record: $0) }
            ),
            (
                .loginKey, LoginKeyRecord(nil, of: People.alice, issued: .now()).record, key,
                { _ = try LoginKeyRecord(record: $0) }
            ),
            (
                .revocation, Revocation(of: People.alice, issued: .now()).record, key,
                { _ = try Revocation(record: $0) }
            ),
        ]
    }

    /// A number that another reader would change is refused, before anything is stored.
    @Test(arguments: [
        "1e20", "1E20", "-1e20", "1.5", "1.0", "-0.0", "1e0", "9007199254740992",
        "-9007199254740992", "9223372036854775807", #"{"a":[1e20]}"#, #"[[{"a":0.5}]]"#,
    ])
    func aSignedNumberThatIsNoSafeIntegerIsRefused(_ text: String) throws {
        let value = try JSON(parsing: Array(text.utf8))
        for kind in try kinds() {
            let record = signed(kind.record, value, by: kind.key)
            #expect(throws: (any Error).self, "\(kind.form)") { try kind.read(record) }
            #expect(throws: RecordFormError.number) { try kind.form.canonical(record) }
        }
    }

    @Test(arguments: [
        "9007199254740991", "-9007199254740991", "0", "-0", #""\u0000\ud83d\ude00\"\\""#,
        "[true,false,null,{}]",
    ])
    func anyOtherValueIsReadBack(_ text: String) throws {
        let value = try JSON(parsing: Array(text.utf8))
        for kind in try kinds() {
            let record = signed(kind.record, value, by: kind.key)
            try kind.read(record)
            let bytes = try kind.form.canonical(record)
            #expect(try JSON.object(parsing: bytes).sorted() == record.sorted())
            try kind.read(JSON.object(parsing: bytes))
        }
    }

    /// The record itself is one level.
    @Test func theNestingHasALimit() throws {
        for kind in try kinds() {
            try kind.read(signed(kind.record, nested(kind.form.depth - 1), by: kind.key))
            for depth in [kind.form.depth, 14, 15] {
                let record = signed(kind.record, nested(depth), by: kind.key)
                #expect(throws: RecordFormError.tooDeep(limit: kind.form.depth)) {
                    try kind.form.canonical(record)
                }
                #expect(throws: (any Error).self, "\(kind.form)") { try kind.read(record) }
            }
        }
    }

    @Test func theLengthHasALimit() throws {
        for kind in try kinds() {
            let length = try kind.form.canonical(signed(kind.record, .string(""), by: kind.key))
                .count
            func padded(_ more: Int) -> JSONObject {
                let text = String(repeating: "x", count: kind.form.bytes - length + more)
                return signed(kind.record, .string(text), by: kind.key)
            }
            #expect(try kind.form.canonical(padded(0)).count == kind.form.bytes)
            try kind.read(padded(0))
            #expect(throws: (any Error).self, "\(kind.form)") { try kind.read(padded(1)) }
        }
        #expect(RecordForm.card.bytes == 24 << 10 && RecordForm.change.bytes == 24 << 10)
    }

    @Test func theNestingOfABodyHasALimit() throws {
        func body(_ depth: Int) -> JSONObject {
            ["type": .string("new"), "x": nested(depth - 1)]
        }
        _ = try MessageBody(body(9))
        #expect(throws: BodyError.form(.tooDeep(limit: 9))) { try MessageBody(body(10)) }
        var message = Message(
            id: Envelope.newID(), from: nil, to: nil, time: nil, suite: .sealed,
            authenticated: false, body: body(9), members: ["more": nested(9)])
        try message.checkForm()
        message = Message(
            id: message.id, from: nil, to: nil, time: nil, suite: .sealed, authenticated: false,
            body: Message.textBody("a"), members: ["more": nested(10)])
        #expect(throws: BodyError.form(.tooDeep(limit: 10))) { try message.checkForm() }
    }

    /// Numbers of records that are not signed are written as numbers that are equal.
    @Test(arguments: ["1.0", "-0.0", "1e2", "1152921504606846976.0", "1e20", "1e-7", "0.5", "7"])
    func aNumberIsWrittenAsItWasRead(_ text: String) throws {
        let value = try JSON(parsing: Array(text.utf8))
        #expect(try JSON(parsing: value.serialized()) == value)
    }

    // MARK: Places

    /// Each kind of record, as deep as it can be, in each place of sotto-formats(5), is read back.
    @Test func theDeepestRecordIsReadInEachPlace() throws {
        func object(_ name: String) -> (JSON) -> JSON { { .object([name: $0]) } }
        func list(_ name: String) -> (JSON) -> JSON { { .object([name: .array([$0])]) } }
        let body = list("x")
        let message = object("body")
        let exported = { (value: JSON) in JSON.object(["type": .string("message"), "body": value]) }
        let frame = { (value: JSON) in JSON.object(["payload": .object(["record": value])]) }
        let inbox = { (value: JSON) in
            JSON.object([
                "payload": .object(["messages": .array([.object(["envelope": value])])])
            ])
        }
        let places: [(RecordForm, [[(JSON) -> JSON]])] = [
            (
                .card,
                [
                    [body, message], [list("cards")], [object("card")], [object("card"), frame],
                    [object("card"), list("contacts")], [list("cards"), message, exported],
                    // A welcome, and an item for own devices.
                    [list("cards"), message], [object("card"), list("items"), message],
                ]
            ),
            (.change, [[body, message], [list("changes")], [list("changes"), list("groups")]]),
            (.room, [[frame]]), (.roomContent, [[]]), (.preKeys, [[frame]]),
            (.bundle, [[object("bundle"), list("bundles"), object("payload")]]),
            (
                .devices,
                [
                    [], [object("devices")], [object("devices"), body, message],
                    [object("devices"), object("card"), frame],
                ]
            ),
            (.loginKey, [[frame]]),
            (.succession, [[object("card")], [frame], [list("successions")]]),
            (.revocation, [[frame], [object("revocation")]]), (.envelope, [[inbox]]),
            (.message, [[], [list("messages")]]),
            (.body, [[message], [object("body"), list("versions"), exported]]),
            (.earlierBody, [[object("body"), list("history"), message]]),
        ]
        #expect(places.map(\.0) == RecordForm.allCases)
        for (form, ways) in places {
            let deepest = JSON.object(["x": nested(form.depth - 1)])
            #expect(deepest.nests(atMost: form.depth) && !deepest.nests(atMost: form.depth - 1))
            for way in ways {
                let value = way.reduce(deepest) { $1($0) }
                #expect(try JSON(parsing: value.serialized()) == value, "\(form)")
            }
        }
        // What a body carries leaves space for the body and the message.
        #expect(RecordForm.change.depth + 2 <= RecordForm.body.depth)
        #expect(RecordForm.card.depth + 2 <= RecordForm.roomContent.depth)
        #expect(RecordForm.earlierBody.depth + 3 == RecordForm.body.depth)
        #expect(RecordForm.body.depth + 1 == RecordForm.message.depth)
        // A list of devices is in a card and in a change, and such a card in a succession and in an item for own devices.
        #expect(RecordForm.devices.depth + 1 <= RecordForm.card.depth)
        #expect(RecordForm.devices.depth + 1 <= RecordForm.change.depth)
        #expect(RecordForm.card.depth + 1 == RecordForm.succession.depth)
        #expect(RecordForm.card.depth + 3 <= RecordForm.body.depth)
    }

    /// A list as deep and as long as it can be, in the owner's card, in the card of a succession, and in a change.
    @Test func theLargestListOfDevicesStandsInACard() throws {
        let small = try DeviceListTests.list(["laptop"])
        let length = try RecordForm.devices.canonical(
            signed(small.record, .array([nested(3), .string("")]), by: key)
        ).count
        let text = String(repeating: "x", count: RecordForm.devices.bytes - length)
        let list = try DeviceList(
            record: signed(small.record, .array([nested(3), .string(text)]), by: key))
        #expect(try RecordForm.devices.canonical(list.record).count == RecordForm.devices.bytes)
        let card = People.alice.card(
            relay: "tls://relay.example.org:7667", issued: .now(), devices: list)
        let record = try #require(card.record)
        #expect(try Card(record: JSON.object(parsing: record.serialized())).devices == list)
        // The devices of a list are cards, which are as deep as an object at most.
        let deepest = signed(small.record, nested(4), by: key)
        let deep = People.alice.card(issued: .now(), devices: try DeviceList(record: deepest))
        let item = SyncItem(
            counter: 1, device: People.alice.id,
            .contact(People.bob.id, .card(try #require(deep.record))))
        _ = try MessageBody(SyncBody.body([item.record]))
        _ = try GroupChange(
            .devices(DeviceList(record: deepest)), in: GroupChange(try change()).id, by: key,
            seq: 2, parents: [GroupChange(try change()).id])
    }

    /// The table of sotto-formats(5) has each kind with its limits.
    @Test func theManualPageHasTheLimits() throws {
        let root = URL(fileURLWithPath: #filePath).appending(path: "../../../../").standardized
        let page = try String(
            contentsOf: root.appending(path: "man/sotto-formats.5"), encoding: .utf8)
        let rows = page.matches(of: #/\n\.It ([a-z -]+) Ta (\d+) Ta (\d+) Ta /#).map {
            "\($0.1) \($0.2) \($0.3)"
        }
        let names: [RecordForm: String] = [
            .roomContent: "room-content", .loginKey: "login-key", .earlierBody: "earlier body",
        ]
        #expect(
            rows
                == RecordForm.allCases.map {
                    "\(names[$0] ?? "\($0)".lowercased()) \($0.depth) \($0.bytes)"
                })
    }

    /// A change and a card, as deep as they can be, in a body of a message of each suite, in a file and in a room.
    @Test func theDeepestRecordsTravel() throws {
        let change = signed(try change(), nested(5), by: key)
        let card = signed(try #require(People.alice.card().record), nested(5), by: key)
        let id = try GroupChange(change).id
        var body = GroupBody(id)
        (body.changes, body.cards) = ([change], [card])
        body.history = [["body": .object(["type": .string("new"), "x": nested(5)])]]
        let envelope = try Sealed.seal(
            body: body.record, from: People.alice, to: People.bob.card(), time: .now())
        let message = try Sealed.open(envelope, with: People.bob)
        try message.checkForm()
        let read = try GroupBody(message.body)
        #expect(try GroupChange(read.changes[0]).id == id)
        #expect(try Card(record: read.cards[0]).record == card)
        #expect(read.history == body.history)

        let lines = [change, card].map { $0.serialized() + [10] }.joined()
        let (file, blob) = try GroupFile.seal(
            Array(lines), heads: [id], key: randomBytes(32), nonce: randomBytes(16))
        let records = try file.records(in: MemorySource(blob))
        #expect(records.changes.map(\.id) == [id] && records.cards.map(\.record) == [card])

        let door = Sample.door()
        let log = try #require(GroupLog(GroupChange(change)))
        let content = try RoomContent(log, door: door.id, cards: [Card(record: card)])
        let room = try RoomRecord(
            record: RoomKeys(door, relay: "tcp://a:1").record(content, seq: 1))
        let opened = try door.open(room)
        #expect(try GroupChange(opened.changes[0]).id == id && opened.cards == [card])
    }
}
