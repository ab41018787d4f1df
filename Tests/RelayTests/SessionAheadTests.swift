import Glibc
import Sotto
import SottoDatabase
import SottoWire
import TestSupport
import Testing

@testable import SottoState

/// Automatic sessions: `recv` claims a bundle of each contact ahead, and `encrypt` uses it.
@Suite struct SessionAheadTests {
    /// Alice and Bob are contacts, and their cards contain the relay.
    func introduced() throws -> Correspondence {
        let world = try Correspondence()
        for who in ["alice", "bob"] {
            try RelayOfIdentityTests.move(world, who, to: "tcp://\(world.relay.address)")
        }
        try world.expect("alice", "contact add --name bob bob.card")
        try world.expect("bob", "contact add --name alice alice.card")
        return world
    }

    func suites(_ lines: [String]) throws -> [String] {
        try lines.map { try RelayOfIdentityTests.record($0)["suite"]?.string ?? "" }
    }

    @Test func theNextMessageAfterRecvBeginsASession() throws {
        let world = try introduced()
        defer { world.stop() }
        try world.expect("bob", "keygen prekeys | send")
        // Before the first bundle the suite is sealed; encrypt notes it once.
        for n in 1...2 { try world.expect("alice", "echo \(n) | encrypt --to bob > e\(n)") }
        #expect(
            try suites(world.scratch.lines("e1") + world.scratch.lines("e2")) == [
                "sealed", "sealed",
            ])
        #expect(world.errors.occurrences(of: "the suite sealed") == 1, "\(world.errors)")
        #expect(world.shell("alice", "recv").status == 1)
        for n in 3...4 { try world.expect("alice", "echo \(n) | encrypt --to bob > e\(n)") }
        #expect(
            try suites(world.scratch.lines("e3") + world.scratch.lines("e4")) == [
                "ratchet", "ratchet",
            ])
        #expect(world.errors.occurrences(of: "began a session with bob: PQXDH") == 1)
        #expect(!world.errors.contains("the suite ratchet"))
        try world.expect("alice", "cat e1 e2 e3 e4 | send")
        let got = try world.expect("bob", "recv | decrypt")
        #expect(Set(Correspondence.texts(got)) == ["1", "2", "3", "4"])
        // The answer is in the session, and Bob sees a note.
        let answer = try world.expect("bob", "echo 5 | encrypt --to alice")
        #expect(try suites(answer) == ["ratchet"])
        #expect(world.errors.occurrences(of: "the suite ratchet") == 1)
        // With a session, no further bundle is claimed.
        let left = try world.published().oneTime
        #expect(world.shell("alice", "recv").status == 1)
        #expect(try world.published().oneTime == left)
    }

    @Test func aFollowingRecvClaimsBundles() throws {
        let world = try introduced()
        defer { world.stop() }
        try world.expect("bob", "keygen prekeys | send")
        let before = try world.published().oneTime
        let follower = world.command("alice", "recv", ["--follow"], output: "got")
        let deadline = Monotonic.seconds() + 90
        while try world.published().oneTime == before, Monotonic.seconds() < deadline {
            usleep(100_000)
        }
        #expect(try world.published().oneTime == before - 1)
        follower.kill(SIGTERM)
        follower.wait()
    }

    @Test func bundlesAreClaimedOnceADayAndNotForUnwantedContacts() throws {
        let world = try introduced()
        defer { world.stop() }
        // Bob has published nothing: today's attempt has been made, and there is no other.
        #expect(world.shell("alice", "recv").status == 1)
        try world.expect("bob", "keygen prekeys | send")
        let before = try world.published().oneTime
        #expect(world.shell("alice", "recv").status == 1)
        #expect(try world.published().oneTime == before)
        #expect(
            world.shell("bob", "contact block alice; keygen prekeys -i alice.key | send").status
                == 0)
        #expect(world.shell("bob", "recv").status == 1)
        try world.expect("bob", "contact unblock alice")
        #expect(world.shell("bob", "recv --no-bundles").status == 1)
        #expect(try suites(world.expect("bob", "echo x | encrypt --to alice")) == ["sealed"])
        #expect(world.shell("bob", "recv").status == 1)
        #expect(try suites(world.expect("bob", "echo x | encrypt --to alice")) == ["ratchet"])
    }

    @Test func anAbsentRelayOfAContactDelaysNoMail() throws {
        let world = try introduced()
        defer { world.stop() }
        try RelayOfIdentityTests.move(world, "carol", to: "tcp://127.0.0.1:1")
        try world.expect("bob", "contact add --name carol carol.card")
        try world.expect("alice", "echo here | encrypt --to bob | send")
        let got = try world.expect("bob", "recv | decrypt")
        #expect(Correspondence.texts(got) == ["here"])
    }

    // MARK: The state

    func bundle(of owner: Identity, isPostQuantum: Bool = true) throws -> PreKeyBundle {
        try Sample.preKeys(of: owner, oneTime: 1..<2, isPostQuantum: isPostQuantum)
            .bundle(oneTime: nil)
    }

    @Test func aBundleIsFreshForAWeek() throws {
        let scratch = TemporaryDirectory()
        let (alice, bob) = (Sample.identity(), Sample.identity())
        let store = try IdentityStore(
            directory: StateDirectory(path: scratch.path), identity: alice, lockTimeout: 5)
        let day: Int64 = 86_400
        let start = Timestamp.now()
        func after(_ seconds: Int64) -> Timestamp { Timestamp(seconds: start.seconds + seconds) }
        try store.transaction { state in
            var contact = Contact(
                name: "bob", id: bob.id, card: bob.card(relay: "tcp://relay.example.org:7667"))
            try state.save(contact)
            let wish = StateTransaction.BundleWish(
                owner: bob.id, relay: "tcp://relay.example.org:7667")
            #expect(try state.bundleWishes(at: start) == [wish])
            _ = try state.beginClaim(for: bob.id, at: start)
            #expect(try state.bundleWishes(at: after(day - 1)).isEmpty)
            #expect(try state.bundleWishes(at: after(day)) == [wish])
            // The clock was ahead at the attempt.
            #expect(try state.bundleWishes(at: after(-1)) == [wish])
            let bundle = try bundle(of: bob)
            try state.keep(bundle, at: start)
            #expect(try state.freshBundle(of: bob.id, at: after(7 * day)) == bundle)
            #expect(try state.freshBundle(of: bob.id, at: after(7 * day + 1)) == nil)
            #expect(try state.freshBundle(of: bob.id, at: after(-1)) == nil)
            #expect(try state.bundleWishes(at: after(7 * day)).isEmpty)
            #expect(try state.bundleWishes(at: after(7 * day + 1)) == [wish])
            // A new claim deletes the old bundle.
            _ = try state.beginClaim(for: bob.id, at: after(8 * day))
            #expect(try state.bundle(of: bob.id) == nil)
            // No bundle is wanted for another suite, for a key in doubt, or for a card without a signed relay.
            let far = after(30 * day)
            contact.suite = .sealed
            try state.save(contact)
            #expect(try state.bundleWishes(at: far).isEmpty)
            contact.suite = nil
            contact.changed = Sample.identity().card()
            try state.save(contact)
            #expect(try state.bundleWishes(at: far).isEmpty)
            contact.changed = nil
            contact.card = Card(uri: bob.card(relay: "tcp://relay.example.org:7667").uri)
            try state.save(contact)
            #expect(try state.bundleWishes(at: far).isEmpty)
        }
    }

    @Test func aBundleWithoutAPostQuantumKeyStartsNoSession() throws {
        let world = try introduced()
        defer { world.stop() }
        let store = try IdentityStore(
            directory: StateDirectory(path: world.scratch("state-alice")),
            identity: world.alice, lockTimeout: 20)
        try store.transaction { try $0.keep(bundle(of: world.bob, isPostQuantum: false)) }
        #expect(try suites(world.expect("alice", "echo x | encrypt --to bob")) == ["sealed"])
        let owner = try IdentityStore(
            directory: StateDirectory(path: world.scratch("state-bob")),
            identity: world.bob, lockTimeout: 20)
        let publication = try owner.transaction { try $0.publication(oneTime: 1) }
        let whole = try publication.bundle(oneTime: publication.oneTimePreKeys.first)
        try store.transaction { try $0.keep(whole) }
        #expect(try suites(world.expect("alice", "echo x | encrypt --to bob")) == ["ratchet"])
    }
}

extension String {
    /// The number of times that `part` occurs.
    fileprivate func occurrences(of part: String) -> Int { ranges(of: part).count }
}
