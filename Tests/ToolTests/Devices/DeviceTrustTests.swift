import Glibc
import Foundation
import Sotto
import SottoContacts
import SottoDatabase
import SottoMessages
import TestSupport
import Testing

@testable import SottoState

/// Decisions of a device, and devices that are stolen, forged or half made, with the built programs.
@Suite(.timeLimit(.minutes(60))) struct DeviceTrustTests {
    /// Alice's machine one, whose file has a passphrase, her laptop, and Bob. Each has another state.
    private struct World {
        let home = Home()
        let alice = World.person("alice")
        let bob = World.person("bob")
        let laptop: Identity
        let list: DeviceList
        /// When the list was signed: a minute ago, so that later cards have later dates.
        let signed = Timestamp(seconds: Timestamp.now().seconds - 60)

        init(_ state: DeviceList.State = .full) throws {
            laptop = World.device("laptop", of: alice)
            list = try DeviceList(
                [World.entry(laptop, "laptop", state)], after: 0, by: alice, at: signed)
            home.files.write("pass", Array("a long passphrase".utf8))
            for (name, identity) in [("alice", alice), ("laptop", laptop), ("bob", bob)] {
                home.files.write("\(name).key", identity.record.serialized())
            }
            _ = try home.output(
                "keygen", ["passwd", "--passphrase", "@FILE:pass", "-q", "alice.key"])
            try store(alice).transaction { transaction in
                try transaction.keep(list)
                try transaction.save(Contact(name: "bob", id: bob.id, card: bob.card()))
            }
            try store(laptop).transaction { transaction in
                _ = try transaction.keep(ownersCard: alice.card(issued: signed, devices: list))
            }
            try store(bob).transaction { transaction in
                try transaction.save(
                    Contact(
                        name: "alice", id: alice.id,
                        card: alice.card(issued: signed, devices: list)))
            }
        }

        static func person(_ name: String) -> Identity {
            Identity(seed: SecretBytes(copying: sha256(Array("trust \(name)".utf8))), name: name)
        }

        static func device(_ name: String, of owner: Identity) -> Identity {
            Identity(
                seed: SecretBytes(copying: sha256(Array("trust device \(name)".utf8))),
                name: name, owner: owner.id)
        }

        static func entry(
            _ device: Identity, _ name: String, _ state: DeviceList.State = .full
        ) -> DeviceList.Device {
            DeviceList.Device(card: device.card(), name: name, added: .now(), state: state)
        }

        func store(_ identity: Identity) throws -> IdentityStore {
            try IdentityStore(
                directory: StateDirectory(path: home.files("state")), identity: identity,
                lockTimeout: 30)
        }

        /// The options that name an identity.
        func options(_ name: String) -> [String] {
            ["-i", "\(name).key"]
                + (name == "alice" ? ["--identity-passphrase", "@FILE:pass"] : [])
        }

        func run(_ tool: String, _ arguments: [String], _ name: String) throws -> Run {
            try home.run(tool, arguments + options(name))
        }

        /// Opens a sealed message.
        @discardableResult
        func tell(
            _ name: String, _ body: JSONObject, card: Card? = nil, from sender: Identity,
            at time: Timestamp = .now(), status: Int32? = 0
        ) throws -> Run {
            let reader = ["alice": alice, "laptop": laptop][name] ?? bob
            let record = try card.map { try #require($0.record) }
            let envelope = try Sealed.seal(
                body: body, extra: record.map { [(name: "card", value: JSON.object($0))] } ?? [],
                from: sender, to: reader.card(), time: time)
            let run = try home.run(
                "decrypt", options(name), stdin: .whole(envelope.record.serialized() + [10]))
            if let status { #expect(run.status == status, "\(name): \(run.stderr) \(run.text)") }
            return run
        }

        /// Tells machine one what the laptop did.
        func tellAlice(_ changes: [SyncItem.Change], at time: Timestamp = .now()) throws {
            let items = changes.enumerated().map { number, change in
                // Later than what machine one decided.
                SyncItem(
                    counter: Timestamp.milliseconds() + Int64(number), device: laptop.device, change
                ).record
            }
            try tell("alice", SyncBody.body(items), from: laptop, at: time)
        }

        /// Returns a card of Alice with a list after ``list``.
        func card(_ devices: [DeviceList.Device], at time: Timestamp = .now()) throws -> Card {
            alice.card(
                issued: time,
                devices: try DeviceList(devices, after: list.seq, by: alice, at: time))
        }

        /// Returns a card of Alice with another list under the number of ``list``.
        func fork() throws -> Card {
            let tablet = World.entry(World.device("tablet", of: alice), "tablet")
            return alice.card(
                issued: .now(),
                devices: try DeviceList([tablet], after: list.seq - 1, by: alice, at: signed))
        }
    }

    private func records(_ run: Run) throws -> [JSONObject] {
        try run.lines.map { try JSON.object(parsing: Array($0.utf8)) }
    }

    /// A machine that was removed is told, says so, and writes no more messages.
    @Test func aRemovedMachineHearsOfItAndWritesNoMore() throws {
        let world = try World()
        try world.store(world.laptop).transaction { transaction in
            try transaction.save(
                Contact(name: "bob", id: world.bob.id, card: world.bob.card()))
        }
        let removal = try world.run("device", ["remove", "laptop"], "alice")
        let told = try records(removal).filter {
            $0["to"]?.string == world.laptop.device.description
        }
        #expect(removal.status == 0 && told.count == 1)
        let line = try #require(told.first).serialized() + [10]
        let opened = try world.home.run(
            "decrypt", ["--text"] + world.options("laptop"), stdin: .whole(line))
        #expect(
            opened.text
                == "[removed the device: laptop; that is this machine: nobody takes its messages from now on]\n"
        )
        let written = try world.home.run(
            "encrypt", ["--to", "bob"] + world.options("laptop"), stdin: .whole(Array("hello".utf8))
        )
        #expect(written.status == 12 && written.text.isEmpty)
        #expect(written.stderr.contains("machine one removed it, and nobody takes its messages"))
        let whoami = try world.home.run("sotto", ["whoami"] + world.options("laptop"))
        #expect(whoami.text.contains("removed by machine one"))
    }

    // MARK: What a device decided

    /// C21: a thief of a device verifies keys, blocks people and adds contacts.
    @Test func whatAStolenDeviceDecidedIsListedWithTheCommandsThatTakeItBack() throws {
        let world = try World()
        let (carol, dave) = (World.person("carol"), World.person("dave"))
        try world.store(world.alice).transaction { transaction in
            try transaction.save(Contact(name: "carol", id: carol.id, card: carol.card()))
        }
        try world.tellAlice([
            .contact(world.bob.id, .trust(.verified, key: nil)),
            .contact(carol.id, .blocked(true)), .contact(dave.id, .name("dave")),
        ])
        let changes = try world.run("device", ["changes", "laptop", "--json"], "alice")
        #expect(changes.status == 0, "\(changes.stderr)")
        let found = try records(changes)
        let undone = Dictionary(
            uniqueKeysWithValues: found.map {
                ($0["change"]?.string ?? "", $0["undo"]?.string ?? "")
            })
        #expect(
            undone == [
                "verified": "sotto contact unverify bob",
                "blocked": "sotto contact unblock carol", "added": "sotto contact remove dave",
            ])
        for record in found {
            #expect(record["type"]?.string == "device-change")
            #expect(record["device"]?.string == world.laptop.device.description)
            #expect(record["deviceName"]?.string == "laptop")
        }
        let text = try world.run("device", ["changes", "--text"], "alice")
        #expect(text.text.contains("verified bob"), "\(text.text)")
        // The records go to encrypt, and the list to the user.
        let removed = try world.run("device", ["remove", "laptop"], "alice")
        #expect(removed.status == 0, "\(removed.stderr)")
        for command in undone.values {
            #expect(removed.stderr.contains(command), "\(removed.stderr)")
        }
        #expect(removed.stderr.contains("not read here is refused"), "\(removed.stderr)")
        #expect(!removed.text.contains("undo"))
        #expect(!removed.stderr.contains("group sync"))
        let after = ["changes", world.laptop.device.description, "--json"]
        #expect(try records(world.run("device", after, "alice")).count == 3)
        for command in undone.values.sorted() {
            let words = command.split(separator: " ").dropFirst(2).map(String.init)
            let run = try world.run("contact", words, "alice")
            #expect(run.status == 0, "\(command): \(run.stderr)")
        }
        #expect(try world.run("device", after, "alice").lines.isEmpty)
        #expect(try world.store(world.alice).contact(id: world.bob.id)?.trust == .trusted)
    }

    /// A change that the laptop took back, one that the owner took back, and one before the last days of the laptop are not listed.
    @Test func onlyWhatHoldsAndIsOfTheLastDaysIsListed() throws {
        let world = try World()
        let store = try world.store(world.alice)
        let people = ["carol", "dave", "erin"].map { World.person($0) }
        let (carol, dave, erin) = (people[0].id, people[1].id, people[2].id)
        let now = Timestamp.now().seconds
        func day(_ number: Int64) -> Timestamp { Timestamp(seconds: now + number * 86_400) }
        // Later than what machine one decides in this test.
        var counter = Timestamp.milliseconds() + 60_000
        func change(_ id: KeyID, _ decision: SyncItem.Decision, _ time: Timestamp) throws {
            counter += 1
            let item = SyncItem(
                counter: counter, device: world.laptop.device, .contact(id, decision))
            try store.transaction { transaction in
                let taken = try transaction.take(
                    item, from: world.laptop.device, .full, at: time)
                if case .refused = taken { Issue.record("an item was refused") }
            }
        }
        func listed(_ time: Timestamp) throws -> Set<KeyID> {
            try store.preview { transaction in
                Set(try transaction.changes(at: time).map(\.contact.id))
            }
        }
        try store.transaction { transaction in
            for (person, name) in zip(people, ["carol", "dave", "erin"]) {
                try transaction.save(Contact(name: name, id: person.id, card: person.card()))
            }
        }
        try change(carol, .trust(.verified, key: nil), day(1))
        try change(dave, .trust(.verified, key: nil), day(20))
        try change(erin, .trust(.verified, key: nil), day(20))
        try change(erin, .trust(.trusted, key: nil), day(21))
        #expect(try listed(day(25)) == [carol, dave])
        // The laptop was last heard of on day 40, and is missed on day 300.
        try store.transaction { transaction in
            try transaction.noteHeard(of: world.laptop.device, sent: day(40), at: day(41))
        }
        #expect(try listed(day(300)) == [dave])
        try store.transaction { transaction in
            var contact = try #require(try transaction.contact(id: dave))
            contact.trust = .trusted
            try transaction.save(contact)
        }
        #expect(try listed(day(300)) == [])
    }

    @Test func aDeviceIsListedWithTheTimeOfItsLastMessage() throws {
        let world = try World()
        func heard() throws -> String? {
            try records(world.run("device", ["list", "--json"], "alice")).last?["heard"]?.string
        }
        #expect(try heard() == nil)
        let time = Timestamp(seconds: Timestamp.now().seconds - 100)
        try world.tellAlice([], at: time)
        #expect(try heard() == time.description)
        // A clock that is a day behind moves it back no more, and one that is a day ahead not past the present.
        try world.tellAlice([], at: Timestamp(seconds: time.seconds - 86_400))
        #expect(try heard() == time.description)
        try world.tellAlice([], at: Timestamp(seconds: time.seconds + 86_400))
        let last = try #require(try heard().flatMap { Timestamp($0) })
        #expect(last > time && last <= .now())
        let text = try world.run("device", ["list", "--text"], "alice").text
        #expect(text.contains("heard of \(last.description.prefix(10))"), "\(text)")
        // The laptop hears of machine one.
        try world.tell("laptop", SyncBody.body([]), from: world.alice)
        let machines = try records(world.run("device", ["list", "--json"], "laptop"))
        #expect(machines.first?["heard"] != nil && machines.last?["heard"] == nil)
    }

    // MARK: Contacts

    @Test(arguments: [true, false]) func aNewDeviceEndsRepeatsWithoutAQuestion(
        _ isAnnounced: Bool
    ) throws {
        let world = try World()
        let body = isAnnounced ? DeviceBody.announcement.record : Message.textBody("hello")
        func repeats() throws -> Bool? {
            try world.store(world.bob).contact(id: world.alice.id)?.getsRepeats
        }
        func allow() throws {
            try world.store(world.bob).transaction { transaction in
                var alice = try #require(try transaction.contact(id: world.alice.id))
                alice.getsRepeats = true
                try transaction.save(alice)
            }
        }
        try allow()
        try world.tell("bob", body, card: world.card(world.list.devices), from: world.alice)
        #expect(try repeats() == true)
        let tablet = World.entry(World.device("tablet", of: world.alice), "tablet")
        let later = Timestamp(seconds: Timestamp.now().seconds + 5)
        try world.tell(
            "bob", body, card: world.card(world.list.devices + [tablet], at: later),
            from: world.alice)
        #expect(try repeats() == false)
        // A removal ends nothing: no new device can ask for messages.
        try allow()
        let last = Timestamp(seconds: later.seconds + 5)
        try world.tell("bob", body, card: world.card([], at: last), from: world.alice)
        #expect(try repeats() == true)
        let devices = try world.store(world.bob).preview { transaction in
            try transaction.devices(of: world.alice.id)?.devices.count
        }
        #expect(devices == 0)
    }

    /// A sender whose request waits adds a machine: the contact that is accepted later has it.
    @Test func aListThatComesBeforeTheAcceptanceIsKept() throws {
        let world = try World()
        let erin = World.person("erin")
        let first = Timestamp(seconds: Timestamp.now().seconds - 30)
        try world.tell(
            "bob", Message.textBody("hi"), card: erin.card(issued: first), from: erin, status: nil)
        let machine = World.device("erin's laptop", of: erin)
        let list = try DeviceList([World.entry(machine, "laptop")], after: 0, by: erin, at: .now())
        try world.tell(
            "bob", DeviceBody.announcement.record, card: erin.card(issued: .now(), devices: list),
            from: erin, status: nil)
        let run = try world.run(
            "contact", ["accept", "--name", "erin", erin.id.description], "bob")
        #expect(run.status == 0, "\(run.stderr)")
        let devices = try world.store(world.bob).preview { try $0.devices(of: erin.id) }
        #expect(devices == list)
    }

    // MARK: Bad input

    @Test func twoListsWithOneNumberAreToldToAContactAndToTheOwner() throws {
        let world = try World()
        let forked = try world.fork()
        let body = DeviceBody.announcement.record
        let contact = try world.tell(
            "bob", body, card: forked, from: world.alice, status: 12)
        #expect(contact.stderr.contains("other devices"), "\(contact.stderr)")
        let own = try world.tell("laptop", body, card: forked, from: world.alice, status: 12)
        #expect(own.stderr.contains("an attacker can have your words"), "\(own.stderr)")
        // Machine one finds it in the directory.
        world.home.files.write("forked.card", try #require(forked.record).serialized())
        let first = try world.run("device", ["restore", "forked.card"], "alice")
        #expect(first.status == 12 && first.stderr.contains("attacker"), "\(first.stderr)")
        for identity in [world.alice, world.laptop, world.bob] {
            let kept = try world.store(identity).preview { transaction in
                try transaction.devices(of: world.alice.id)
            }
            #expect(kept == world.list)
        }
        // The messages of the device on the second list are those of a stranger.
        let tablet = World.device("tablet", of: world.alice)
        let run = try world.tell(
            "bob", Message.textBody("hello"), from: tablet, status: nil)
        #expect(!run.text.contains("\"trust\":\"trusted\""), "\(run.text)")
    }

    @Test func anEarlierListIsPutBackNowhere() throws {
        let world = try World()
        let empty = try world.card([])
        for name in ["bob", "laptop"] {
            try world.tell(name, DeviceBody.announcement.record, card: empty, from: world.alice)
        }
        try world.store(world.alice).transaction { transaction in
            _ = try transaction.keep(#require(empty.devices))
        }
        // With a later date: only the number counts.
        let earlier = world.alice.card(
            issued: Timestamp(seconds: Timestamp.now().seconds + 60), devices: world.list)
        try world.tell(
            "bob", DeviceBody.announcement.record, card: earlier, from: world.alice, status: 12)
        try world.tell("laptop", DeviceBody.announcement.record, card: earlier, from: world.alice)
        world.home.files.write("earlier.card", try #require(earlier.record).serialized())
        let restored = try world.run("device", ["restore", "earlier.card"], "alice")
        #expect(restored.status == 0 && restored.stderr.contains("a later list"))
        for identity in [world.alice, world.laptop, world.bob] {
            let kept = try world.store(identity).preview { transaction in
                try transaction.devices(of: world.alice.id)
            }
            #expect(kept == empty.devices)
        }
    }

    /// C5: Alice lists Bob, who did not consent, and whose mail she would get.
    @Test func aCardThatListsAStrangerIsRefused() throws {
        let world = try World()
        var list = world.list.record
        var entry = try #require(list["devices"]?.array?.first?.object)
        entry["card"] = .object(try #require(world.bob.card().record))
        list["devices"] = .array([.object(entry)])
        SignedRecord.sign(&list, with: world.alice.signingKey)
        var card = try #require(world.alice.card(issued: .now()).record)
        card["devices"] = .object(list)
        SignedRecord.sign(&card, with: world.alice.signingKey)
        world.home.files.write("forged.card", card.serialized())
        let added = try world.run("contact", ["add", "forged.card"], "bob")
        #expect(added.status == 65, "\(added.stderr)")
        let restored = try world.run("device", ["restore", "forged.card"], "alice")
        #expect(restored.status == 12, "\(restored.stderr)")
        #expect(
            try world.store(world.bob).preview { transaction in
                try transaction.person(ofDevice: world.bob.id)
            } == nil)
    }

    /// The clock of machine one was a day ahead and is right now: later lists have earlier dates.
    @Test func aClockThatWasADayAheadDelaysNoRemoval() throws {
        let world = try World()
        let tomorrow = Timestamp(seconds: Timestamp.now().seconds + 86_000)
        let tablet = World.entry(World.device("tablet", of: world.alice), "tablet")
        let first = try world.card(world.list.devices + [tablet], at: tomorrow)
        let second = world.alice.card(
            issued: .now(),
            devices: try DeviceList(
                world.list.devices, after: #require(first.devices).seq, by: world.alice))
        for name in ["bob", "laptop"] {
            for card in [first, second] {
                try world.tell(name, DeviceBody.announcement.record, card: card, from: world.alice)
            }
        }
        for identity in [world.laptop, world.bob] {
            let kept = try world.store(identity).preview { transaction in
                try transaction.devices(of: world.alice.id)
            }
            #expect(kept == second.devices)
        }
        #expect(
            try world.store(world.bob).contact(id: world.alice.id)?.card?.devices == second.devices)
    }

    @Test func theLimitOfDevicesIsNamed() throws {
        let world = try World()
        try world.store(world.alice).transaction { transaction in
            _ = try transaction.sign(
                devices: (1...7).map { number in
                    World.entry(World.device("\(number)", of: world.alice), "machine \(number)")
                })
        }
        let run = try world.run("device", ["add", "417-orbit-velvet-sunset"], "alice")
        #expect(run.status == 73 && run.stderr.contains("8 devices"), "\(run.stderr)")
        #expect(run.stderr.contains("sotto device list"))
    }

    /// Machine one removes the laptop before the laptop has read its welcome.
    @Test func aDeviceThatIsRemovedInTheMiddleOfBeingAddedGetsNothing() throws {
        let world = try World(.new)
        let contact = Contact(name: "bob", id: world.bob.id, card: world.bob.card())
        let removal = try world.tell(
            "laptop", DeviceBody.announcement.record, card: world.card([]), from: world.alice)
        #expect(removal.text.contains("\"removed\":[\"laptop\"]"), "\(removal.text)")
        for body in WelcomeBody.bodies([contact], isFull: false) {
            try world.tell("laptop", body, from: world.alice)
        }
        let devices = try records(world.run("device", ["list", "--json"], "laptop"))
        #expect(devices.count == 1 && devices.first?["first"] == .bool(true))
        #expect(try world.store(world.laptop).contacts().isEmpty)
        // Its decisions and its messages are refused.
        try world.store(world.alice).transaction { transaction in
            _ = try transaction.sign(devices: [])
        }
        let item = SyncItem(
            counter: 1, device: world.laptop.device,
            .contact(world.bob.id, .trust(.verified, key: nil)))
        try world.tell("alice", SyncBody.body([item.record]), from: world.laptop, status: 12)
        try world.tell(
            "bob", DeviceBody.announcement.record, card: world.card([]), from: world.alice)
        try world.tell("bob", Message.textBody("hello"), from: world.laptop, status: 12)
    }

    /// Only the first part of a welcome arrived. Machine one sends all of it again.
    @Test func aWelcomeThatWasCutIsCompletedByAnAnnouncement() throws {
        let world = try World()
        let contacts = (0..<25).map { number in
            let person = World.person("friend \(number)")
            var contact = Contact(name: "friend-\(number)", id: person.id, card: person.card())
            contact.trust = number % 2 == 0 ? .verified : .trusted
            return contact
        }
        let bodies = WelcomeBody.bodies(contacts, isFull: true)
        #expect(bodies.count > 1)
        try world.tell("laptop", try #require(bodies.first), from: world.alice)
        let some = try world.store(world.laptop).contacts().count
        #expect(some > 0 && some < contacts.count)
        for body in bodies { try world.tell("laptop", body, from: world.alice) }
        let all = try world.store(world.laptop).contacts()
        #expect(Set(all.map(\.name)) == Set(contacts.map(\.name)) && all.count == contacts.count)
        #expect(all.count { $0.trust == .verified } == contacts.count { $0.trust == .verified })
        // Bob cannot welcome the laptop.
        let stranger = Contact(
            name: "mallory", id: World.person("mallory").id, card: World.person("mallory").card())
        for body in WelcomeBody.bodies([stranger], isFull: true) {
            try world.tell("laptop", body, from: world.bob, status: nil)
        }
        #expect(try world.store(world.laptop).contacts().count == contacts.count)
    }

    /// A relay plays the new machine of an earlier pairing again, under the same code.
    @Test func aReplayedRequestIsReadInItsPairingOnly() throws {
        let world = try World()
        let relay = "relay.example.org:7667"
        let code = MeetingCode(randomFor: 417)
        let earlier = MeetingInitiator(code, relay: relay, for: .device)
        let first = try MeetingKeys(
            joining: earlier.offer, code, relay: relay, for: .device)
        let card = world.alice.card(issued: .now())
        let request = try earlier.keys(first.answer(with: card)).seal(
            world.laptop.card(issued: .now()))
        #expect(try first.open(request).id == world.laptop.device)
        let second = try MeetingKeys(
            joining: earlier.offer, code, relay: relay, for: .device)
        #expect(throws: MeetingError.self) { _ = try second.open(request) }
    }

    /// A message that nests as deep as its sender may make it stops nothing that comes after it.
    @Test func aMessageThatIsTooDeepForADeviceStopsNoOtherItem() throws {
        let world = try World()
        let deep = (1..<8).reduce(JSON.array([])) { value, _ in .array([value]) }
        try world.tell(
            "alice", ["type": .string("text"), "text": .string("deep"), "x": deep],
            from: world.bob)
        try world.store(world.alice).transaction { transaction in
            try transaction.change(.peer(world.bob.id)) { $0.isMuted = true }
        }
        let items = try world.store(world.alice).transaction { transaction -> [JSONObject] in
            var items: [JSONObject] = []
            for device in try transaction.otherDevices() {
                while let due = try transaction.dueItems(for: device) {
                    items += due.items
                    try transaction.noteTold(due, to: device, in: nil)
                }
            }
            return items
        }
        // The others are about the contact.
        let kinds = Set(items.compactMap { $0["kind"]?.string })
        #expect(kinds == ["contact", "conversation"])
        _ = try MessageBody(SyncBody.body(items))
    }
}

/// `sotto init --recover` of machine one, whose card in the directory names the other machine.
@Suite(.timeLimit(.minutes(60))) struct DeviceRecoveryTests {
    /// Pairs two machines, which publishes the card with the list, and returns the words of the first one.
    private func lose(_ machines: PairingTests.Machines) throws -> String {
        let (request, code) = try machines.request()
        let added = try machines.addCommand(code).run()
        try #require(added.status == 0, "\(added.stderr)")
        let made = try #require(try request.finish().first)
        try #require(made.status == 0, "\(made.stderr)")
        let alice = machines.identity("alice")
        return String(
            decoding: try machines.first.output("keygen", ["words"] + alice), as: UTF8.self)
    }

    private func recovery(_ machines: PairingTests.Machines, in home: Home) -> Command {
        home.files.write("pass", Array("a long passphrase".utf8))
        return home.command(
            "sotto",
            [
                "init", "--recover", "--relay", machines.address, "--name", "alice",
                "--passphrase", "@FILE:pass",
            ], environment: ["SOTTO_IDENTITY": home.files("alice.key")])
    }

    @Test(arguments: [true, false]) func aLostMachineIsRemovedAfterAQuestion(
        _ isLost: Bool
    ) throws {
        let machines = try PairingTests.Machines()
        let words = try lose(machines)
        let home = Home()
        let session = try TerminalSession(recovery(machines, in: home))
        try session.expect("Your recovery words: ")
        try session.type(words)
        try session.expect("Type yes if laptop is lost too")
        #expect(session.text.contains("laptop stays a device of yours"), "\(session.text)")
        try session.type(isLost ? "yes\n" : "no\n")
        if !isLost {
            // The machine that stays can have sessions with the lost one.
            try session.expect("Type yes to tell all of them: ")
            try session.type("yes\n")
        }
        let run = try session.finish()
        #expect(run.status == 0, "\(session.text)")
        #expect(try machines.devices(home, "alice").count == (isLost ? 1 : 2))
        // The question was answered.
        #expect(!session.text.contains("sotto device remove laptop --send"))
        // The card in the directory has the list, too.
        let id = try #require(try machines.devices(home, "alice").first?["id"]?.string)
        let card = try home.run("recv", ["-q", "--card", id, "--relay", machines.address])
        #expect(card.text.contains("\"devices\""), "\(card.stderr)")
        #expect(card.text.contains("\"laptop\"") == !isLost, "\(card.text)")
    }

    @Test func inAPipeTheCommandIsNamed() throws {
        let machines = try PairingTests.Machines()
        let words = try lose(machines)
        let home = Home()
        let run = try recovery(machines, in: home).run(stdin: .whole(Array(words.utf8)))
        #expect(run.status == 0, "\(run.stderr)")
        #expect(run.stderr.contains("laptop stays a device of yours"), "\(run.stderr)")
        #expect(run.text.contains("sotto device remove laptop --send"), "\(run.text)")
        #expect(try machines.devices(home, "alice").count == 2)
    }

    /// The laptop that stays hears of the loss, and the identity of a device does nothing of machine one.
    @Test func theOtherMachineIsToldOfTheLoss() throws {
        let machines = try PairingTests.Machines()
        let words = try lose(machines)
        let home = Home()
        let run = try recovery(machines, in: home).run(stdin: .whole(Array(words.utf8)))
        #expect(run.status == 0, "\(run.stderr)")
        let alice = machines.identity("alice")
        let told = try home.run("sotto", ["contact", "repair"] + alice + ["--send"])
        #expect(told.status == 0 && told.text.contains("stored"), "\(told.stderr)")
        let again = try home.run("contact", ["repair"] + alice)
        #expect(again.status == 1 && again.stderr.contains("told today"), "\(again.stderr)")
        // It is no message of the history.
        let bodies = try machines.read(machines.second, "laptop")
        #expect(bodies.contains { $0["type"] == .string("repair") && $0["own"] == .bool(true) })
        let stored = try machines.second.run(
            "history", ["--raw", "--json"] + machines.identity("laptop"))
        #expect(!stored.text.contains("repair"), "\(stored.text)")
        let laptop = machines.identity("laptop")
        for command in [["words"], ["revoke", "-o", "page"], ["rotate", "-o", "new.key"]] {
            let refused = try machines.second.run("keygen", command + laptop)
            #expect(refused.status == 64, "\(command): \(refused.stderr)")
            #expect(refused.stderr.contains("only machine one"), "\(refused.stderr)")
        }
        for option in [
            ["--name", "al"], ["--relay", "tcp://relay.example.org:7667"], ["--no-relay"],
        ] {
            let refused = try machines.second.run("keygen", ["set"] + option + laptop)
            #expect(
                refused.status == 64 && refused.stderr.contains("machine one"),
                "\(option): \(refused.stderr)")
        }
        // No contact had a session with a device before its state was made.
        let none = try machines.second.run("contact", ["repair"] + laptop)
        #expect(none.status == 1 && none.stderr.contains("neither new nor"), "\(none.stderr)")
    }

    /// Machine one lost its state alone. It learns the list before it signs one.
    @Test func aNewStateOfMachineOneLearnsTheList() throws {
        let machines = try PairingTests.Machines()
        _ = try lose(machines)
        let (home, alice) = (machines.first, machines.identity("alice"))
        func loseState() throws { try FileManager.default.removeItem(atPath: home.files("state")) }
        try loseState()
        let renamed = try home.run("device", ["rename", "laptop", "desk"] + alice)
        #expect(renamed.status == 0, "\(renamed.stderr)")
        #expect(renamed.stderr.contains("1 other devices, and was taken"), "\(renamed.stderr)")
        #expect(try machines.devices(home, "alice").map { $0["name"]?.string } == [nil, "desk"])
        try loseState()
        let received = try home.run("recv", ["--relay", machines.address] + alice)
        #expect(received.stderr.contains("and was taken"), "\(received.stderr)")
        #expect(try machines.devices(home, "alice").count == 2)
        try loseState()
        machines.relay.end()
        let refused = try home.run("device", ["list", "--private"] + alice)
        #expect(refused.status == 75 && refused.stderr.contains("sotto read"), "\(refused.stderr)")
    }

    /// Another device that lost its state gets the contacts from machine one, and tells them.
    @Test func anotherDeviceTellsThatItLostItsState() throws {
        let machines = try PairingTests.Machines()
        _ = try machines.bob()
        try machines.pair()
        let (alice, laptop) = (machines.identity("alice"), machines.identity("laptop"))
        _ = try machines.read(machines.second, "laptop")
        try FileManager.default.removeItem(atPath: machines.second.files("state"))
        _ = try machines.read(machines.second, "laptop")
        let empty = try machines.second.run("contact", ["repair"] + laptop)
        #expect(
            empty.status == 1 && empty.stderr.contains("sotto device announce NAME --send"),
            "\(empty.stderr)")
        let announced = try machines.first.run(
            "sotto", ["device", "announce", "laptop"] + alice + ["--send"])
        #expect(announced.status == 0, "\(announced.stderr)")
        _ = try machines.read(machines.second, "laptop")
        let told = try machines.second.run("contact", ["repair"] + laptop)
        #expect(told.status == 0 && told.lines.count == 2, "\(told.stderr)")
    }

    /// A list that did not reach the directory is published by the next `recv`, and a state with an earlier list takes the later one.
    @Test func recvComparesTheListWithTheDirectory() throws {
        let machines = try PairingTests.Machines()
        let words = try lose(machines)
        let alice = machines.identity("alice")
        func receive(_ home: Home) throws -> String {
            try home.run("recv", ["--relay", machines.address] + alice).stderr
        }
        let id = try #require(try machines.devices(machines.first, "alice").first?["id"]?.string)
        func card() throws -> [UInt8] {
            try machines.first.run("recv", ["-q", "--card", id, "--relay", machines.address])
                .stdout
        }
        let earlier = try card()
        #expect(try !receive(machines.first).contains("list of your devices"))
        // Of two cards of one second a relay keeps either.
        usleep(1_100_000)
        _ = try machines.first.output("device", ["rename", "laptop", "desk"] + alice)
        #expect(try String(decoding: card(), as: UTF8.self).contains("\"laptop\""))
        let said = try receive(machines.first)
        #expect(said.contains("had an earlier list of your devices"), "\(said)")
        #expect(try String(decoding: card(), as: UTF8.self).contains("\"desk\""))
        #expect(try !receive(machines.first).contains("list of your devices"))
        // Another machine one, from the words, with the earlier list.
        let home = Home()
        home.files.write("pass", Array("a long passphrase".utf8))
        _ = try home.output(
            "keygen",
            [
                "recover", "-o", "alice.key", "--relay", machines.address, "--protect",
                "--passphrase", "@FILE:pass", "-q",
            ], stdin: Array(words.utf8))
        _ = try home.output("device", ["restore"] + alice, stdin: earlier)
        #expect(try machines.devices(home, "alice").last?["name"]?.string == "laptop")
        let taken = try receive(home)
        #expect(taken.contains("is later than that of this state"), "\(taken)")
        #expect(try machines.devices(home, "alice").last?["name"]?.string == "desk")
    }
}
