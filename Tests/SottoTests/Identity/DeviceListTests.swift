import TestSupport
import Testing

@testable import Sotto

/// The list of a person's devices.
struct DeviceListTests {
    /// Returns a device of an owner.
    static func device(
        _ name: String, of owner: Identity = People.alice, state: DeviceList.State = .new,
        seconds: Int64 = 1_800_000_000
    ) -> DeviceList.Device {
        let identity = Identity(
            seed: SecretBytes(copying: sha256(Array("device \(name)".utf8))), name: name,
            relay: "tcp://relay.example.org:7667", owner: owner.id)
        return DeviceList.Device(
            card: identity.card(), name: name, added: Timestamp(seconds: seconds), state: state)
    }

    static func list(_ names: [String], after last: Int64 = 0) throws -> DeviceList {
        try DeviceList(
            names.map { device($0) }, after: last, by: People.alice,
            at: Timestamp(seconds: 1_800_000_000))
    }

    /// Returns the record of a list with changed members, signed again.
    static func record(
        _ list: DeviceList, by owner: Identity = People.alice, _ change: (inout JSONObject) -> Void
    ) -> JSONObject {
        var record = list.record
        change(&record)
        SignedRecord.sign(&record, with: owner.signingKey)
        return record
    }

    private func failure(_ record: JSONObject) -> DeviceListError? {
        do throws(DeviceListError) {
            _ = try DeviceList(record: record)
            return nil
        } catch {
            return error
        }
    }

