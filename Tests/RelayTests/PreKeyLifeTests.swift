import Glibc
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import TestSupport
import Testing

/// The life of prekeys: published, claimed, replenished, renewed, lost.
struct PreKeyLifeTests {
    let world: Correspondence
    init() throws { world = try Correspondence() }

    /// Alice starts a session with a bundle that she claims, and Bob reads the message.
    private func greet(_ text: String) throws {
        try world.expect("alice", "recv --bundle bob.card > claimed")
        try world.expect(
            "alice",
            "echo \(text) | encrypt --to bob.card --suite ratchet --new-session | send > sent")
        let read = try world.expect("bob", "recv | decrypt --text")
        #expect(read == [text], "\(world.errors)")
    }

    @Test func aClaimedBundleBeginsASession() throws {
        defer { world.stop() }
        try world.expect("bob", "keygen prekeys | send > sent")
        #expect(try world.published().oneTime == 50)
        try greet("hello")
        #expect(try world.published().oneTime == 49)
        #expect(world.errors.contains("PQXDH, with a one-time prekey"))
        try world.expect("bob", "echo hi | encrypt --to alice.card | send > sent")
        #expect(try world.expect("alice", "recv | decrypt --text") == ["hi"])
        // A used bundle starts no second session.
        let again = world.shell("alice", "echo x | encrypt --to bob.card --new-session")
        #expect(again.status == 10 && again.lines.isEmpty)
    }

    @Test func anOwnerWithoutPrekeysHasNoBundle() throws {
        defer { world.stop() }
        let claim = world.shell("alice", "recv --bundle bob.card")
        #expect(claim.status == 1 && claim.lines.isEmpty)
    }

