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
