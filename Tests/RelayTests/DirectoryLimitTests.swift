import Sotto
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// The limits of cards, records of rooms and prekeys: their total, their age, and the price when many come.
@Suite struct DirectoryLimitTests {
    private let fixture = StoreFixture()
    private let bob = Sample.identity()

    private func card(_ identity: Identity, later: Int64 = 0) throws -> OwnersRecord {
        let issued = Timestamp(seconds: Timestamp.now().seconds - 60 + later)
        let card = identity.card(relay: "tcp://relay.example.org:7667", issued: issued)
        return try OwnersRecord(try #require(card.record))
    }

    @Test(arguments: StoreKind.available) func cardsHaveATotal(_ kind: StoreKind) throws {
        let location = try fixture.location(kind)
        let first = try card(bob)
        let size = DirectoryLimit.rowBytes + Int64(first.bytes.count)
        let running = try RunningRelay {
            $0.store = location
            $0.directoryBytes = 10 * size
        }
        let client = running.client()
        #expect(client.ask(.record(first)) == .stored)
        var (free, paid) = (1, 0)
        var answer: Response?
        repeat {
            let record = try card(Sample.identity())
            answer = client.ask(.record(record))
            if answer == .stored { free += 1 }
            guard answer == .error(Refusal(.workRequired)) else { continue }
            #expect(client.doWork())
            answer = client.ask(.record(record))
            if answer == .stored { paid += 1 }
        } while answer == .stored && free + paid < 100
        #expect(answer == .deferred(Refusal(.diskFull)))
        // A record that is stored while a count runs counts twice for a minute, and never not at all.
        #expect((4...6).contains(free) && (8...10).contains(free + paid), "\(free), \(paid)")
        // A known id renews its card, and prekeys count as well.
        #expect(client.ask(.record(try card(bob, later: 10))) == .stored)
        let preKeys = Sample.preKeys(of: Sample.identity(), oneTime: 1..<3)
        #expect(client.publish(preKeys) == .deferred(Refusal(.diskFull)))
    }

    @Test(arguments: StoreKind.available) func prekeysAndCardsHaveAnAge(_ kind: StoreKind) throws {
        let store = try fixture.open(kind)
        let publication = Sample.preKeys(of: bob, oneTime: 1..<5)
        let change = Change.publish(publication, head: publication.bundleHead ?? [])
        #expect(try store.directoryUse() == 0)
        #expect(try store.commit([change], at: 10) == [.published])
        #expect(try store.directoryUse() == change.directoryBytes)
        let line = try card(bob).bytes
        _ = try store.commit([.update(bob.id, .card(line, issued: 1))], at: 10)
        #expect(
            try store.directoryUse()
                == change.directoryBytes + DirectoryLimit.rowBytes + Int64(line.count))
        // A publication with nothing new is activity too.
        #expect(try store.commit([change], at: 20) == [.published])
        let life = RelayAccount.lifeMinutes
        while try store.sweep(at: 19 + life) {}
        #expect(try store.preKeys(of: bob.id) != nil)
        #expect(try store.account(of: bob.id) == nil)
        while try store.sweep(at: 20 + life) {}
        #expect(try store.preKeys(of: bob.id) == nil)
        #expect(try store.directoryUse() == 0)
        #expect(
            try store.commit([.claim(owner: bob.id, id: Envelope.newID())], at: 21 + life)
                == [.noBundle])
        #expect(try store.commit([change], at: 22 + life) == [.published])
        #expect(try store.preKeys(of: bob.id)?.oneTime == 4)
    }

    /// A card that somebody fetches is kept, like that of an owner who logs in.
    @Test func aFetchedCardIsKept() throws {
        let store = try fixture.open(.sqlite)
        let clock = RelayClock()
        let line = try card(bob).bytes
        let day: Int64 = 24 * 60
        _ = try store.commit(
            [.update(bob.id, .card(line, issued: 1))], at: clock.minute - 2 * day)
        func fetch() throws -> Change? {
            guard
                case .response(.card(line), _, _, let then) = try StoreQuery.card(bob.id, to: nil)
                    .run(store, clock)
            else {
                Issue.record("no card")
                return nil
            }
            return then
        }
        let change = try #require(try fetch())
        _ = try store.commit([change], at: clock.minute)
        #expect(try store.account(of: bob.id)?.minute ?? 0 >= clock.minute - 1)
        #expect(try store.account(of: bob.id)?.card == line)
        // At most one write a day.
        #expect(try fetch() == nil)
    }

    @Test func aLargeRecordCountsAsSeveralInASurge() {
        let room = Change.publishRoom(
            StoredRoom(
                door: bob.id, publisher: [], seq: 1, bytes: [UInt8](repeating: 0, count: 64_000)))
        #expect(room.surgeWeight == 15)
        let surge = NewIDLimit(limit: 600, bits: 20)
        #expect((0..<40).allSatisfy { _ in surge.note(room.surgeWeight, at: 1) == nil })
        #expect(surge.note(room.surgeWeight, at: 1) == 20)
        let publication = Sample.preKeys(of: bob, oneTime: 1..<101)
        #expect(Change.publish(publication, head: []).surgeWeight == 1)
    }

    @Test func theCountIsCorrectedFromTheStore() {
        let limit = DirectoryLimit(1_000)
        #expect(limit.beginCount() && !limit.beginCount())
        limit.endCount(0)
        for _ in 0..<10 { limit.add(60) }
        #expect(limit.isTight)
        #expect(limit.beginCount())
        // What comes meanwhile is not lost.
        limit.add(1)
        limit.endCount(60)
        #expect(!limit.isTight && limit.admit(439) && !limit.isTight)
        #expect(limit.admit(500) && !limit.admit(1) && limit.admit(0) && limit.admit(-5))
        #expect(limit.beginCount())
        limit.endCount(nil)
        #expect(limit.beginCount())
    }
}
