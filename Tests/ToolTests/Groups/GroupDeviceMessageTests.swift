import Sotto
import SottoMessages
import TestSupport
import Testing

/// Messages that another device of a member writes to a group.
struct GroupDeviceMessageTests {
    /// Bob, a moderator in a group where only moderators write, and his laptop, which is not trusted yet if it is `new`.
    @Test(arguments: [DeviceList.State.full, .new]) func aGroupMessageNamesTheDeviceOfItsAuthor(
        _ state: DeviceList.State
    ) throws {
        let circle = try Circle("alice", "bob")
        try circle.team("alice", "bob")
        try circle.group("alice", "policy", "team", "post=moderator")
        try circle.settle()
        try circle.group("alice", "role", "team", "bob", "moderator")
        try circle.settle()
        let changes = try circle.must("bob", "group", ["log", "team"]).records.map {
            try GroupChange($0)
        }
        let group = changes[0].group
        let known = Set(changes.flatMap(\.parents))
        let (alice, bob) = (circle["alice"].identity, circle["bob"].identity)
        let laptop = Identity(seed: SecretBytes(randomCount: 32), name: "bob", owner: bob.id)
        let list = try DeviceList(
            [
                DeviceList.Device(
                    card: laptop.card(), name: "laptop", added: .now(), state: state)
            ], after: 0, by: bob)
        let entry = try GroupChange(
            .devices(list), in: group, by: bob.signingKey,
            seq: Int64(changes.count { $0.by == bob.id }) + 1,
            parents: changes.map(\.id).filter { !known.contains($0) })
        // The laptop brings the list and its own chain.
        var chain = GroupChain(group: group, device: laptop.device)
        var body = GroupBody(group)
        body.changes = [try JSON.object(parsing: entry.bytes)]
        body.chain = chain.distribution.object()
        let card = try #require(bob.card(issued: .now(), devices: list).record)
        let told = try Sealed.seal(
            body: body.record, extra: [(name: "card", value: .object(card))], from: laptop,
            to: alice.card(), time: .now())
        let taken = try circle.read(
            "alice", [String(decoding: told.record.serialized(), as: UTF8.self)])
        #expect(taken.status == 0, "\(taken)")
        let content = GroupContent(
            group: group, time: .now(), heads: [entry.id],
            state: try #require(bytes(hex: circle.state("alice"))),
            body: Message.textBody("hello"))
        let address = GroupCopy.Address(id: Envelope.newID(), to: alice.id, time: content.time)
        let copy = chain.copy(try chain.seal(content.bytes), for: address)
        let envelope = Envelope(
            id: address.id, suite: .group, to: address.to, time: address.time,
            payload: copy.payload)
        let run = try circle.read(
            "alice", [String(decoding: envelope.record.serialized(), as: UTF8.self)])
        guard state == .full else {
            #expect(run.status == 12, "\(run)")
            #expect(try circle.history("alice") == [])
            return
        }
        #expect(run.status == 0, "\(run)")
        let record = try #require(try run.records.first)
        #expect(record["from"]?.string == bob.id.description)
        #expect(record["device"]?.string == laptop.device.description)
        #expect(record["role"]?.string == "moderator")
        let stored = try circle["alice"].history("team").last
        #expect(stored?["device"]?.string == laptop.device.description)
    }
}
