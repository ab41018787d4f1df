import Sotto
import SottoState
import SottoWire
import TestSupport
import Testing

/// `recv` claims the bundles of the members of a group in a batch, with the built programs.
@Suite struct ClaimBatchToolTests {
    static let members = 30
    private let home = Home()
    private let scratch = TemporaryDirectory()

    private func store(of party: Party) throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: home.files(party.stateDirectory)),
            identity: party.identity, lockTimeout: 20)
    }

    /// Makes a group with members whose cards name a relay, as `group` and `decrypt` make it.
    private func team(of alice: Party, _ people: [Identity], at relay: String) throws {
        try store(of: alice).transaction { state in
            var group = try state.createGroup(GroupPolicy(relays: [relay]), [.name("team")])
            group = try state.write(.invite(people.map(\.id), .member), in: group)
            for person in people {
                let card = try #require(person.card(relay: relay).record)
                let joined = try #require(try state.group(group.id))
                let entry = GroupChange.Entry(card: sha256(JSON.object(card).canonical()))
                let change = try GroupChange(
                    .join(entry), in: group.id, by: person.signingKey, seq: 1,
                    parents: joined.log.heads)
                var body = GroupBody(group.id)
                body.changes = [try JSON.object(parsing: change.bytes)]
                body.cards = [card]
                _ = try state.take(body, from: person.id)
            }
        }
    }

    @Test func bundlesOfAllMembersAreClaimed() throws {
        let relay = try #require(RelayProcess(scratch))
        defer { relay.end() }
        let alice = try Party("alice", in: home)
        let people = (0..<Self.members).map { _ in Sample.identity() }
        let client = RawClient(relay.address)
        // The last one has no prekeys.
        for person in people.dropLast() {
            let publication = Sample.preKeys(of: person, oneTime: 1..<21, isPostQuantum: true)
            #expect(client.publish(publication) == .stored)
        }
        try team(of: alice, people, at: "tcp://\(relay.address)")
        let received = try alice.run("recv", ["--relay", "tcp://\(relay.address)"])
        #expect(received.status == 1, "\(received.stderr)")
        let bundles = try store(of: alice).preview { state in
            try people.map { try state.freshBundle(of: $0.id) }
        }
        #expect(bundles.dropLast().allSatisfy { $0?.oneTimePreKey?.id == 1 })
        #expect(bundles[Self.members - 1] == nil)
        // Each claim took one prekey.
        for person in people.dropLast() {
            #expect(client.claim(person.id)?.oneTimePreKey?.id == 2)
        }
    }
}