    /// A claim that is interrupted any number of times costs one one-time prekey, and gets the same one.
    @Test func aKilledClaimGetsTheSameKeyAgain() throws {
        defer { world.stop() }
        var generator = SeededGenerator(state: 7)
        for _ in 0..<4 { try world.expect("bob", "keygen prekeys | send > sent") }
        let before = try world.published().oneTime
        #expect(before == 200)
        var claims: Set<String> = []
        func kept() throws -> (claim: String, isAnswered: Bool)? {
            guard access(world.scratch("state-alice/\(world.alice.id).db"), F_OK) == 0 else {
                return nil
            }
            // The first ones are killed before the tables exist.
            return try? world.state("alice") { connection throws(StateError) in
                try connection.first("SELECT claim, sealed FROM bundle") {
                    ($0.text(0), !$0.isNull(1))
                }
            }
        }
        try world.expect("alice", "keygen prekeys --bundle > own")
        // The lifetime adapts to the machine, so that most are killed, early and late.
        var lifetime = 20_000.0
        var (resumed, tries) = (0, 0)
        while resumed < 5, tries < 180 {
            tries += 1
            let pending = try kept()
            let command = world.command(
                "alice", "recv", ["--bundle", world.scratch("bob.card")], output: "cut")
            usleep(UInt32(Double.random(in: 0..<lifetime, using: &generator)))
            command.kill(SIGKILL)
            lifetime *= command.wait() == -SIGKILL ? 1.05 : 0.9
            guard let now = try kept() else { continue }
            if let pending, !pending.isAnswered {
                #expect(now.claim == pending.claim)
                if now.isAnswered { resumed += 1 }
            }
            claims.insert(now.claim)
        }
        let printed = try world.expect("alice", "recv --bundle bob.card")
        let last = try #require(try kept())
        #expect(last.isAnswered)
        claims.insert(last.claim)
        // Some claims may not have reached the relay; now all have.
        let client = RawClient(world.relay.address)
        let bundles = try claims.map { try #require(client.claim(world.bob.id, $0)) }
        #expect(Set(bundles.map { $0.oneTimePreKey?.id }).count == claims.count)
        #expect(try world.published().oneTime == before - claims.count)
        let final = try PreKeyBundle(
            record: JSON.object(parsing: Array(try #require(printed.last).utf8)))
        #expect(try #require(client.claim(world.bob.id, last.claim)) == final)
        #expect(resumed >= 5)
    }

    @Test func recvReplenishesBelowTwenty() throws {
        defer { world.stop() }
        // An owner who has never published is not made to.
        #expect(world.shell("bob", "recv").status == 1)
        #expect(RawClient(world.relay.address).claim(world.bob.id) == nil)
        try world.expect("bob", "keygen prekeys | send > sent")
        let client = RawClient(world.relay.address)
        for _ in 0..<30 { #expect(client.claim(world.bob.id) != nil) }
        #expect(world.shell("bob", "recv").status == 1)
        #expect(try world.published().oneTime == 20)
        #expect(client.claim(world.bob.id) != nil)
        #expect(world.shell("bob", "recv --stateless").status == 1)
        #expect(try world.published().oneTime == 19)
        #expect(world.shell("bob", "recv").status == 1)
        #expect(try world.published().oneTime == 69)
        try greet("with a fresh one")
    }

    /// Returns the numbers of Bob's secret prekeys of a kind.
    private func secrets(_ kind: SecretPreKey.Kind) throws -> [Int64] {
        try world.state("bob") { connection throws(StateError) in
            try connection.rows(
                "SELECT id FROM prekey WHERE kind = ? ORDER BY id", kind.rawValue
            ) { row throws(StateError) in row.integer(0) }
        }
    }

    private func age(days: Int, _ column: String) throws {
        try world.state("bob") { connection throws(StateError) in
            try connection.run(
                "UPDATE prekey SET \(column) = \(column) - \(days * 86_400) WHERE kind IN (0, 1)")
        }
    }

    @Test func signedPreKeysAreRenewedAfterSevenDaysAndStillWork() throws {
        defer { world.stop() }
        try world.expect("bob", "keygen prekeys | send > sent")
        try world.expect("bob", "keygen prekeys --bundle > early")
        try world.expect("bob", "keygen prekeys --bundle > earlier")
        let first = try world.published().signedID
        try age(days: 6, "made")
        #expect(world.shell("bob", "recv").status == 1)
        #expect(try world.published().signedID == first)
        try age(days: 2, "made")
        #expect(world.shell("bob", "recv").status == 1)
        let second = try world.published().signedID
        #expect(second > first)
        for kind in [SecretPreKey.Kind.signed, .postQuantum] {
            #expect(try secrets(kind).map { UInt32($0) } == [first, second])
        }
        let bundle = try #require(RawClient(world.relay.address).claim(world.bob.id))
        #expect(bundle.signedPreKey.id == second && bundle.pqSignedPreKey?.id == second)
        let made = try #require(bundle.signedPreKey.date?.time.seconds)
        #expect(Timestamp.now().seconds - made < 600)
        // A contact with the old bundle can still use it, even after the next renewal.
        try world.expect(
            "alice", "echo late | encrypt --to bob.card --bundle early | send > sent")
        #expect(try world.expect("bob", "recv | decrypt --text") == ["late"])
        try age(days: 8, "made")
        #expect(world.shell("bob", "recv").status == 1)
        let third = try world.published().signedID
        #expect(try secrets(.signed).map { UInt32($0) } == [first, second, third])
        try world.expect(
            "alice",
            "echo later | encrypt --to bob.card --new-session --bundle earlier | send > sent")
        #expect(try world.expect("bob", "recv | decrypt --text") == ["later"])
    }

    /// A clock that was ten years ahead dated them.
    @Test func signedPreKeysFromTheFutureAreRenewedAtOnce() throws {
        defer { world.stop() }
        try world.expect("bob", "keygen prekeys | send > sent")
        let first = try world.published().signedID
        try age(days: -3_650, "made")
        try world.expect("bob", "keygen prekeys --bundle > future")
        #expect(world.shell("bob", "recv").status == 1)
        #expect(try world.published().signedID > first)
        let bundle = try #require(RawClient(world.relay.address).claim(world.bob.id))
        let made = try #require(bundle.signedPreKey.date?.time.seconds)
        #expect(abs(Timestamp.now().seconds - made) < 600)
    }

    /// The second relay claims repeatedly to have seen higher numbers, and few one-time prekeys.
    @Test func aSecondRelayDestroysNoFirstMessage() throws {
        let place = TemporaryDirectory()
        let liar = try #require(RelayProcess(place))
        defer {
            world.stop()
            liar.end()
        }
        try world.expect("bob", "keygen prekeys | send > sent")
        let signed = try world.published().signedID
        try world.expect("alice", "recv --bundle bob.card > claimed")
        try world.expect(
            "alice", "echo hello | encrypt --to bob.card --suite ratchet | send > sent")
        for round in 1...3 {
            let lie = Sample.preKeys(
                of: world.bob, signed: signed + UInt32(round) * 1_000, oneTime: 0..<1)
            #expect(RawClient(liar.address).publish(lie) == .stored)
            #expect(
                world.shell("bob", "SOTTO_RELAY=tcp://\(liar.address) recv").status == 1,
                "\(world.errors)")
        }
        #expect(try world.expect("bob", "recv | decrypt --text") == ["hello"])
        #expect(try world.published().signedID == signed)
        #expect(try secrets(.signed).count == 1)
    }

    /// The relay hands out no one-time prekey whose secret is lost.
    @Test(arguments: [5, 30 * 86_400] as [Int64])
    func anOwnerWhoLostTheStatePublishesAnew(_ seconds: Int64) throws {
        defer { world.stop() }
        let lost = try IdentityStore(
            directory: StateDirectory(path: world.scratch("state-bob")),
            identity: world.bob, lockTimeout: 10)
        let earlier = Timestamp(seconds: Timestamp.now().seconds - seconds)
        let old = try lost.transaction { try $0.publication(at: earlier) }
        let client = RawClient(world.relay.address)
        #expect(client.publish(old) == .stored)
        #expect(client.claim(world.bob.id)?.oneTimePreKey == old.oneTimePreKeys[0])
        try world.expect("bob", "rm -r state-bob")
        try world.expect("bob", "keygen prekeys | send > sent")
        #expect(try world.published().oneTime == 50)
        let ids = Set(old.oneTimePreKeys.map(\.key))
        for _ in 0..<3 {
            let key = try #require(client.claim(world.bob.id)?.oneTimePreKey?.key)
            #expect(!ids.contains(key))
        }
        try greet("after the loss")
    }

    /// A backup is older than the relay's prekeys, and their later secrets are lost: the relay's prekeys are useless.
    @Test func anOwnerWithAnOldStatePublishesAnew() throws {
        defer { world.stop() }
        try world.expect("bob", "keygen prekeys | send > sent")
        try world.expect("bob", "cp -r state-bob backup")
        try world.expect("bob", "keygen prekeys | send > sent")
        let client = RawClient(world.relay.address)
        for _ in 0..<50 { #expect(client.claim(world.bob.id) != nil) }
        #expect(try world.published().oneTime == 50)
        try world.expect("bob", "rm -r state-bob && mv backup state-bob")
        #expect(world.shell("bob", "recv").status == 1)
        #expect(try world.published().oneTime == 50)
        try greet("after the backup")
        // One recv is enough: the next one publishes nothing.
        #expect(world.shell("bob", "recv").status == 1)
        #expect(try world.published().oneTime == 49)
    }
}