    @Test func aListOfAnotherImplementationIsRead() throws {
        let file = try JSON.object(parsing: Vectors.file("device_list.json"))
        let record = try #require(file["list"]?.object)
        let list = try DeviceList(record: record)
        #expect(list.devices.map(\.name) == ["laptop", "büro"])
        #expect(list.devices.map(\.state) == [.full, .new])
        #expect(list.seq == 1_795_000_000 && list.devices[0].added.seconds == 1_795_176_000)
        let card = try Card(record: #require(file["card"]?.object))
        #expect(card.devices == list && card.id == list.owner && card.owner == nil)
        // Our own signature of the same content is the same: Ed25519 is deterministic.
        let seed = try #require(bytes(hex: file["seed"]?.string ?? ""))
        var unsigned = record
        SignedRecord.sign(
            &unsigned, with: SigningKey(seed: SecretBytes(copying: seed)))
        #expect(unsigned["sig"] == record["sig"])
    }

    @Test func aPrivateListOfAnotherImplementationIsRead() throws {
        let file = try JSON.object(parsing: Vectors.file("device_list.json"))
        let list = try DeviceList(record: #require(file["private"]?.object))
        #expect(list.isPrivate && list.shown == 1_795_000_001 && list.devices.count == 2)
        let shown = try DeviceList(record: #require(file["shown"]?.object))
        #expect(!shown.isPrivate && shown.devices.isEmpty && shown.seq == list.shown)
        #expect(list.supersedes(shown))
        #expect(try DeviceList(record: #require(file["list"]?.object)).shown == nil)
    }

    /// The list that others get is made again from its number, so it must always be the same.
    @Test func theListThatOthersGetIsMadeOfItsNumber() throws {
        let list = try DeviceList(
            [Self.device("laptop")], after: 1_800_000_005, shown: 1_800_000_005,
            by: People.alice, at: Timestamp(seconds: 1_800_000_000))
        #expect(list.seq == 1_800_000_006)
        #expect(try DeviceList(record: JSON.object(parsing: list.record.serialized())) == list)
        let shown = try DeviceList(shown: try #require(list.shown), by: People.alice)
        #expect(shown.seq == 1_800_000_005 && shown.devices.isEmpty)
        #expect(try DeviceList(shown: 1_800_000_005, by: People.alice) == shown)
        // A number of the list itself, or a later one, could take its place at the own devices.
        for number in [-1, list.seq, list.seq + 1] {
            let record = Self.record(list) { $0["private"] = .integer(number) }
            #expect(failure(record) == .member("private"), "\(number)")
        }
        #expect(failure(Self.record(list) { $0["private"] = .bool(true) }) == .member("private"))
        let never = Self.record(list) { $0["private"] = .integer(0) }
        #expect(try DeviceList(record: never).isPrivate)
    }

    @Test func aListIsReadBackFromItsRecordAndFromTheCard() throws {
        let list = try Self.list(["laptop", "desktop"])
        #expect(try DeviceList(record: JSON.object(parsing: list.record.serialized())) == list)
        let card = People.alice.card(issued: .now(), devices: list)
        #expect(try Card(record: JSON.object(parsing: card.record!.serialized())).devices == list)
        #expect(list.device(list.devices[1].id)?.name == "desktop")
        #expect(list.device(People.bob.id) == nil)
    }

    @Test func theNumberIsThatOfTheTimeAndNeverFalls() throws {
        let list = try Self.list([])
        #expect(list.seq == 1_800_000_000)
        // A clock that is behind by a day.
        let later = try Self.list(["laptop"], after: list.seq + 86_400)
        #expect(later.seq == list.seq + 86_401)
        #expect(later.supersedes(list) && !list.supersedes(later) && list.supersedes(nil))
        #expect(!list.supersedes(list) && !list.isFork(of: list))
        #expect(try Self.list(["laptop"]).isFork(of: list))
    }

    /// C5: a device that did not accept its owner is in no list.
    @Test func aStrangersDeviceIsRefused() throws {
        let list = try Self.list(["laptop"])
        let strangers = [
            People.bob.card(), Self.device("desktop", of: People.bob).card,
            // A person who is no device.
            People.alice.card(),
        ]
        for card in strangers {
            let record = Self.record(list) { record in
                var entry = record["devices"]?.array?.first?.object ?? [:]
                entry["card"] = .object(card.record ?? [:])
                record["devices"] = .array([.object(entry)])
            }
            #expect(failure(record) == .member("devices"), "\(card.name)")
        }
        // Bob signs the list of Alice.
        #expect(failure(Self.record(list, by: People.bob) { _ in }) == .signature)
    }

    @Test func aDeviceStandsOnceAndAtMostSevenDo() throws {
        #expect(throws: DeviceListError.member("devices")) {
            try Self.list(["laptop", "laptop"])
        }
        let names = (1...7).map { "machine \($0)" }
        let list = try Self.list(names)
        #expect(list.devices.count == 7)
        // The largest list fits in a card.
        let card = People.alice.card(
            relay: "tls://relay.example.org:7667", issued: .now(), devices: list)
        #expect(try RecordForm.card.canonical(card.record!).count < RecordForm.card.bytes)
        #expect(throws: DeviceListError.tooMany(limit: 7)) {
            try Self.list(names + ["machine 8"])
        }
        #expect(throws: DeviceListError.tooMany(limit: 7)) {
            try Self.list((1...50).map { "machine \($0)" })
        }
    }

    @Test(arguments: [
        "", " laptop", "laptop ", "lap\ntop", "lap\u{1B}[2Jtop", "laptop\u{202E}", "\u{200B}",
        "a\u{2066}b",
        "\u{E0041}", "lap\u{00AD}top", String(repeating: "x", count: 65),
        String(repeating: "ü", count: 33),
    ]) func aNameThatCannotBeShownIsRefused(_ name: String) {
        #expect(!DeviceList.Device.isName(name))
        #expect(throws: DeviceListError.member("devices")) { try Self.list([name]) }
    }

    @Test(arguments: ["laptop", "Büro 2", "电脑", "x", String(repeating: "x", count: 64)])
    func anyOtherNameIsKept(_ name: String) throws {
        #expect(try Self.list([name]).devices[0].name == name)
    }

    @Test func aMalformedListIsRefused() throws {
        let list = try Self.list(["laptop"])
        let changes: [(DeviceListError, (inout JSONObject) -> Void)] = [
            (.member("seq"), { $0["seq"] = .integer(0) }),
            (.member("seq"), { $0["seq"] = .string("1") }),
            (.member("issued"), { $0["issued"] = nil }),
            (.member("devices"), { $0["devices"] = nil }),
            (.member("devices"), { $0["devices"] = .array([.string("laptop")]) }),
            (.member("id"), { $0["id"] = .string("05") }),
            (.version(2), { $0["v"] = .integer(2) }),
            (
                .form(.tooLong(limit: 20 << 10)),
                {
                    $0["x"] = .string(String(repeating: "x", count: 24 << 10))
                }
            ),
        ]
        for (error, change) in changes {
            #expect(failure(Self.record(list, change)) == error)
        }
        var unsigned = list.record
        unsigned["sig"] = nil
        #expect(failure(unsigned) == .signature)
        unsigned["sig"] = .base64([UInt8](repeating: 0, count: 64))
        #expect(failure(unsigned) == .signature)
    }

    /// The list on a card must be of the same person, and the card of a device is without a list.
    @Test func aCardRefusesAnotherPersonsList() throws {
        let list = try Self.list(["laptop"])
        func card(_ card: Card, by identity: Identity) -> JSONObject {
            var record = card.record ?? [:]
            record["devices"] = .object(list.record)
            SignedRecord.sign(&record, with: identity.signingKey)
            return record
        }
        #expect(throws: CardError.member("devices")) {
            try Card(record: card(People.bob.card(), by: People.bob))
        }
        let seed = SecretBytes(randomCount: 32)
        let device = Identity(seed: seed, name: "", owner: People.alice.id)
        #expect(throws: CardError.member("devices")) {
            try Card(record: card(device.card(), by: device))
        }
    }

    @Test func anUnknownMemberIsKept() throws {
        let list = try Self.list(["laptop"])
        let record = Self.record(list) { $0["later"] = .string("x") }
        let read = try DeviceList(record: record)
        #expect(read.record["later"] == .string("x") && read.isFork(of: list))
    }
}
