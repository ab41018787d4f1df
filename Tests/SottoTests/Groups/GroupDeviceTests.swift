import TestSupport
import Testing

@testable import Sotto

/// Changes and messages of devices that are not the first ones of their members.
struct GroupDeviceTests {
    private let alice = Sample.identity()
    private let bob = Sample.identity()
    private let laptop: Identity
    private let phone: Identity

    init() {
        laptop = Identity(
            seed: SecretBytes(randomCount: 32), name: "", owner: alice.id)
        phone = Identity(seed: SecretBytes(randomCount: 32), name: "", owner: alice.id)
    }

    private func list(_ devices: [(Identity, DeviceList.State)], after last: Int64 = 0) throws
        -> DeviceList
    {
        try DeviceList(
            devices.map { device, state in
                DeviceList.Device(
                    card: device.card(), name: "laptop", added: .now(), state: state)
            }, after: last, by: alice)
    }

    private func change(
        _ act: GroupChange.Act, by device: Identity, in log: GroupLog, parents: [GroupID]? = nil
    ) throws -> GroupChange {
        try GroupChange(
            act, in: log.group, by: device.signingKey, of: device.id,
            seq: log.nextSeq(of: device.device), parents: parents ?? log.heads)
    }

    /// Returns a log of a group that alice made, with bob as a member.
    private func newLog() throws -> GroupLog {
        let create = try GroupChange(
            .create(nonce: randomBytes(32), GroupPolicy()), in: nil, by: alice.signingKey, seq: 1,
            parents: [])
        var log = try #require(GroupLog(create))
        #expect(log.add(try change(.invite([bob.id], .member), by: alice, in: log)) == .stored)
        let entry = GroupChange.Entry(card: [UInt8](repeating: 1, count: 32))
        #expect(log.add(try change(.join(entry), by: bob, in: log)) == .stored)
        return log
    }

    private func name(_ log: GroupLog) -> String? {
        guard case .name(let name)? = log.fold().values["name"] else { return nil }
        return name
    }

    @Test func aFullDeviceHasThePowerOfItsMember() throws {
        var log = try newLog()
        _ = log.add(try change(.devices(list([(laptop, .full)])), by: alice, in: log))
        let rename = try change(.set(.name("x")), by: laptop, in: log)
        #expect(rename.by == alice.id && rename.device == laptop.device)
        #expect(log.add(rename) == .stored)
        #expect(name(log) == "x")
        #expect(log.add(try change(.role(bob.id, .admin), by: laptop, in: log)) == .stored)
        #expect(log.fold().ranks[bob.id] == .admin)
        #expect(log.member(of: laptop.device) == alice.id)
    }

    @Test func aChangeOfADeviceWithoutAListHasNoEffect() throws {
        var log = try newLog()
        #expect(log.add(try change(.set(.name("x")), by: laptop, in: log)) == .stored)
        #expect(log.add(try change(.role(bob.id, .admin), by: laptop, in: log)) == .stored)
        #expect(name(log) == nil && log.fold().ranks[bob.id] == .member)
        // A list after the changes vouches for none of them.
        _ = log.add(try change(.devices(list([(laptop, .full)])), by: alice, in: log))
        #expect(name(log) == nil && log.fold().ranks[bob.id] == .member)
    }

    @Test func aNewDeviceIsAMember() throws {
        var log = try newLog()
        let first = try list([(laptop, .new)])
        _ = log.add(try change(.devices(first), by: alice, in: log))
        #expect(log.add(try change(.role(bob.id, .admin), by: laptop, in: log)) == .stored)
        #expect(log.add(try change(.remove([bob.id], []), by: laptop, in: log)) == .stored)
        #expect(log.fold().ranks[bob.id] == .member)
        // The next list is not before these changes.
        _ = log.add(
            try change(.devices(list([(laptop, .full)], after: first.seq)), by: alice, in: log))
        #expect(log.fold().ranks[bob.id] == .member)
        #expect(log.add(try change(.remove([bob.id], []), by: laptop, in: log)) == .stored)
        #expect(log.fold().ranks[bob.id] == nil)
    }

