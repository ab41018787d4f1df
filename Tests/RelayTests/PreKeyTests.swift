import Glibc
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

@Suite struct PreKeyTests {
    let bob = Sample.identity()

    /// Returns the state of an owner's prekeys at the relay.
    func status(_ running: RunningRelay, _ owner: Identity) -> PreKeyStatus? {
        guard case .session(let status, _, _) = running.client().login(owner) else {
            Issue.record("no session")
            return nil
        }
        return status
    }

    @Test func prekeysAreClaimedInOrder() throws {
        let running = try RunningRelay()
        #expect(status(running, bob) == nil)
        let publication = Sample.preKeys(
            of: bob, signed: 7, oneTime: 1..<4, isPostQuantum: true)
        // The owner has no mailbox, and needs no login.
        #expect(running.client().publish(publication) == .stored)
        #expect(
            status(running, bob) == PreKeyStatus(oneTime: 3, signedID: 7, oneTimeMark: 3))
        let client = running.client()
        for key in publication.oneTimePreKeys {
            #expect(client.claim(bob.id) == (try publication.bundle(oneTime: key)))
        }
        #expect(
            status(running, bob) == PreKeyStatus(oneTime: 0, signedID: 7, oneTimeMark: 3))
        // The one-time prekeys have run out, and the bundle shows it.
        #expect(client.claim(bob.id) == (try publication.bundle(oneTime: nil)))
        guard case .bundle(let line) = client.ask(.claim(owner: bob.id, id: Envelope.newID()))
        else {
            Issue.record("no bundle")
            return
        }
        #expect(try JSON.object(parsing: line)["oneTimePreKey"] == .null)
    }

    /// The first numbers come from the clock: those of two states within seconds overlap.
    @Test func aLostStateIsReplacedCompletely() throws {
        let running = try RunningRelay()
        let lost = Sample.preKeys(of: bob, signed: 100, oneTime: 100..<150)
        let fresh = Sample.preKeys(of: bob, signed: 102, oneTime: 102..<140)
        for publication in [lost, fresh, lost, fresh] {
            #expect(running.client().publish(publication) == .stored)
        }
        #expect(
            status(running, bob) == PreKeyStatus(oneTime: 38, signedID: 102, oneTimeMark: 149))
        let client = running.client()
        for key in fresh.oneTimePreKeys {
            #expect(client.claim(bob.id) == (try fresh.bundle(oneTime: key)))
        }
        // Republished, neither comes back.
        for publication in [fresh, lost] {
            #expect(running.client().publish(publication) == .stored)
        }
        #expect(client.claim(bob.id) == (try fresh.bundle(oneTime: nil)))
    }

    @Test func aRetryGetsTheSameBundle() throws {
        let running = try RunningRelay()
        let publication = Sample.preKeys(of: bob, oneTime: 1..<3)
        #expect(running.client().publish(publication) == .stored)
        let id = Envelope.newID()
        let first = running.client().claim(bob.id, id)
        #expect(first?.oneTimePreKey == publication.oneTimePreKeys[0])
        // Another connection gets the same, although the owner has newer prekeys by now.
        let newer = Sample.preKeys(of: bob, signed: 2, oneTime: 3..<5)
        #expect(running.client().publish(newer) == .stored)
        #expect(running.client().claim(bob.id, id) == first)
        #expect(
            running.client().claim(bob.id)
                == (try newer.bundle(oneTime: publication.oneTimePreKeys[1])))
        // The id is taken for every other owner.
        let carol = Sample.identity()
        let conflict = Response.error(Refusal(.conflict))
        #expect(running.client().ask(.claim(owner: carol.id, id: id)) == conflict)
        #expect(
            running.client().publish(Sample.preKeys(of: carol, oneTime: 1..<2)) == .stored)
        #expect(running.client().ask(.claim(owner: carol.id, id: id)) == conflict)
    }

    @Test func numbersOnlyIncrease() throws {
        let running = try RunningRelay()
        let client = running.client()
        let first = Sample.preKeys(of: bob, signed: 1, oneTime: 1..<3)
        let second = Sample.preKeys(of: bob, signed: 2, oneTime: 3..<5)
        for publication in [second, first, second] {
            #expect(client.publish(publication) == .stored)
        }
        let expected = PreKeyStatus(oneTime: 2, signedID: 2, oneTimeMark: 4)
        #expect(status(running, bob) == expected)
        for key in second.oneTimePreKeys {
            #expect(client.claim(bob.id) == (try second.bundle(oneTime: key)))
        }
        // Claimed prekeys do not come back.
        #expect(client.publish(second) == .stored)
        #expect(client.claim(bob.id)?.oneTimePreKey == nil)
        // The numbers of signed and one-time prekeys are independent.
        let mixed = Sample.preKeys(of: bob, signed: 1, oneTime: 5..<6)
        #expect(client.publish(mixed) == .stored)
        #expect(client.claim(bob.id) == (try second.bundle(oneTime: mixed.oneTimePreKeys[0])))
        let signed = Sample.preKeys(of: bob, signed: 3, oneTime: 6..<6)
        #expect(client.publish(signed) == .stored)
        #expect(client.claim(bob.id) == (try signed.bundle(oneTime: nil)))
    }

    @Test func forgedPublicationsAreRefused() throws {
        let running = try RunningRelay()
        let client = running.client()
        var record = Sample.preKeys(of: bob, oneTime: 1..<3).record
        record["oneTimePreKeys"] = .array([])
        client.send(Request.publishLine(record.serialized(), requestID: "1"))
        #expect(client.response() == .error(Refusal(.badSignature)))
        // Another owner's prekeys, presented as Bob's.
        record = Sample.preKeys(of: Sample.identity(), oneTime: 1..<3).record
        record["id"] = .string(bob.id.description)
        client.send(Request.publishLine(record.serialized(), requestID: "2"))
        #expect(client.response() == .error(Refusal(.badSignature)))
        #expect(status(running, bob) == nil)
    }

    @Test func unknownOwnersAndThoseWithoutPrekeysLookTheSame() throws {
        let running = try RunningRelay()
        let client = running.client()
        #expect(client.ask(.send(Sample.envelope(to: bob.id))) == .stored)
        for owner in [bob.id, Sample.identity().id] {
            #expect(
                client.ask(.claim(owner: owner, id: Envelope.newID()))
                    == .error(Refusal(.noBundle)))
        }
    }

    @Test func prekeysOverTheLimitArePublishedLater() throws {
        let running = try RunningRelay()
        let client = running.client()
        let last = Sample.preKeys(of: bob, oneTime: 151..<251)
        #expect(client.publish(Sample.preKeys(of: bob, oneTime: 1..<101)) == .stored)
        #expect(client.publish(Sample.preKeys(of: bob, oneTime: 101..<151)) == .stored)
        #expect(client.publish(last) == .stored)
        #expect(
            status(running, bob) == PreKeyStatus(oneTime: 200, signedID: 1, oneTimeMark: 200))
        for _ in 0..<50 { _ = client.claim(bob.id) }
        #expect(client.publish(last) == .stored)
        #expect(
            status(running, bob) == PreKeyStatus(oneTime: 200, signedID: 1, oneTimeMark: 250))
    }

    @Test func claimsOnAConnectionAreLimited() throws {
        let running = try RunningRelay()
        let client = running.client()
        for _ in 0..<WireLimits.claimsInAMinute {
            #expect(
                client.ask(.claim(owner: bob.id, id: Envelope.newID()))
                    == .error(Refusal(.noBundle)))
        }
        #expect(
            client.ask(.claim(owner: bob.id, id: Envelope.newID())) == .error(Refusal(.busy)))
        #expect(client.ask(.ping) == .pong)
        var limit = RateLimit(count: 2, seconds: 60)
        #expect(
            [0, 1, 2, 59.9, 60, 61, 62].map { limit.admits(at: $0) }
                == [true, true, false, false, true, true, false])
    }
}

