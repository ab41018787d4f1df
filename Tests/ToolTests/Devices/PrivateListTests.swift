import Foundation
import Sotto
import SottoContacts
import TestSupport
import Testing

@testable import SottoState

/// A list of devices that only the owner's devices get. Machine one receives and sends for all.
@Suite(.timeLimit(.minutes(60))) struct PrivateListTests {
    // MARK: The state

    private static let laptop = Identity(
        seed: SecretBytes(copying: sha256(Array("private laptop".utf8))), name: "alice",
        relay: "tcp://relay.example.org:7667", owner: People.alice.id)
    private let files = TemporaryDirectory()
    private let now = Timestamp(seconds: 1_800_000_000)

    private func store(of identity: Identity) throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: files("state")), identity: identity, lockTimeout: 5)
    }

    private func entry(_ state: DeviceList.State = .full) -> DeviceList.Device {
        DeviceList.Device(card: Self.laptop.card(), name: "laptop", added: now, state: state)
    }

    @Test func othersNeverSeeAListThatWasAlwaysPrivate() throws {
        let store = try store(of: People.alice)
        try store.transaction { transaction in
            let empty = try transaction.sign(devices: [], isPrivate: true, at: now)
            #expect(empty.shown == 0)
            let list = try transaction.sign(devices: [entry()], at: now)
            #expect(list.shown == 0 && list.seq > empty.seq)
            #expect(try transaction.ownCard(issued: now).devices == nil)
            #expect(try transaction.cardForDevices(issued: now).devices == list)
            #expect(try transaction.handsOver() == false)
        }
    }

    /// A contact who had the public list sees a removal, takes the card each time, and later the public list again.
    @Test func aContactWithThePublicListSeesTheDevicesRemoved() throws {
        let (alice, bob) = (try store(of: People.alice), try store(of: People.bob))
        try bob.transaction { transaction in
            try transaction.save(
                Contact(name: "alice", id: People.alice.id, card: People.alice.card()))
        }
        func taken() throws -> StateTransaction.TakenDevices {
            let list = try #require(try alice.preview { try $0.ownCard(issued: now).devices })
            return try bob.transaction { try $0.take(devices: list) }
        }
        let list = try alice.transaction { try $0.sign(devices: [entry()], at: now) }
        #expect(try taken() == .kept(before: nil))
        let hidden = try alice.transaction {
            try $0.sign(devices: [entry()], isPrivate: true, at: now)
        }
        #expect(hidden.shown == list.seq + 1 && hidden.seq == list.seq + 2)
        #expect(try taken() == .kept(before: list))
        let known = try bob.preview { try $0.devices(of: People.alice.id) }
        #expect(known?.devices.isEmpty == true)
        let person = try bob.preview { try $0.person(ofRemovedDevice: Self.laptop.device) }
        #expect(person == People.alice.id)
        // A change of the private list changes nothing for contacts.
        let changed = try alice.transaction { try $0.sign(devices: [], at: now) }
        #expect(changed.shown == hidden.shown && changed.seq == hidden.seq + 1)
        #expect(try taken() == .known)
        let again = try alice.transaction {
            try $0.sign(devices: [entry()], isPrivate: false, at: now)
        }
        #expect(again.shown == nil)
        guard case .kept(let before) = try taken() else {
            Issue.record("the public list was not taken")
            return
        }
        #expect(before?.seq == hidden.shown)
    }

    @Test func anotherDeviceHasThePrivateListAndGivesOutNoCard() throws {
        let list = try DeviceList([entry()], after: 0, shown: 0, by: People.alice, at: now)
        let laptop = try store(of: Self.laptop)
        try laptop.transaction { (transaction: StateTransaction) throws in
            #expect(
                try transaction.keep(
                    ownersCard: People.alice.card(issued: now, devices: list)))
            #expect(try transaction.handsOver())
            #expect(try transaction.cardForDevices().devices == list)
            #expect(throws: StateError.self) { try transaction.ownCard() }
            #expect(try transaction.otherDevices().map(\.id) == [People.alice.id])
        }
    }

    /// What a device wrote waits at all devices until machine one says that it was sent, whichever comes first.
    @Test func aMessageOfADeviceWaitsForMachineOne() throws {
        let list = try DeviceList([entry()], after: 0, shown: 0, by: People.alice, at: now)
        let (first, other) = (try store(of: People.alice), try store(of: Self.laptop))
        for each in [first, other] {
            try each.transaction { transaction in
                if transaction.owner.owner == nil { _ = try transaction.keep(list) }
                if transaction.owner.owner != nil {
                    _ = try transaction.keep(
                        ownersCard: People.alice.card(issued: now, devices: list))
                }
            }
        }
        let message = Message(
            id: Envelope.newID(), from: People.alice.id, to: People.bob.id, time: .now(),
            suite: .sealed, authenticated: true, trust: .verified, body: Message.textBody("hello"))
        try other.transaction { transaction in
            let place = try transaction.place(of: .peer(People.bob.id))
            try transaction.record(other.row(ofSent: message, state: .waiting, in: place))
        }
        func due(_ store: IdentityStore) throws -> [JSONObject] {
            try store.transaction { transaction in
                let device = try #require(try transaction.otherDevices().first)
                guard let due = try transaction.dueItems(for: device) else { return [] }
                try transaction.noteTold(due, to: device, in: nil)
                return due.items
            }
        }
        let told = try #require(try due(other).first)
        #expect(told["kind"]?.string == "unsent")
        let item = try #require(try SyncItem(record: told))
        try first.transaction { transaction in
            guard case .taken = try transaction.take(item, from: Self.laptop.device, .new) else {
                Issue.record("the message was not taken")
                return
            }
            let waiting = try transaction.handedOver()
            #expect(waiting.map(\.id) == [message.id] && waiting.map(\.state) == [.waiting])
            #expect(try transaction.hasDueItems())
            try transaction.noteSent(handedOver: waiting[0])
            #expect(try transaction.handedOver().isEmpty)
            // It comes again, and is not sent again.
            _ = try transaction.take(item, from: Self.laptop.device, .new)
            #expect(try transaction.handedOver().isEmpty)
        }
        let answer = try #require(try due(first).first)
        #expect(answer["kind"]?.string == "message" && answer["sent"] == .bool(true))
        let sent = try #require(try SyncItem(record: answer))
        try other.transaction { _ = try $0.take(sent, from: People.alice.id, .full) }
        let entry = try other.preview { transaction in
            try other.entries(
                "WHERE mark = ?", other.mark(sent: message.id), connection: transaction.connection)
        }
        #expect(entry.map(\.state) == [.sentElsewhere])
    }

    @Test func machineOneSendsNoMessageThatADeviceMayNotHandOver() throws {
        let list = try DeviceList([entry()], after: 0, shown: 0, by: People.alice, at: now)
        let first = try store(of: People.alice)
        try first.transaction { _ = try $0.keep(list) }
        func message(
            from: Identity = People.alice, to: KeyID? = People.bob.id,
            _ body: JSONObject = Message.textBody("x")
        ) -> JSONObject {
            Message(
                id: Envelope.newID(), from: from.id, to: to, time: .now(), suite: .sealed,
                authenticated: true, trust: .verified, body: body
            ).record
        }
        let records = [
            message(from: People.bob), message(to: People.alice.id), message(to: nil),
            message(["type": .string("typing")]),
            message(["type": .string("sync"), "items": .array([])]),
            message(["type": .string("devices")]), ["v": .integer(1)],
        ]
        for record in records {
            let item = SyncItem(
                counter: 5, device: Self.laptop.device, .unsent(record, received: .now()))
            let taken = try first.transaction {
                try $0.take(item, from: Self.laptop.device, .full)
            }
            guard case .refused = taken else {
                Issue.record("\(record) was taken")
                continue
            }
        }
        // Machine one hands nothing over.
        let item = SyncItem(
            counter: 5, device: People.alice.id, .unsent(message(), received: .now()))
        let taken = try first.transaction { try $0.take(item, from: People.alice.id, .full) }
        guard case .refused = taken else {
            Issue.record("a message of machine one was taken")
            return
        }
        #expect(try first.preview { try $0.handedOver() }.isEmpty)
    }

    // MARK: Built programs

    private typealias Machines = PairingTests.Machines

    /// Encrypts and sends. Returns the number of envelopes.
    @discardableResult
    private func write(
        _ text: String, to: String, _ home: Home, _ name: String, _ machines: Machines
    ) throws -> Int {
        let made = try home.run(
            "encrypt", ["-q", "--to", to] + machines.identity(name), text: text)
        try #require(made.status == 0, "\(made.stderr)")
        _ = try home.output("send", ["-q"], stdin: made.stdout)
        return made.lines.count
    }

    /// Runs `sotto device WORDS --send` on a machine of Alice.
    private func device(
        _ words: [String], _ home: Home, _ name: String, _ machines: Machines
    ) throws -> Run {
        try home.run("sotto", ["device"] + words + machines.identity(name) + ["--send"])
    }

    private func sync(_ home: Home, _ name: String, _ machines: Machines) throws {
        let run = try device(["sync"], home, name, machines)
        #expect(run.status == 0, "\(run.stderr)")
    }

    private func texts(_ home: Home, _ name: String, _ machines: Machines) throws -> [String] {
        try machines.read(home, name).compactMap { $0["text"]?.string }
    }

    private func history(
        _ home: Home, _ name: String, of peer: String, _ machines: Machines
    ) throws -> [JSONObject] {
        try home.run("history", [peer, "--json"] + machines.identity(name)).lines.map {
            try JSON.object(parsing: Array($0.utf8))
        }.filter { $0["body"]?.object?["type"]?.string == "text" }
    }

    @Test func contactsSeeOneDeviceAndBothMachinesHaveAllMail() throws {
        let machines = try Machines()
        let bob = try machines.bob()
        let (first, second) = (machines.first, machines.second)
        let changed = try device(["list", "--private"], first, "alice", machines)
        #expect(changed.status == 0, "\(changed.stderr)")
        try machines.pair()
        let shown = try machines.devices(second, "laptop")
        #expect(shown.map { $0["private"] == .bool(true) } == [true, false])
        #expect(try machines.read(second, "laptop").contains { $0["type"]?.string == "welcome" })
        // Bob is told nothing, and writes one envelope.
        #expect(try machines.read(bob, "bob").isEmpty)
        #expect(try write("from bob", to: "alice", bob, "bob", machines) == 1)
        #expect(try texts(first, "alice", machines) == ["from bob"])
        #expect(try texts(second, "laptop", machines) == [])
        try sync(first, "alice", machines)
        #expect(try texts(second, "laptop", machines) == ["from bob"])
        // The laptop writes: to machine one alone.
        #expect(try write("from the laptop", to: "bob", second, "laptop", machines) == 1)
        let waiting = try history(second, "laptop", of: "bob", machines)
        #expect(waiting.last?["status"]?.string == "unsent", "\(waiting)")
        let marked = try second.run(
            "history", ["bob", "--text"] + machines.identity("laptop"))
        #expect(marked.text.contains("[not sent yet]"), "\(marked.text)")
        let unsent = try second.run("history", ["unsent"] + machines.identity("laptop"))
        #expect(unsent.status == 1)
        #expect(unsent.stderr.contains("1 message waits for machine one"), "\(unsent.stderr)")
        let whoami = try second.run("sotto", ["whoami"] + machines.identity("laptop"))
        #expect(whoami.status == 0 && whoami.text.contains("laptop, "), "\(whoami.stderr)")
        #expect(try texts(bob, "bob", machines) == [])
        _ = try machines.read(first, "alice")
        let taken = try history(first, "alice", of: "bob", machines)
        #expect(taken.last?["status"]?.string == "unsent", "\(taken)")
        // Machine one sends it once, as its own.
        try sync(first, "alice", machines)
        let mail = try machines.read(bob, "bob")
        #expect(mail.map { $0["text"]?.string } == ["from the laptop"])
        try sync(first, "alice", machines)
        #expect(try machines.read(bob, "bob").isEmpty)
        _ = try machines.read(second, "laptop")
        let sent = try history(second, "laptop", of: "bob", machines)
        #expect(sent.last?["status"]?.string != "unsent", "\(sent)")
        try write("from machine one", to: "bob", first, "alice", machines)
        #expect(try texts(bob, "bob", machines) == ["from machine one"])
        _ = try machines.read(second, "laptop")
        let expected = ["from bob", "from the laptop", "from machine one"].sorted()
        for (home, name, peer) in [
            (first, "alice", "bob"), (second, "laptop", "bob"), (bob, "bob", "alice"),
        ] {
            let records = try history(home, name, of: peer, machines)
            let texts = records.compactMap { $0["body"]?.object?["text"]?.string }
            #expect(texts.sorted() == expected, "\(name)")
            // All machines have the ids that Bob has.
            #expect(Set(records.compactMap { $0["id"]?.string }).count == 3)
            #expect(records.allSatisfy { $0["device"] == nil }, "\(name)")
        }
        let card = try bob.run("contact", ["show", "alice", "--json"] + machines.identity("bob"))
        #expect(!card.text.contains("laptop") && !card.text.contains("\"devices\""), "\(card.text)")
    }

    /// The relay has no private list, so that a machine one without its state gets it from another device.
    @Test func aLostPrivateListComesFromAnotherDevice() throws {
        let machines = try Machines()
        let (first, second) = (machines.first, machines.second)
        #expect(try device(["list", "--private"], first, "alice", machines).status == 0)
        try machines.pair()
        _ = try machines.read(second, "laptop")
        let card = try second.output(
            "device", ["list", "--card"] + machines.identity("laptop"))
        try FileManager.default.removeItem(atPath: first.files("state"))
        let lost = try machines.devices(first, "alice")
        #expect(lost.count == 1)
        _ = try first.output("device", ["restore", "-q"] + machines.identity("alice"), stdin: card)
        let found = try machines.devices(first, "alice")
        #expect(found.map { $0["private"] == .bool(true) } == [true, false])
        #expect(found.last?["name"]?.string == "laptop")
        let printed = try first.output(
            "device", ["list", "--card"] + machines.identity("alice"))
        #expect(String(decoding: printed, as: UTF8.self).contains("laptop"))
        let refused = try first.run(
            "device", ["list", "--card", "--text"] + machines.identity("alice"))
        #expect(refused.status == 64)
    }

    @Test func readMarksAgree() throws {
        let machines = try Machines()
        let bob = try machines.bob()
        let (first, second) = (machines.first, machines.second)
        #expect(try device(["list", "--private"], first, "alice", machines).status == 0)
        try machines.pair()
        _ = try machines.read(second, "laptop")
        try write("hello", to: "alice", bob, "bob", machines)
        _ = try machines.read(first, "alice")
        try sync(first, "alice", machines)
        _ = try machines.read(second, "laptop")
        func isUnread(_ home: Home, _ name: String) throws -> Bool {
            try home.run("history", ["unread"] + machines.identity(name)).status == 0
        }
        #expect(try isUnread(first, "alice"))
        #expect(try isUnread(second, "laptop"))
        let read = try second.run("history", ["read", "bob"] + machines.identity("laptop"))
        #expect(read.status == 0, "\(read.stderr)")
        try sync(second, "laptop", machines)
        _ = try machines.read(first, "alice")
        #expect(try isUnread(first, "alice") == false)
        #expect(try isUnread(second, "laptop") == false)
    }

    @Test func aPublicListBecomesPrivateAndPublicAgain() throws {
        let machines = try Machines()
        let bob = try machines.bob()
        let (first, second) = (machines.first, machines.second)
        // Alice has written to Bob, so that he knows her.
        try write("hello", to: "bob", first, "alice", machines)
        _ = try machines.read(bob, "bob")
        try machines.pair()
        #expect(
            try machines.read(bob, "bob").contains { $0["added"] == .array([.string("laptop")]) })
        #expect(try write("to both", to: "alice", bob, "bob", machines) == 2)
        let changed = try device(["list", "--private"], first, "alice", machines)
        #expect(changed.status == 0, "\(changed.stderr)")
        #expect(changed.stderr.contains("your other devices are removed"), "\(changed.stderr)")
        #expect(
            try machines.read(bob, "bob").contains { $0["removed"] == .array([.string("laptop")]) })
        let shown = try bob.run("history", ["alice", "--text"] + machines.identity("bob"))
        #expect(shown.text.contains("removed the device laptop"), "\(shown.text)")
        #expect(try write("to one", to: "alice", bob, "bob", machines) == 1)
        // The laptop learns it by the announcement.
        _ = try machines.read(second, "laptop")
        #expect(try machines.devices(second, "laptop").first?["private"] == .bool(true))
        let card = try first.output("keygen", ["public"] + machines.identity("alice"))
        #expect(!String(decoding: card, as: UTF8.self).contains("laptop"))
        let again = try first.run(
            "device", ["list", "--private"] + machines.identity("alice"))
        #expect(again.status == 1 && again.stderr.contains("private already"), "\(again.stderr)")
        #expect(try device(["list", "--public"], first, "alice", machines).status == 0)
        #expect(
            try machines.read(bob, "bob").contains { $0["added"] == .array([.string("laptop")]) })
        #expect(try write("to both again", to: "alice", bob, "bob", machines) == 2)
    }

    @Test func whatOnlyMachineOneCanDoIsRefusedInWords() throws {
        let machines = try Machines()
        let (first, second) = (machines.first, machines.second)
        _ = try machines.bob()
        #expect(try device(["list", "--private"], first, "alice", machines).status == 0)
        try machines.pair()
        _ = try machines.read(second, "laptop")
        let laptop = machines.identity("laptop")
        func expectRefusal(_ run: Run) {
            #expect(run.status == 64 && run.stderr.contains("machine one"), "\(run.stderr)")
        }
        expectRefusal(try second.run("keygen", ["public"] + laptop))
        expectRefusal(try second.run("keygen", ["prekeys", "--bundle"] + laptop))
        expectRefusal(try second.run("contact", ["address", "bob"] + laptop))
        expectRefusal(try second.run("device", ["list", "--public"] + laptop))
        expectRefusal(
            try second.run(
                "encrypt", ["-q", "--to", "bob", "--ttl", "0"] + laptop, text: "signal"))
        // A signal that shows that somebody types is dropped.
        let typing = try second.run(
            "encrypt", ["-q"] + laptop,
            text: #"{"to":"bob","body":{"type":"typing","state":"started"}}"# + "\n")
        #expect(typing.status == 0 && typing.lines.isEmpty, "\(typing.text)\(typing.stderr)")
        let both = try first.run(
            "device", ["list", "--private", "--public"] + machines.identity("alice"))
        #expect(both.status == 64, "\(both.stderr)")
    }
}