    /// A removed device cannot act at an old head.
    @Test func aListThatIsNotAfterAChangeLeavesTheDeviceOut() throws {
        var log = try newLog()
        let first = try list([(laptop, .full), (phone, .full)])
        _ = log.add(try change(.devices(first), by: alice, in: log))
        let heads = log.heads
        _ = log.add(
            try change(.devices(list([(phone, .full)], after: first.seq)), by: alice, in: log))
        #expect(
            log.add(try change(.role(bob.id, .admin), by: laptop, in: log, parents: heads))
                == .stored)
        #expect(log.fold().ranks[bob.id] == .member)
        #expect(
            log.add(try change(.role(bob.id, .admin), by: phone, in: log, parents: heads))
                == .stored)
        #expect(log.fold().ranks[bob.id] == .admin)
    }

    /// A removal does not take back what the device did before it.
    @Test func aListAfterAChangeKeepsIt() throws {
        var log = try newLog()
        let first = try list([(laptop, .full)])
        _ = log.add(try change(.devices(first), by: alice, in: log))
        _ = log.add(try change(.set(.name("x")), by: laptop, in: log))
        _ = log.add(try change(.devices(list([], after: first.seq)), by: alice, in: log))
        #expect(name(log) == "x")
        #expect(log.devices(of: alice.id)?.devices.isEmpty == true)
        #expect(log.member(of: laptop.device) == alice.id)
    }

    @Test func onlyTheIdentityEntersListsAndGivesOwnership() throws {
        let log = try newLog()
        let entry = GroupChange.Entry(card: [UInt8](repeating: 1, count: 32))
        for act in [
            GroupChange.Act.join(entry), .devices(try list([])), .role(bob.id, .owner),
        ] {
            #expect(throws: GroupChangeError.member("device")) {
                try change(act, by: laptop, in: log)
            }
        }
        // The list of another member.
        #expect(throws: GroupChangeError.member("list")) {
            try change(.devices(list([])), by: bob, in: log)
        }
    }

    @Test func aDeviceOfNobodyIsRefused() throws {
        var log = try newLog()
        let stranger = Identity(
            seed: SecretBytes(randomCount: 32), name: "", owner: Sample.identity().id)
        #expect(log.add(try change(.set(.name("x")), by: stranger, in: log)) == .refused)
    }

    @Test func messagesOfADeviceHaveTheRankOfItsMember() throws {
        var log = try newLog()
        let first = try list([(laptop, .full), (phone, .new)])
        let before = log.heads
        _ = log.add(try change(.devices(first), by: alice, in: log))
        func rank(_ device: Identity, _ heads: [GroupID]) -> GroupRank {
            log.rank(
                of: alice.id, device: device.device, at: heads, chain: [], iteration: 0,
                in: log.fold()
            ).rank
        }
        #expect(rank(alice, before) == .owner)
        #expect(rank(laptop, before) == .nobody)
        #expect(rank(laptop, log.heads) == .owner)
        #expect(rank(phone, log.heads) == .member)
        let heads = log.heads
        _ = log.add(
            try change(.devices(list([(phone, .new)], after: first.seq)), by: alice, in: log))
        #expect(rank(laptop, heads) == .nobody && rank(phone, heads) == .member)
    }

    @Test func aChangeByADeviceIsReadAsItWasWritten() throws {
        let log = try newLog()
        let written = try change(.set(.name("x")), by: laptop, in: log)
        let read = try GroupChange(JSON.object(parsing: written.bytes))
        #expect(read.by == alice.id && read.device == laptop.device && read.act == written.act)
        let listed = try change(.devices(list([(laptop, .full)])), by: alice, in: log)
        #expect(try GroupChange(JSON.object(parsing: listed.bytes)).act == listed.act)
        // Another member cannot use the device's key for a change of its own.
        var record = try JSON.object(parsing: written.bytes)
        record["by"] = .string(bob.id.description)
        #expect(throws: GroupChangeError.signature) { try GroupChange(record) }
    }
}
