import Sotto
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// An empty mailbox leaves no row.
@Suite(.timeLimit(.minutes(60))) struct EmptyMailboxTests {
    let place = StoreFixture()
    let bob = Sample.identity().id
    let alice = Sample.identity().id

    /// A minute at which mail and ids of minute 1 have expired.
    let later = 10 + Retention().minutes + Retention.tombstoneMinutes

    /// Counts the mailboxes of a store.
    func count(_ store: any Store) throws -> Int {
        var count = 0
        let copyable = try #require(store as? any CopyableStore)
        try copyable.export { table, rows throws(StoreError) in
            if table == .mailbox { count += rows.count }
        }
        return count
    }

    /// The stores that keep all tables in one database.
    static let kinds = StoreKind.available.filter { $0 != .partitions }

    @Test(arguments: kinds) func mailToRandomIdsLeavesNothing(_ kind: StoreKind) throws {
        let store = try place.open(kind)
        for _ in 0..<3 {
            let batch = (0..<700).map { _ in Sample.envelope(to: Sample.identityID()) }
            #expect(
                try store.commit(batch.map { .store($0) }, at: 1) == batch.map { _ in .stored })
        }
        while try store.sweep(at: 2) {}
        #expect(try count(store) == 2_100)
        while try store.sweep(at: later) {}
        // The scans start over, and end when they find nothing.
        for _ in 0..<4 { while try store.sweep(at: later) {} }
        #expect(try count(store) == 0)
    }

    @Test(arguments: kinds) func aMailboxWithMailIdsOrAnAccountStays(_ kind: StoreKind) throws {
        let store = try place.open(kind)
        let carol = Sample.identity().id
        let old = Sample.envelope(to: alice)
        _ = try store.commit(
            [.store(old), .store(Sample.envelope(to: bob)), .update(bob, .seen)], at: 1)
        // Alice's mail was acknowledged, and its id stays known for some weeks.
        #expect(
            try store.commit([.acknowledge(alice, ids: [old.id], .delivered)], at: 1)
                == [.acknowledged(removed: 1)])
        for _ in 0..<3 { while try store.sweep(at: 2) {} }
        #expect(try count(store) == 2)
        #expect(try store.commit([.store(old)], at: 2) == [.duplicate])
        _ = try store.commit([.store(Sample.envelope(to: carol))], at: later - 5)
        for _ in 0..<3 { while try store.sweep(at: later) {} }
        #expect(try count(store) == 2)
        let page = try store.messages(in: carol, after: 0, limit: 9, dead: false, at: later)
        #expect(page.messages.count == 1)
    }

    @Test(arguments: kinds) func anAcknowledgementOfNothingLeavesNothing(_ kind: StoreKind) throws {
        let store = try place.open(kind)
        let change = Change.acknowledge(bob, ids: [Envelope.newID()], .delivered)
        #expect(try store.commit([change], at: 1) == [.acknowledged(removed: 0)])
        while try store.sweep(at: 2) {}
        #expect(try count(store) == 0)
    }

    /// A consumer that continues after the last number of a deleted mailbox misses nothing.
    @Test(arguments: StoreKind.available) func numbersContinueInANewMailbox(_ kind: StoreKind)
        throws
    {
        let store = try place.open(kind)
        let mail = (0..<5).map { _ in Sample.envelope(to: bob) }
        _ = try store.commit(mail.map { .store($0) }, at: 1)
        let page = try store.messages(in: bob, after: 0, limit: 9, dead: false, at: 1)
        let last = try #require(page.messages.last?.delivered.sequence)
        _ = try store.commit([.acknowledge(bob, ids: mail.map(\.id), .delivered)], at: 1)
        for _ in 0..<3 { while try store.sweep(at: later) {} }
        let next = Sample.envelope(to: bob)
        #expect(try store.commit([.store(next)], at: later) == [.stored])
        let after = try store.messages(in: bob, after: last, limit: 9, dead: false, at: later)
        #expect(after.messages.map(\.id) == [next.id])
    }

    /// Deletion and new mail in any order lose no mail.
    @Test(arguments: kinds) func aSweepLosesNoNewMail(_ kind: StoreKind) throws {
        let store = try place.open(kind)
        let other = kind == .postgres ? try place.open(kind) : store
        for round in 0..<60 {
            let people = (0..<20).map { _ in Sample.identityID() }
            let old = people.map { Sample.envelope(to: $0) }
            _ = try store.commit(old.map { .store($0) }, at: 1)
            _ = try store.commit(
                old.map { .acknowledge($0.to, ids: [$0.id], .delivered) }, at: 1)
            let results = try concurrently(
                { while try other.sweep(at: later) {} },
                {
                    let batch = people.map { Sample.envelope(to: $0) }
                    let outcomes = try store.commit(batch.map { .store($0) }, at: later)
                    #expect(outcomes == batch.map { _ in .stored }, "round \(round)")
                    for envelope in batch {
                        let page = try store.messages(
                            in: envelope.to, after: 0, limit: 9, dead: false, at: later)
                        #expect(page.messages.map(\.id) == [envelope.id], "round \(round)")
                    }
                })
            #expect(results == [])
        }
    }
}
