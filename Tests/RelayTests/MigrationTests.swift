import Glibc
import Sotto
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// A migration copies a store of any kind completely, or not at all.
@Suite struct MigrationTests {
    static let ways = StoreKind.available.filter { $0 != .partitions }
        .flatMap { from in
            StoreKind.available.filter { $0 != .partitions }.map { (from, $0) }
        }

    let people = (0..<5).map { _ in Sample.identity() }

    /// Fills a store with rows of every kind. Returns claims and envelopes to compare.
    func fill(_ store: any Store) throws -> (claims: [Change], envelopes: [AddressedEnvelope]) {
        var claims: [Change] = []
        var envelopes: [AddressedEnvelope] = []
        for round in 0..<20 {
            let some = people.map { Sample.envelope(to: $0.id) }
            envelopes += some
            _ = try store.commit(some.map { .store($0) }, at: Int64(round + 1))
        }
        for person in people {
            let own = envelopes.filter { $0.to == person.id }.map(\.id)
            // The last one too: its number must not be reused, because its id would then delete another envelope.
            _ = try store.commit(
                [.acknowledge(person.id, ids: [own[3], own[19]], .delivered)]
                    + (0..<5).map { _ in .acknowledge(person.id, ids: [own[5]], .failed) }
                    + [.acknowledge(person.id, ids: [own[7]], .failed)], at: 30)
            for number in [UInt32(1), 10] {
                let publication = Sample.preKeys(
                    of: person, signed: number, oneTime: number..<number + 4)
                claims.append(.claim(owner: person.id, id: Envelope.newID()))
                _ = try store.commit(
                    [
                        .publish(publication, head: publication.bundleHead ?? []),
                        claims[claims.count - 1],
                    ], at: 31)
            }
        }
        return (claims, envelopes)
    }

    func contents(_ store: any Store) throws -> [[[UInt8]]] {
        try people.flatMap { person in
            try [false, true].map { dead in
                try store.messages(in: person.id, after: 0, limit: 100, dead: dead, at: 31)
                    .messages.map(\.delivered.envelope)
            }
        }
    }

    @Test(arguments: ways) func aMigrationLosesNothing(_ from: StoreKind, _ to: StoreKind) throws {
        let (source, target) = (StoreFixture(), StoreFixture())
        let old = try source.open(from)
        let (claims, envelopes) = try fill(old)
        let wake = StoredWake(
            mailbox: people[0].id,
            registration: try WakeRegistration(
                url: "https://push.example/x", kind: .voip, token: "t"), until: 1_000)
        let invitation = StoredInvitation(
            tag: randomBytes(16), key: randomBytes(32), until: 1_000, label: "Bob",
            inviter: people[1].id)
        let instance = StoredInstance(owner: people[2].id, mark: randomBytes(16), day: 7)
        _ = try old.commit(
            [.registerWake(wake), .invite(invitation), .noteInstance(instance)], at: 30)
        let answers = try old.commit(claims, at: 32)
        let expected = try contents(old)
        let status = try people.map { try old.preKeys(of: $0.id) }
        let bytes = randomBytes(150_000)
        var piece = BlobPiece(
            id: randomBytes(32), to: people[0].id, size: 150_000, digest: sha256(bytes),
            deletion: randomBytes(32))
        let blobs = try #require(try old.openBlobs(BlobLimits()))
        for place in stride(from: 0, to: 150_000, by: 50_000) {
            piece.offset = Int64(place)
            piece.bytes = Array(bytes[place..<place + 50_000])
            _ = try blobs.put(piece, lifetime: 1_000, at: 30)
        }
        try old.close()
        let locations = (
            StoreLocation(try source.location(from)), StoreLocation(try target.location(to))
        )
        #expect(
            try StoreMigration.run(from: locations.0, to: locations.1)
                == StoreMigration.Summary(
                    mailboxes: 5, envelopes: 5 * 18, owners: 5, blobs: 1))

        let new = try target.open(to)
        let copies = try #require(try new.openBlobs(BlobLimits()))
        #expect(try copies.read(piece.id, offset: 0, count: 150_000, at: 1_029) == bytes)
        #expect(try copies.read(piece.id, offset: 0, count: 150_000, at: 1_030) == nil)
        #expect(try contents(new) == expected)
        #expect(
            try new.wakes(of: [people[0].id], at: 31).map(\.registration) == [wake.registration])
        #expect(try new.invitation(invitation.tag) == invitation)
        #expect(try new.instance(of: people[2].id) == instance)
        #expect(try people.map { try new.preKeys(of: $0.id) } == status)
        #expect(try new.commit(claims, at: 32) == answers)
        #expect(
            try new.commit(envelopes.map { .store($0) }, at: 32)
                == envelopes.map { _ in .duplicate })
        // New mail is behind the old, and an old id does not delete it.
        for person in people {
            let next = Sample.envelope(to: person.id)
            let gone = envelopes.filter { $0.to == person.id }[19].id
            #expect(
                try new.commit(
                    [.store(next), .acknowledge(person.id, ids: [gone], .delivered)], at: 33)
                    == [.stored, .acknowledged(removed: 0)])
            let page = try new.messages(in: person.id, after: 0, limit: 100, dead: false, at: 33)
            #expect(page.messages.map(\.id).last == next.id)
            #expect(page.messages.count == 18)
        }
        // The counts were copied: old mail expires, and the owners' prekeys continue.
        while try new.sweep(at: 30 * 24 * 60 + 10) {}
        #expect(
            try new.messages(
                in: people[0].id, after: 0, limit: 100, dead: false, at: 33
            ).messages.count == 10)
        let more = Sample.preKeys(of: people[0], signed: 20, oneTime: 20..<25)
        #expect(
            try new.commit([.publish(more, head: more.bundleHead ?? [])], at: 34) == [.published])
        try new.close()
        #expect(throws: StoreError.notEmpty(name: locations.1.name)) {
            try StoreMigration.run(from: locations.0, to: locations.1)
        }
    }
}