/// The expiry of prekeys and claims.
@Suite struct PreKeyAgeTests {
    let scratch = TemporaryDirectory()
    let bob = Sample.identity()

    private func publish(_ store: SQLiteStore, _ publication: PreKeyPublication, at minute: Int64)
        throws
    {
        let head = Array("{\"signed\":\(publication.signedPreKey.id),\"oneTimePreKey\":".utf8)
        #expect(
            try store.commit([.publish(publication, head: head)], at: minute) == [.published])
    }

    /// Returns the numbers of the signed and the one-time prekey of a claim.
    private func claim(_ store: SQLiteStore, _ id: String, at minute: Int64) throws -> [Int64?] {
        let outcome = try store.commit([.claim(owner: bob.id, id: id)], at: minute)[0]
        guard case .bundle(let line) = outcome else { return [] }
        let record = try JSON.object(parsing: line)
        return [record["signed"]?.integer, record["oneTimePreKey"]?.object?["id"]?.integer]
    }

    @Test func claimsAreForgottenAfterSevenDays() throws {
        let store = try SQLiteStore(path: scratch("relay.db"), retention: Retention())
        let week = Retention.claimMinutes
        try publish(store, Sample.preKeys(of: bob, signed: 1, oneTime: 1..<4), at: 0)
        let (early, late) = (Envelope.newID(), Envelope.newID())
        #expect(try claim(store, early, at: 1) == [1, 1])
        #expect(try claim(store, late, at: 5) == [1, 2])
        try publish(store, Sample.preKeys(of: bob, signed: 2, oneTime: 4..<5), at: 6)
        #expect(try store.sweep(at: week) == false)
        #expect(try claim(store, early, at: week) == [1, 1])
        #expect(try store.sweep(at: week + 1) == false)
        #expect(try claim(store, late, at: week + 1) == [1, 2])
        // After its expiry it is a new claim of the current prekeys.
        #expect(try claim(store, early, at: week + 1) == [2, 3])
        #expect(try store.sweep(at: week + 6) == false)
        #expect(try claim(store, late, at: week + 6) == [2, 4])
        try store.close()
        let database = try DurableDatabase(
            path: scratch("relay.db"), migrations: SQLiteStore.migrations, lockTimeout: 1)
        let left = try database.use { connection throws(StateError) in
            try connection.integer("SELECT count(*) FROM prekey_signed")
        }
        #expect(left == 1)
    }
}
