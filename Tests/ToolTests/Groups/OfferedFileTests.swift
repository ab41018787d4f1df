import Sotto
@testable import SottoState
import TestSupport
import Testing

/// Files with changes that members offer.
@Suite(.timeLimit(.minutes(60))) struct OfferedFileTests {
    private let alice: Party
    private let bob = Sample.identity()
    private let mallory = Sample.identity()

    init() throws { alice = try Party("alice", in: Home()) }

    /// Returns a body with a file at a random place.
    private func offer(_ file: GroupFile, of group: GroupID, at relay: String) -> GroupBody {
        var body = GroupBody(group)
        body.file = file
        body.file?.pointer.place = BlobPointer.Place(relay: relay, id: randomBytes(32))
        return body
    }

    /// The place, the group and the member belong to an offer: a false place hides no true one.
    @Test func aFalsePlaceHidesNothing() throws {
        var log = try SignedLog(by: alice.identity)
        try log.add(bob, mallory, by: alice.identity)
        var second = try SignedLog(by: alice.identity)
        try second.add(bob, by: alice.identity)
        try alice.store().transaction { transaction in
            for each in [log, second] {
                var backup = GroupBackup(id: each.group)
                backup.changes = each.log.changes
                _ = try transaction.restore(backup)
                let group = try #require(try transaction.group(each.group))
                _ = try transaction.confirm(group)
            }
            let file = try transaction.compose(fileOf: log.log.changes, cards: [])
            let relay = "tcp://relay.example.org:7667"
            func places() throws -> Int { try transaction.wantedFiles().count }
            let false1 = offer(file, of: log.group, at: relay)
            _ = try transaction.take(false1, from: mallory.id)
            #expect(try places() == 1)
            // The false one was tried.
            let wanted = try transaction.wantedFiles()
            try transaction.giveUp(wanted[0].file)
            #expect(try places() == 0)
            _ = try transaction.take(false1, from: mallory.id)
            #expect(try places() == 0)
            let known = offer(file, of: log.group, at: relay)
            _ = try transaction.take(known, from: bob.id)
            _ = try transaction.take(known, from: bob.id)
            #expect(try places() == 1)
            _ = try transaction.take(offer(file, of: log.group, at: relay), from: bob.id)
            #expect(try places() == 2)
            var elsewhere = GroupBody(second.group)
            elsewhere.file = known.file
            _ = try transaction.take(elsewhere, from: bob.id)
            #expect(try places() == 3)
        }
    }

    /// Machine one lost its state. Its other device brings the first change of a group and the rest in a file: nothing is signed before
    /// the rest is here, so that no number is used twice.
    @Test func theBeginningOfALogFromAnotherOwnDeviceIsDoubtful() throws {
        let laptop = Identity(
            seed: SecretBytes(copying: sha256(Array("laptop".utf8))), name: "alice",
            owner: alice.identity.id)
        let list = try DeviceList(
            [
                DeviceList.Device(
                    card: laptop.card(), name: "laptop", added: .now(), state: .full)
            ], after: 0, by: alice.identity)
        var log = try SignedLog(by: alice.identity)
        let first = try log.records
        try log.add(bob, mallory, by: alice.identity)
        try alice.store().transaction { transaction in
            try transaction.keep(list)
            let file = try transaction.compose(fileOf: log.log.changes, cards: [])
            var body = offer(file, of: log.group, at: "tcp://relay.example.org:7667")
            body.changes = first
            _ = try transaction.take(body, from: laptop.device)
            let group = try #require(try transaction.group(log.group))
            #expect(group.isDoubtful && group.members.count == 1)
            #expect(try transaction.wantedFiles().count == 1)
            #expect(throws: GroupError.doubtful(id: group.id.short)) {
                try transaction.write(.set(.name("crew")), in: group)
            }
            _ = try transaction.news(of: group)
            #expect(try transaction.group(log.group)?.log.changes.count == 1)
            // The rest comes, and the members are asked.
            let offered = try #require(try transaction.wantedFiles().first?.file)
            let whole = (changes: log.log.changes, cards: [Card]())
            _ = try transaction.take(GroupBody(log.group), file: whole, from: offered.from)
            let complete = try #require(try transaction.group(log.group))
            #expect(complete.members.count == 3 && complete.isDoubtful && !complete.isPartial)
        }
    }

    /// Whoever sends the first change of a group can offer a file before the inviter. `group accept` does not wait for it.
    @Test func aForeignFileDelaysNoAcceptance() throws {
        let carol = Sample.identity()
        var log = try SignedLog(by: bob)
        let first = try log.records
        try log.add(carol, by: bob)
        try log.sign(.invite([alice.identity.id], .member), by: bob)
        try alice.store().transaction { transaction in
            let file = try transaction.compose(fileOf: log.log.changes, cards: [])
            var body = offer(file, of: log.group, at: "tcp://nowhere.example.org:7667")
            body.changes = first
            _ = try transaction.take(body, from: mallory.id)
            var invitation = GroupBody(log.group)
            invitation.changes = try log.records
            _ = try transaction.take(invitation, from: bob.id)
            let group = try #require(try transaction.group(log.group))
            #expect(group.standing == .invited)
            #expect(try !transaction.wantFiles(of: group))
        }
        // A file of the inviter is waited for.
        try alice.store().transaction { transaction in
            let group = try #require(try transaction.group(log.group))
            let file = try transaction.compose(fileOf: log.log.changes, cards: [])
            _ = try transaction.take(
                offer(file, of: log.group, at: "tcp://relay.example.org:7667"), from: bob.id)
            #expect(try transaction.wantFiles(of: group))
        }
    }
}
