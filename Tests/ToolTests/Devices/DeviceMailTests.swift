import Sotto
import SottoDatabase
import SottoMessages
import TestSupport
import Testing

@testable import SottoState

/// Two people with three and two devices write to each other with the built programs. The envelopes are passed on by hand.
@Suite(.timeLimit(.minutes(60))) struct DeviceMailTests {
    private typealias World = DeviceWorld

    @Test func everyDeviceWritesAndAllOfThemHaveEachMessageOnce() throws {
        let world = try World()
        var random = Generator(seed: 38)
        let week = try world.device("alice-1")
        for device in world.devices {
            let other = device.name.hasPrefix("alice") ? "bob" : "alice"
            try world.send(device.name, "from \(device.name)", ["--to", other])
            // One device is off.
            for each in world.devices where each !== week { try world.read(each.name, &random) }
        }
        try world.settle(&random)
        let names = world.devices.map(\.name)
        for name in names {
            let person = name.hasPrefix("alice") ? "alice" : "bob"
            let expected = names.map { writer in
                "\(writer.hasPrefix(person) ? "sent" : "received") from \(writer)"
            }.sorted()
            #expect(try world.texts(name) == expected, "\(name)")
            // Only what this device sent has a status: nothing is known of the way of the others, and they are not unsent.
            let records = try world.must(name, "history", ["--json"]).records
            let known = records.filter { $0["status"] != nil }.map { $0.body["text"]?.string }
            #expect(known == ["from \(name)"], "\(name)")
        }
    }

    @Test func aCopyNamesTheMessageItsPersonAndItsDevice() throws {
        let world = try World()
        var random = Generator(seed: 1)
        let mailboxes = try world.send("bob-0", "hello", ["--to", "alice"])
        #expect(Set(mailboxes.prefix(3)) == ["alice", "alice-0", "alice-1"])
        // The owner's other device gets what was sent.
        #expect(mailboxes.dropFirst(3) == ["bob"])
        var ids: Set<String> = []
        for name in ["alice", "alice-0", "alice-1"] {
            let record = try #require(try world.read(name, &random).first)
            #expect(try record["from"]?.string == world.device("bob").identity.id.description)
            #expect(
                try record["device"]?.string == world.device("bob-0").identity.device.description)
            #expect(try record["to"]?.string == world.device("alice").identity.id.description)
            #expect(record["name"]?.string == "bob" && record["trust"]?.string == "trusted")
            ids.insert(record["id"]?.string ?? "")
        }
        #expect(ids.count == 1)
    }

    /// The ids in the results of send mean the message, also those of the copies for own devices.
    @Test func theIDOfEachCopyMeansTheMessage() throws {
        let world = try World()
        for sender in ["alice", "alice-0"] {
            try world.send(sender, "from \(sender)", ["--to", "bob"])
            let lines = world.devices.flatMap(\.mail)
            for device in world.devices { device.mail = [] }
            #expect(lines.count == 4)
            for line in lines {
                let envelope = try JSON.object(parsing: Array(line.utf8))
                let id = try #require(envelope["id"]?.string)
                let shown = try world.must(sender, "history", ["show", "--json", id]).records
                #expect(shown.map { $0.body["text"]?.string } == ["from \(sender)"])
            }
        }
    }

    @Test func aMessageThatComesTwiceIsSeen() throws {
        let world = try World()
        var random = Generator(seed: 2)
        try world.send("bob", "hello", ["--to", "alice"])
        let device = try world.device("alice-0")
        let mail = device.mail
        #expect(try world.read("alice-0", &random).first?["seen"] != .bool(true))
        device.mail = mail
        #expect(try world.read("alice-0", &random).first?["seen"] == .bool(true))
        #expect(try world.texts("alice-0") == ["received hello"])
    }

    @Test func machineOnePassesOnWhatASenderWithoutTheListWrote() throws {
        let world = try World(bob: 0)
        var random = Generator(seed: 3)
        let bob = try world.device("bob")
        // Bob forgets Alice and knows only a card without a list.
        try world.store(bob).transaction { transaction in
            try transaction.connection.run("DELETE FROM device_list")
            try transaction.connection.run("DELETE FROM device")
            let alice = try world.device("alice").identity
            try transaction.save(
                Contact(name: "alice", id: alice.id, card: alice.card(issued: .now())))
        }
        #expect(try world.send("bob", "hello", ["--to", "alice"]) == ["alice"])
        try world.settle(&random)
        for name in ["alice", "alice-0", "alice-1"] {
            #expect(try world.texts(name) == ["received hello"], "\(name)")
        }
    }

    /// A device that lacks the present list reads the message of a new own device with the list that it carries. A preview keeps none.
    @Test func aPreviewKeepsNoListOfAnOwnDevice() throws {
        let world = try World(bob: 0)
        let (alice, reader) = (try world.device("alice"), try world.device("alice-0"))
        let earlier = Timestamp(seconds: Timestamp.now().seconds - 10)
        let list = try DeviceList(
            world.entries(of: "alice").filter { $0.name == "alice-0" }, after: 0,
            by: alice.identity, at: earlier)
        func known() throws -> DeviceList? {
            try world.store(reader).preview { try $0.devices(of: alice.identity.id) }
        }
        try world.store(reader).transaction { transaction in
            try transaction.connection.run("DELETE FROM device_list")
            try transaction.connection.run("DELETE FROM device")
        }
        try world.store(reader).transaction { transaction in
            let card = alice.identity.card(issued: earlier, devices: list)
            _ = try transaction.keep(ownersCard: card)
        }
        try world.send("alice-1", "hello", ["--to", "bob"])
        let mail = reader.mail.joined(separator: "\n") + "\n"
        let preview = try world.home.run(
            "decrypt", ["-q", "--preview", "-i", "alice-0.key"], text: mail)
        #expect(preview.status == 0, "\(preview.stderr)")
        #expect(try known() == list)
        var random = Generator(seed: 6)
        try world.read("alice-0", &random)
        #expect(try known() == world.lists["alice"])
        #expect(try world.texts("alice-0") == ["sent hello"])
    }

    @Test func aRemovedDeviceGetsNothingMoreAndIsRefused() throws {
        let world = try World()
        var random = Generator(seed: 4)
        let (alice, bob) = (try world.device("alice"), try world.device("bob"))
        try world.send("alice", "first", ["--to", "bob"])
        #expect(try world.device("bob-0").mail.count == 1)
        // In the middle of a burst Bob removes the device, and Alice learns of it.
        try world.send("bob-0", "before", ["--to", "alice"])
        let list = try DeviceList([], after: world.lists["bob"]?.seq ?? 0, by: bob.identity)
        try world.store(bob).transaction { _ = try $0.keep(list) }
        try world.store(alice).transaction { transaction in
            _ = try transaction.take(devices: list)
        }
        let later = try (0..<3).flatMap { number in
            try world.send("alice", "later \(number)", ["--to", "bob"])
        }
        #expect(!later.contains("bob-0"))
        let refused = try world.read("alice", &random, status: 12)
        #expect(refused.contains { $0["type"]?.string == "error" })
        #expect(try world.texts("alice").filter { $0.hasPrefix("received") } == [])
        // Bob's first device refuses it too.
        let items = SyncItem(
            counter: 9, device: try world.device("bob-0").identity.device,
            .contact(alice.identity.id, .blocked(true)))
        bob.mail = [
            String(
                decoding: try Sealed.seal(
                    body: SyncBody.body([items.record]), from: world.device("bob-0").identity,
                    to: bob.identity.card(), time: .now()
                ).record.serialized(), as: UTF8.self)
        ]
        try world.read("bob", &random, status: 12)
        #expect(try world.store(bob).contact(id: alice.identity.id)?.isBlocked == false)
    }

    @Test func onlyAnOwnDeviceTellsWhatChanged() throws {
        let world = try World()
        var random = Generator(seed: 5)
        let (alice, bob) = (try world.device("alice"), try world.device("bob"))
        let item = SyncItem(
            counter: 9, device: bob.identity.device,
            .contact(bob.identity.id, .trust(.verified, key: nil)))
        let body = SyncBody.body([item.record])
        for device in ["alice", "alice-0"] {
            let reader = try world.device(device)
            reader.mail = [
                String(
                    decoding: try Sealed.seal(
                        body: body, from: bob.identity, to: reader.identity.card(), time: .now()
                    ).record.serialized(), as: UTF8.self)
            ]
            let records = try world.read(device, &random, status: 12)
            #expect(records.first?["status"]?.integer == 12)
        }
        #expect(try world.store(alice).contact(id: bob.identity.id)?.trust == .trusted)
    }

    @Test func aFirstMessageOfADeviceBringsTheList() throws {
        let world = try World()
        var random = Generator(seed: 6)
        let alice = try world.device("alice")
        try world.store(alice).transaction { transaction in
            try transaction.connection.run(
                "DELETE FROM device_list WHERE peer = ?",
                transaction.store.mark(try world.device("bob").identity.id))
            try transaction.connection.run(
                "DELETE FROM device WHERE peer = ?",
                transaction.store.mark(try world.device("bob").identity.id))
        }
        try world.send("bob-0", "hello", ["--to", "alice"])
        let record = try #require(try world.read("alice", &random).first)
        #expect(try record["from"]?.string == world.device("bob").identity.id.description)
        // She writes to the device now.
        let mailboxes = try world.send("alice", "hi", ["--to", "bob"])
        #expect(mailboxes.contains("bob-0"))
    }

    /// Begins a session of one device with another one, and loses it there.
    private func loseSession(
        _ world: DeviceWorld, of device: String, with lost: String
    ) throws {
        let bundle = try world.store(world.device(lost)).transaction { transaction in
            let publication = try transaction.publication(oneTime: 1)
            return try publication.bundle(oneTime: publication.oneTimePreKeys.first)
        }
        _ = try world.store(world.device(device)).transaction { try $0.begin(with: bundle) }
        try world.store(world.device(lost)).transaction { transaction in
            try transaction.connection.run("DELETE FROM prekey")
        }
    }

    private func hasSession(
        _ world: DeviceWorld, of device: String, with other: String
    ) throws -> Bool {
        let peer = try world.device(other).identity.device
        return try world.store(world.device(device)).preview { try $0.hasSession(with: peer) }
    }

    /// Machine one lost its state. Its other machines and all machines of a contact begin new sessions.
    @Test func aLostStateIsToldToOwnMachinesAndToAllMachinesOfAContact() throws {
        let world = try World()
        var random = Generator(seed: 7)
        for device in ["alice-0", "bob", "bob-0"] {
            try loseSession(world, of: device, with: "alice")
        }
        // What the own machine writes cannot be opened, and the error names it.
        try world.send("alice-0", "hello", ["--to", "bob"])
        let alice = try world.device("alice")
        let run = try world.home.run(
            "decrypt", ["-q", "-i", "alice.key"], text: alice.mail.joined(separator: "\n") + "\n")
        #expect(run.status == 10, "\(run.stderr)")
        #expect(run.stderr.contains("from your device alice-0"), "\(run.stderr)")
        alice.mail = []
        let records = try world.must("alice", "contact", ["repair"]).text
        let told = try world.send("alice", records)
        #expect(Set(told) == ["alice-0", "alice-1", "bob", "bob-0"])
        for device in ["alice-0", "bob", "bob-0"] {
            #expect(try hasSession(world, of: device, with: "alice"))
            try world.read(device, &random)
            #expect(try !hasSession(world, of: device, with: "alice"), "\(device)")
        }
        let again = try world.home.run("contact", ["repair", "-i", "alice.key"])
        #expect(again.status == 1 && again.stderr.contains("told today"), "\(again.stderr)")
        // What the own machine wrote comes again when its user says so, and nothing comes twice.
        func hellos() throws -> Int {
            let sync = try world.home.run("device", ["sync", "-i", "alice-0.key"])
            if !sync.stdout.isEmpty { try world.send("alice-0", sync.text) }
            try world.read("alice", &random)
            return try world.must("alice", "history", ["--json", "bob"]).records.count {
                $0["body"]?.object?["text"]?.string == "hello"
            }
        }
        #expect(try hellos() == 0)
        for _ in 0..<2 {
            let again = try world.must("alice-0", "device", ["sync", "--again", "machine one"])
            try world.send("alice-0", again.text)
            #expect(try hellos() == 1)
        }
    }

    /// The owner of the lost state does not know the other machine of the contact, so that machine one of the contact passes it on.
    @Test func aRepairIsPassedOnToMachinesThatItsSenderDoesNotKnow() throws {
        let world = try World(alice: 0)
        var random = Generator(seed: 8)
        let (alice, bob) = (try world.device("alice"), try world.device("bob"))
        try world.store(alice).transaction { transaction in
            try transaction.connection.run("DELETE FROM device_list")
            try transaction.connection.run("DELETE FROM device")
            try transaction.save(
                Contact(
                    name: "bob", id: bob.identity.id, card: bob.identity.card(issued: .now())))
        }
        try loseSession(world, of: "bob-0", with: "alice")
        let told = try world.send("alice", world.must("alice", "contact", ["repair"]).text)
        #expect(told == ["bob"])
        try world.settle(&random)
        #expect(try !hasSession(world, of: "bob-0", with: "alice"))
        let shown = try world.must("bob-0", "history", ["alice", "--text"]).text
        #expect(shown.contains("lost the messages of a machine"), "\(shown)")
        // Alice learns of the machine, and can tell it the same day.
        try world.store(alice).transaction { transaction in
            _ = try transaction.take(devices: #require(world.lists["bob"]))
        }
        let rest = try world.must("alice", "contact", ["repair"])
        #expect(try Set(world.send("alice", rest.text)) == ["bob", "bob-0"])
    }
}
