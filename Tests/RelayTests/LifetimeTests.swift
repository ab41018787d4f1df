import Glibc
import Sotto
import SottoDatabase
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// The time to live of stored envelopes.
@Suite(.timeLimit(.minutes(60))) struct LifetimeTests {
    let place = StoreFixture()
    let bob = Sample.identity().id

    func ids(_ store: any Store, dead: Bool = false, at second: Int64) throws -> [String] {
        try store.messages(
            in: bob, after: 0, limit: 100, dead: dead, at: 1, second: second
        ).messages.map(\.id)
    }

    func sweep(_ store: any Store, at second: Int64) throws -> Bool {
        try store.sweep(at: 1, second: second, latest: 1, strangers: true)
    }

    @Test func aTimeToLiveIsANumberWithinItsLimit() throws {
        for ttl: JSON in [.integer(-1), .integer(31_536_001), .string("1"), .null, .bool(true)] {
            var record = Sample.record(to: bob)
            record["ttl"] = ttl
            #expect(throws: Reason.badFields) { try AddressedEnvelope(record) }
        }
        #expect(Sample.envelope(to: bob, ttl: 31_536_000).ttl == 31_536_000)
        #expect(Sample.envelope(to: bob, ttl: 0).ttl == 0)
        #expect(Sample.envelope(to: bob).ttl == nil)
    }

    @Test(arguments: StoreKind.available) func anEnvelopeEndsWithItsTimeToLive(_ kind: StoreKind)
        throws
    {
        let store = try place.open(kind, Retention(minutes: 10, mailboxMessages: 3))
        let all = [
            Sample.envelope(to: bob, ttl: 60), Sample.envelope(to: bob, ttl: 120),
            Sample.envelope(to: bob),
        ]
        let changes: [Change] = [
            .store(all[0], until: 100), .store(all[1], until: 160), .store(all[2]),
        ]
        #expect(try store.commit(changes, at: 1) == [.stored, .stored, .stored])
        #expect(try ids(store, at: 99) == all.map(\.id))
        #expect(try ids(store, at: 100) == all[1...].map(\.id))
        // The sweep gives back the space of the first; its id stays known.
        #expect(try store.commit([.store(Sample.envelope(to: bob))], at: 1) == [.mailboxFull])
        #expect(try sweep(store, at: 100) == false)
        #expect(try ids(store, at: 0) == all[1...].map(\.id))
        #expect(try store.commit([changes[0]], at: 1) == [.duplicate])
        #expect(try store.commit([.store(Sample.envelope(to: bob))], at: 1) == [.stored])
        // The limit of the relay holds too.
        let late = try store.messages(
            in: bob, after: 0, limit: 9, dead: false, at: 11, second: 100)
        #expect(late.messages.isEmpty)
        try store.close()
    }

    @Test(arguments: StoreKind.available) func noOtherEnvelopeChangesATimeToLive(_ kind: StoreKind)
        throws
    {
        let store = try place.open(kind)
        let (id, other) = (Envelope.newID(), Sample.envelope(to: bob))
        let envelope = Sample.envelope(id, to: bob, ttl: 60)
        #expect(try store.commit([.store(envelope, until: 100), .store(other)], at: 1).count == 2)
        // A repetition does not extend it.
        #expect(
            try store.commit([.store(envelope, until: 500)], at: 1) == [.duplicate])
        #expect(try ids(store, at: 100) == [other.id])
        // An attacker who knows an id cannot let the envelope expire.
        let forged = Sample.envelope(other.id, to: bob, ttl: 1)
        #expect(try store.commit([.store(forged, until: 2)], at: 1) == [.conflict])
        #expect(try ids(store, at: 1_000) == [other.id])
        try store.close()
    }

    @Test(arguments: StoreKind.available) func aDeadLetterEndsToo(_ kind: StoreKind) throws {
        let store = try place.open(kind, Retention(mailboxMessages: 1))
        let envelope = Sample.envelope(to: bob, ttl: 60)
        _ = try store.commit([.store(envelope, until: 100)], at: 1)
        for _ in 0..<WireLimits.failures {
            _ = try store.commit([.acknowledge(bob, ids: [envelope.id], .failed)], at: 1)
        }
        #expect(try ids(store, dead: true, at: 99) == [envelope.id])
        #expect(try ids(store, dead: true, at: 100) == [])
        #expect(try sweep(store, at: 100) == false)
        #expect(try ids(store, dead: true, at: 0) == [])
        try store.close()
    }

    @Test(arguments: StoreKind.available) func aSweepDeletesAFewAtATime(_ kind: StoreKind) throws {
        let store = try place.open(kind)
        let changes: [Change] = (0..<2_500).map { number in
            .store(Sample.envelope(to: bob, ttl: 60), until: number < 2_400 ? 100 : 300)
        }
        for start in stride(from: 0, to: 2_500, by: 500) {
            _ = try store.commit(Array(changes[start..<start + 500]), at: 1)
        }
        var sweeps = 1
        while try sweep(store, at: 200) { sweeps += 1 }
        #expect(sweeps >= 3)
        #expect(try ids(store, at: 0).count == 100)
        try store.close()
    }

    static let copies: [(StoreKind, StoreKind)] =
        StoreKind.available.contains(.postgres)
        ? [(.sqlite, .postgres), (.postgres, .sqlite)] : []

    @Test(arguments: copies) func aCopyKeepsTheTimeToLive(_ from: StoreKind, _ to: StoreKind) throws
    {
        let target = StoreFixture()
        let envelope = Sample.envelope(to: bob, ttl: 60)
        let plain = Sample.envelope(to: bob)
        let old = try place.open(from)
        _ = try old.commit([.store(envelope, until: 100), .store(plain)], at: 1)
        try old.close()
        _ = try StoreMigration.run(
            from: StoreLocation(place.location(from)), to: StoreLocation(target.location(to)))
        let new = try target.open(to)
        #expect(try ids(new, at: 99) == [envelope.id, plain.id])
        #expect(try ids(new, at: 100) == [plain.id])
        try new.close()
    }
}
