import Sotto
import TestSupport
import Testing

@testable import SottoState

/// Two people with three and two devices are members of a group, with the built programs.
@Suite(.timeLimit(.minutes(60))) struct DeviceGroupTests {
    private func team(
        _ random: inout Generator, alice: Int = 2, bob: Int = 1
    ) throws -> DeviceWorld {
        let world = try DeviceWorld(alice: alice, bob: bob)
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

    @Test func aRemovalNamesTheCommandThatTellsGroups() throws {
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
        #expect(run.stderr.contains("to tell them now: sotto group sync --send"), "\(run.stderr)")
        // The records for contacts are lost.
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
        // What it writes is shown to nobody.
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
}
