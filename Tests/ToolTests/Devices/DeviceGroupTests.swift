import Foundation
import Sotto
import SottoDatabase
import TestSupport
import Testing

@testable import SottoState

/// Two people with three and two devices are members of a group, with the built programs.
@Suite(.timeLimit(.minutes(60))) struct DeviceGroupTests {
    private func team(
        _ random: inout Generator, alice: Int = 2, bob: Int = 1, relay: String? = nil
    ) throws -> DeviceWorld {
        let world = try DeviceWorld(alice: alice, bob: bob, relay: relay)
        try world.makeTeam(&random)
        return world
    }

    @Test func aMemberWritesFromAnotherDeviceUnderTheMembersName() throws {
        var random = Generator(seed: 1)
        let world = try team(&random)
        for device in world.devices {
            let group = try #require(
                world.must(device.name, "group", ["show", "--json", "team"]).records.first)
            #expect(group["standing"]?.string == "member", "\(device.name)")
        }
        let (alice, writer) = (try world.device("alice"), try world.device("alice-1"))
        let mailboxes = try world.say("alice-1", "hello")
        #expect(mailboxes == ["alice", "alice-0", "bob", "bob-0"])
        var ids: Set<String> = []
        for name in mailboxes.sorted() {
            let found = try world.read(name, &random).first {
                $0["body"]?.object?["text"]?.string == "hello"
            }
            let record = try #require(found, "\(name)")
            #expect(record["from"]?.string == alice.identity.id.description)
            #expect(record["device"]?.string == writer.identity.device.description)
            if name.hasPrefix("bob") { #expect(record["name"]?.string == "alice") }
            ids.insert(record["id"]?.string ?? "")
        }
        #expect(ids.count == 1)
        // An answer of another device of the other member.
        try world.say("bob-0", "hi")
        try world.settleGroup(&random)
        for device in world.devices {
            let isAlices = device.person == "alice"
            #expect(
                try world.texts(device.name) == [
                    isAlices ? "received hi" : "received hello",
                    isAlices ? "sent hello" : "sent hi",
                ], "\(device.name)")
            let people = try world.must(
                device.name, "group", ["participants", "--json", "team"]
            ).records
            #expect(people.count == 2, "\(device.name)")
        }
    }

    /// The list of a group comes without the owner's card, which the device gives out.
    @Test func aListInAGroupLeavesTheOwnersCard() throws {
        var random = Generator(seed: 31)
        let world = try team(&random)
        try world.changeList(isTold: false) { known in
            known.map {
                var device = $0
                if device.name == "alice-1" { device.name = "desk" }
                return device
            }
        }
        let list = try #require(world.lists["alice"])
        let store = try world.store(world.device("alice-0"))
        #expect(try store.transaction { try $0.take(devices: list) } != .known)
        #expect(
            try store.preview { try $0.cardForDevices() }.id == world.device("alice").identity.id)
        try world.group("alice-0", "sync")
    }

    /// The decisions of a removed device are listed on another device, with the commands.
    @Test func aRemovalNamesTheDecisionsOfTheDevice() throws {
        var random = Generator(seed: 32)
        let world = try team(&random)
        let carol = Identity(seed: SecretBytes(copying: sha256(Array("carol".utf8))), name: "carol")
        world.home.files.write(
            "carol.card", try #require(carol.card(issued: .now()).record).serialized())
        try world.must("alice-1", "contact", ["add", "carol.card"])
        try world.settle(&random)
        let id = try world.device("alice-1").identity.device.description
        try world.changeList { $0.filter { $0.name != "alice-1" } }
        let told = try world.read("alice-0", &random).compactMap { $0["body"]?.object?["decided"] }
        #expect(told == [.string(id)])
        let listed = try world.must("alice-0", "device", ["changes", id, "--json"])
        #expect(listed.text.contains("sotto contact remove carol"), "\(listed.text)")
    }

    /// The owner's change stands once in the history of each device, and no device is to tell those of another one.
    @Test func aChangeStandsOnceOnEachDevice() throws {
        var random = Generator(seed: 12)
        let world = try team(&random)
        try world.group("alice", "about", "team", "climbers")
        try world.settleGroup(&random)
        for name in ["alice", "alice-0", "bob"] {
            let lines = try world.must(name, "history", ["team", "--text"]).lines
            let count = lines.count { $0.contains("the description") }
            #expect(count == 1, "\(name): \(lines)")
            let group = try world.must(name, "group", ["show", "--json", "team"]).records.first
            #expect(group?["untold"] == nil, "\(name)")
        }
    }

    /// Machine one lost its state, and with it the keys of its other device.
    @Test func aLostStateGetsTheKeysOfTheOtherDevicesAgain() throws {
        var random = Generator(seed: 11)
        let world = try team(&random)
        try world.say("alice-0", "before")
        try world.settleGroup(&random)
        let alice = try world.device("alice")
        try world.store(alice).transaction { transaction in
            try transaction.connection.run("DELETE FROM group_chain")
        }
        try world.store(world.device("alice-0")).transaction {
            try $0.takeRepair(fromOwn: alice.identity.device)
        }
        try world.say("alice-0", "after")
        try world.settleGroup(&random)
        #expect(try world.texts("alice") == ["sent after", "sent before"])
        // The messages themselves come again when the user of the other device says so.
        try world.store(alice).transaction { transaction in
            try transaction.connection.run("DELETE FROM message")
        }
        try world.must("alice-0", "device", ["sync", "--again", "machine one"])
        try world.settleGroup(&random)
        #expect(try world.texts("alice") == ["sent after", "sent before"])
    }

    /// A member whose device lost its state tells the contacts, who send their keys with the next message.
    @Test func aContactsDeviceThatLostItsStateGetsTheKeysAgain() throws {
        var random = Generator(seed: 13)
        let world = try team(&random)
        try world.say("bob", "before")
        try world.settleGroup(&random)
        let device = try world.device("alice-0").identity.device
        try world.store(world.device("alice-0")).transaction { transaction in
            try transaction.connection.run("DELETE FROM group_chain")
        }
        try world.store(world.device("bob")).transaction { transaction in
            let alice = try #require(try transaction.allContacts().first)
            _ = try transaction.takeRepair(
                ["type": .string(RepairBody.type)], from: alice, device: device, written: .now())
        }
        try world.say("bob", "after")
        try world.read("alice-0", &random)
        #expect(try world.texts("alice-0") == ["received after", "received before"])
    }

    /// A member whom nobody told does not know that the device lost its state. The device asks for the keys.
    @Test func aDeviceThatLostItsStateAsksMembersForTheirKeys() throws {
        var random = Generator(seed: 14)
        let world = try team(&random)
        try world.say("bob", "before")
        try world.settleGroup(&random)
        let lost = try world.device("alice-0")
        let state = world.home.files("state")
        for name in try FileManager.default.contentsOfDirectory(atPath: state)
        where name.hasPrefix(lost.identity.device.description) {
            try FileManager.default.removeItem(atPath: "\(state)/\(name)")
        }
        try world.introduce(lost, knowing: true)
        try world.store(world.device("alice")).transaction {
            try $0.takeRepair(fromOwn: lost.identity.device)
        }
        try world.settleGroup(&random)
        try world.say("bob", "after")
        try world.settleGroup(&random)
        #expect(try world.texts("alice-0").contains("received after"))
    }

    @Test func aMessageThatComesTwiceHasOneLine() throws {
        var random = Generator(seed: 2)
        let world = try team(&random)
        try world.say("alice-0", "hello")
        for name in ["alice", "alice-1", "bob", "bob-0"] {
            let device = try world.device(name)
            let mail = device.mail
            try world.read(name, &random)
            device.mail = mail.filter { $0.contains(#""suite":"group""#) }
            #expect(device.mail.count == 1)
            try world.read(name, &random)
            #expect(try world.texts(name).count == 1, "\(name)")
        }
    }

    @Test func aMessageThatAnotherOwnDeviceLacksIsSentAgain() throws {
        var random = Generator(seed: 12)
        let world = try team(&random)
        try world.say("alice-0", "one")
        try world.settleGroup(&random)
        try world.say("alice-0", "two")
        for name in ["alice", "alice-1"] { try world.device(name).mail = [] }
        try world.say("alice-0", "three")
        try world.settleGroup(&random)
        for name in ["alice", "alice-0", "alice-1"] {
            #expect(try world.texts(name) == ["sent one", "sent three", "sent two"], "\(name)")
        }
        let group = try world.must("alice", "group", ["show", "--json", "team"]).records.first
        #expect(group?["missing"] == nil)
    }

    @Test func aRemovalTellsGroups() throws {
        var random = Generator(seed: 11)
        let world = try team(&random)
        let removed = try world.device("alice-1").identity.device
        // A list is signed with a file that has a passphrase.
        let files = world.home.files
        files.write("list.key", try files.read("alice.key"))
        files.write("pass", Array("a long passphrase".utf8))
        _ = try world.home.output(
            "keygen", ["passwd", "--passphrase", "@FILE:pass", "-q", "list.key"])
        let run = try world.home.run(
            "device",
            [
                "remove", removed.description, "-i", "list.key", "--identity-passphrase",
                "@FILE:pass",
            ])
        #expect(run.status == 0, "\(run.stderr)")
        let told = try run.records.filter {
            $0["body"]?.object?["type"]?.string == "group"
        }.compactMap { $0["to"]?.string }
        #expect(try told.contains(world.device("bob").identity.id.description))
        #expect(!told.contains(removed.description))
        // The records are lost.
        #expect(try world.say("bob", "before").contains("alice-1"))
        try world.group("alice", "sync")
        try world.settleGroup(&random, without: "alice-1")
        #expect(try !world.say("bob", "later").contains("alice-1"))
    }

    @Test func aRemovedDeviceReadsNothingLater() throws {
        var random = Generator(seed: 3)
        let world = try team(&random)
        let removed = try world.device("alice-1")
        try world.say("bob", "first")
        try world.settleGroup(&random)
        #expect(try world.texts("alice-1") == ["received first"])
        try world.changeList { $0.filter { $0.id != removed.identity.device } }
        // Bob's devices did not hear of it.
        #expect(try world.say("bob", "before").contains("alice-1"))
        var later: [String] = []
        try world.settleGroup(&random, without: "alice-1")
        for device in world.devices where device.name != "alice-1" {
            let before = world.devices.map { ($0, $0.mail.count) }
            let mailboxes = try world.say(device.name, "later \(device.name)")
            let names = Set(world.devices.map(\.name)).subtracting([device.name, "alice-1"])
            #expect(mailboxes == names)
            later += before.flatMap { $0.mail.dropFirst($1) }
        }
        // It also tries what goes to others.
        removed.mail += later
        _ = try world.home.run(
            "decrypt", ["-q", "-i", "alice-1.key"],
            text: removed.mail.shuffled(using: &random).joined(separator: "\n") + "\n")
        #expect(try world.texts("alice-1").allSatisfy { !$0.contains("later") })
        // Its messages are not shown.
        removed.mail = []
        try world.send("alice-1", "from the removed", ["--group", "team", "--elsewhere"])
        for device in world.devices where device.name != "alice-1" {
            _ = try world.home.run(
                "decrypt", ["-q", "-i", "\(device.name).key"],
                text: device.mail.joined(separator: "\n") + "\n")
            let texts = try world.texts(device.name)
            #expect(!texts.contains { $0.contains("from the removed") }, "\(device.name)")
            #expect(texts.count == 6, "\(device.name): \(texts)")
        }
    }

    @Test func aNewDeviceGetsWhatItsOwnerMayRead() throws {
        var random = Generator(seed: 4)
        let world = try team(&random, alice: 1, bob: 1)
        try world.say("bob-0", "before")
        try world.settleGroup(&random)
        try world.addDevice("alice-1")
        try world.settleGroup(&random)
        #expect(
            try world.must("alice-1", "group", ["show", "--json", "team"]).records.first?[
                "standing"]?.string == "member")
        for name in ["alice", "alice-0", "bob", "bob-0"] {
            #expect(try world.say(name, "after by \(name)").contains("alice-1"), "\(name)")
        }
        try world.settleGroup(&random)
        let after = [
            "received after by bob", "received after by bob-0", "sent after by alice",
            "sent after by alice-0",
        ]
        #expect(try world.texts("alice-1") == after)
        // Machine one gives it the rest.
        try world.must(
            "alice", "history", ["export", "--backup", "--device", "alice-1", "-o", "all.age"])
        try world.must("alice-1", "history", ["import", "all.age"])
        #expect(try world.texts("alice-1") == (after + ["received before"]).sorted())
        #expect(try world.texts("alice-1") == world.texts("alice"))
        // It writes too.
        #expect(try world.say("alice-1", "from the new") == ["alice", "alice-0", "bob", "bob-0"])
        try world.settleGroup(&random)
        for name in ["bob", "bob-0"] {
            #expect(try world.texts(name).contains("received from the new"), "\(name)")
        }
    }

    @Test func machineOneConfirmsTheGroupThatADeviceImported() throws {
        var random = Generator(seed: 13)
        let world = try team(&random, alice: 0, bob: 0)
        try world.addDevice("alice-1")
        let device = try world.device("alice-1")
        // The backup is restored before the mail is read.
        let mail = device.mail
        device.mail = []
        try importGroup(to: "alice-1", of: world)
        #expect(try isUnconfirmed("alice-1", world))
        device.mail = mail
        try world.read("alice-1", &random)
        try world.group("alice-1", "sync")
        try world.read("alice", &random)
        try world.group("alice", "sync")
        try world.read("alice-1", &random)
        #expect(try !isUnconfirmed("alice-1", world))
        // Bob answers nothing and has the list of the group.
        try world.read("bob", &random)
        #expect(try world.say("alice-1", "from the new") == ["alice", "bob"])
        try world.read("bob", &random)
        #expect(try world.texts("bob").contains("received from the new"))
    }

    @Test func theMembersAnswerADeviceThatAskedBeforeTheyKnewIt() throws {
        var random = Generator(seed: 14)
        let world = try team(&random, alice: 0, bob: 0)
        try world.addDevice("alice-1")
        let device = try world.device("alice-1")
        device.mail = []
        try importGroup(to: "alice-1", of: world)
        try world.group("alice-1", "sync")
        try world.device("alice").mail = []
        // Bob reads the announcement, the question, and then the list of the group.
        let bob = try world.device("bob")
        let mail = bob.mail
        for part in [mail.prefix(1), mail.suffix(1), mail.dropFirst().dropLast()] {
            bob.mail = Array(part)
            try world.read("bob", &random)
        }
        try world.group("bob", "sync")
        try world.group("alice", "sync")
        try world.read("alice-1", &random)
        #expect(try !isUnconfirmed("alice-1", world))
    }

    @Test func aDeviceThatTheGroupDoesNotListWritesNothing() throws {
        var random = Generator(seed: 15)
        let world = try team(&random, alice: 0, bob: 0)
        // The group does not hear of the device.
        try world.addDevice("alice-1", isTold: false)
        try importGroup(to: "alice-1", of: world)
        try world.group("alice-1", "sync", "--anyway", "team")
        let run = try world.home.run(
            "encrypt", ["-q", "-i", "alice-1.key", "--group", "team", "--elsewhere"], text: "lost")
        #expect(run.status == 75 && run.stderr.contains("do not know this device"), "\(run.stderr)")
        #expect(try world.texts("alice-1") == [])
        try world.settleGroup(&random)
        try world.say("alice-1", "from the new")
        try world.settleGroup(&random)
        for name in ["alice", "bob"] {
            #expect(try world.texts(name).contains { $0.contains("from the new") }, "\(name)")
        }
    }

    @Test func whatAnotherOwnDeviceSignsProvesNothing() throws {
        var random = Generator(seed: 16)
        let world = try team(&random, alice: 1)
        let device = try world.device("alice-0")
        try world.store(device).transaction { transaction in
            try transaction.connection.run("UPDATE number SET value = 1 WHERE name = 'made'")
        }
        try world.group("alice", "rename", "team", "crew")
        let run = try world.home.run(
            "decrypt", ["-i", "alice-0.key"],
            text: device.mail.joined(separator: "\n") + "\n")
        #expect(run.status == 0 && !run.stderr.contains("earlier"), "\(run.stderr)")
        #expect(try world.store(device).preview { try $0.newState()?.cause } != .behind)
    }

    @Test func machineOnePassesOnWhatOthersWroteBeforeTheyKnewTheDevice() throws {
        var random = Generator(seed: 17)
        let world = try team(&random, alice: 1, bob: 1)
        try world.addDevice("alice-1")
        // Bob has not read the list.
        #expect(try !world.say("bob", "before he knows").contains("alice-1"))
        #expect(try !world.say("alice-0", "from the other").contains("alice-1"))
        try world.settle(&random)
        try world.settleGroup(&random)
        #expect(
            try world.texts("alice-1") == ["received before he knows", "sent from the other"])
        #expect(try world.say("bob", "later").contains("alice-1"))
        try world.settle(&random)
        for name in ["alice", "alice-0", "alice-1"] {
            #expect(try world.texts(name).filter { $0 == "received later" }.count == 1, "\(name)")
        }
    }

    @Test func aNewDeviceGetsThePassedMessagesWhenItIsFull() throws {
        var random = Generator(seed: 18)
        let world = try team(&random, alice: 1, bob: 0)
        try world.addDevice("alice-1", .new)
        #expect(try !world.say("bob", "before he knows").contains("alice-1"))
        try world.settle(&random)
        #expect(try !world.say("bob", "he knows").contains("alice-1"))
        #expect(try !world.say("alice", "mine").contains("alice-1"))
        try world.settle(&random)
        #expect(try world.texts("alice-1") == [])
        let groups = try world.home.run("group", ["list", "--json", "-i", "alice-1.key"])
        #expect(groups.text.isEmpty)
        try world.changeList { devices in
            devices.map { device in
                var full = device
                full.state = .full
                return full
            }
        }
        try world.settle(&random)
        #expect(
            try world.texts("alice-1") == [
                "received before he knows", "received he knows", "sent mine",
            ])
    }

    @Test func theCopyForMachineOneHasItsRelay() throws {
        var random = Generator(seed: 19)
        let world = try team(&random, alice: 2, bob: 0, relay: "tcp://127.0.0.1:9")
        for text in ["one", "two"] {
            let run = try world.home.run(
                "encrypt", ["-q", "-i", "alice-0.key", "--group", "team", "--elsewhere"],
                text: text)
            let copies = try run.records.filter { $0["suite"]?.string == "group" }
            #expect(copies.count == 3)
            for copy in copies { #expect(copy["relay"]?.string == world.relay, "\(copy)") }
        }
    }

    @Test func aMemberWhoIsAContactIsNamedWithItsNewDevice() throws {
        var random = Generator(seed: 20)
        let world = try team(&random, alice: 0, bob: 0)
        try world.addDevice("alice-1")
        try world.read("bob", &random)
        let lines = try world.must("bob", "history", ["--text", "alice"]).text
        #expect(lines.contains("uses a new device, alice-1"), "\(lines)")
    }

    @Test func onlyMachineOneAcceptsAnInvitation() throws {
        let world = try DeviceWorld(alice: 0, bob: 1)
        try world.group("alice", "create", "team", "bob")
        let run = try world.home.run("group", ["accept", "-i", "bob-0.key", "team"])
        #expect(run.status == 12 && run.stderr.contains("only machine one"), "\(run.stderr)")
    }

    /// Restores machine one's backup on a device.
    private func importGroup(to name: String, of world: DeviceWorld) throws {
        try world.must(
            "alice", "history", ["export", "--backup", "--device", name, "-o", "all.age"])
        try world.must(name, "history", ["import", "all.age"])
    }

    private func isUnconfirmed(_ name: String, _ world: DeviceWorld) throws -> Bool {
        let group = try world.must(name, "group", ["show", "--json", "team"]).records.first
        return group?["unconfirmed"]?.bool == true
    }
}
