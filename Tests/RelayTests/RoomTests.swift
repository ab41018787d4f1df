import Sotto
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// The records of rooms in a store.
@Suite struct RoomStoreTests {
    let place = StoreFixture()
    let door = Sample.identity().id

    private func room(_ publisher: UInt8, seq: Int64, _ byte: UInt8) -> StoredRoom {
        StoredRoom(
            door: door, publisher: [UInt8](repeating: publisher, count: 32), seq: seq,
            bytes: [byte])
    }

    @Test(arguments: StoreKind.available) func theFirstPublisherKeepsThePlace(
        _ kind: StoreKind
    ) throws {
        let store = try place.open(kind)
        #expect(try store.room(of: door) == nil)
        #expect(try store.commit([.publishRoom(room(1, seq: 5, 10))], at: 1) == [.published])
        #expect(
            try store.commit(
                [
                    .publishRoom(room(2, seq: 9, 20)), .publishRoom(room(1, seq: 4, 30)),
                    .publishRoom(room(1, seq: 5, 40)),
                ], at: 2) == [.conflict, .published, .published])
        #expect(try store.room(of: door) == [10])
        #expect(try store.commit([.publishRoom(room(1, seq: 6, 50))], at: 3) == [.published])
        #expect(try store.room(of: door) == [50])
        #expect(try store.account(of: door) == nil)
    }

    @Test(arguments: StoreKind.available) func aRoomThatIsNotPublishedExpires(
        _ kind: StoreKind
    ) throws {
        let store = try place.open(kind)
        _ = try store.commit([.publishRoom(room(1, seq: 1, 1))], at: 100)
        _ = try store.sweep(at: 100 + StoredRoom.lifeMinutes - 1)
        #expect(try store.room(of: door) == [1])
        // The same number does not renew it.
        _ = try store.commit([.publishRoom(room(1, seq: 1, 1))], at: 200)
        while try store.sweep(at: 100 + StoredRoom.lifeMinutes) {}
        #expect(try store.room(of: door) == nil)
    }

    @Test(arguments: StoreKind.available.filter { $0 != .partitions }) func roomsAreCopied(
        _ kind: StoreKind
    ) throws {
        let source = try place.open(kind)
        _ = try source.commit([.publishRoom(room(1, seq: 3, 7))], at: 9)
        let target = try StoreLocation(place.scratch("copy.db")).open(Retention())
        let from = try #require(source as? any CopyableStore)
        _ = try StoreMigration.run(from: from, to: try #require(target as? any CopyableStore))
        #expect(try target.room(of: door) == [7])
        #expect(try target.commit([.publishRoom(room(2, seq: 9, 8))], at: 9) == [.conflict])
    }
}

/// Rooms in a relay's directory.
@Suite struct RoomDirectoryTests {
    let keys = RoomKeys(Sample.door(), relay: "tcp://a:1")

    private func record(
        _ seq: Int64, _ keys: RoomKeys? = nil, issued: Timestamp = .now()
    ) throws -> OwnersRecord {
        try OwnersRecord((keys ?? self.keys).record(.closed, seq: seq, issued: issued))
    }

    @Test func theRecordWithTheHighestNumberIsHandedOut() throws {
        let running = try RunningRelay()
        let client = running.client()
        #expect(client.ask(.room(keys.door)) == .error(Refusal(.noRoom)))
        let (old, new) = (try record(1), try record(2))
        for record in [old, new, old] { #expect(client.ask(.record(record)) == .stored) }
        #expect(client.ask(.room(keys.door)) == .room(new.bytes))
        // It is no card.
        #expect(client.ask(.lookup(keys.door)) == .error(Refusal(.noCard)))
    }

    @Test func invalidRecordsAreRefused() throws {
        let running = try RunningRelay()
        let client = running.client()
        func send(_ record: JSONObject) -> Response? {
            client.send(Request.recordLine(record.serialized(), requestID: "1"))
            return client.response()
        }
        let now = Timestamp.now().seconds
        let ahead = keys.record(.closed, seq: 1, issued: Timestamp(seconds: now + 600))
        #expect(send(ahead) == .error(Refusal(.badFields)))
        // The highest number would keep all later records out.
        for seq in [now + 600, 1 << 53] {
            #expect(send(keys.record(.closed, seq: seq)) == .error(Refusal(.badFields)))
        }
        var forged = keys.record(.closed, seq: 1)
        forged["seq"] = .integer(2)
        #expect(send(forged) == .error(Refusal(.badSignature)))
        var bare = keys.record(.closed, seq: 1)
        bare["box"] = nil
        #expect(send(bare) == .error(Refusal(.badFields)))
        var long = keys.record(.closed, seq: 1)
        long["more"] = .string(String(repeating: "a", count: WireLimits.roomBytes))
        #expect(send(long) == .rejected(Refusal(.tooLarge)))
        #expect(client.ask(.room(keys.door)) == .error(Refusal(.noRoom)))
        #expect(send(keys.record(.closed, seq: now)) == .stored)
    }

    /// C19: another key does not replace the record, although its holder knows the phrase.
    @Test func c19AnotherPublisherIsRefused() throws {
        let running = try RunningRelay()
        let client = running.client()
        let door = Sample.door()
        let (first, second) = (
            RoomKeys(door, relay: "tcp://a:1"), RoomKeys(door, relay: "tcp://a:1")
        )
        let kept = try record(1, first)
        #expect(client.ask(.record(kept)) == .stored)
        #expect(client.ask(.record(try record(9, second))) == .rejected(Refusal(.conflict)))
        #expect(client.ask(.room(door.id)) == .room(kept.bytes))
    }

    /// A relay for members cannot know who publishes a room, so each new room costs a proof of work there.
    @Test func aRelayForMembersRequiresWork() throws {
        let running = try RunningRelay {
            $0.admission.list = [Sample.identity().id]
            $0.surgeBits = 8
        }
        let client = running.client()
        #expect(client.ask(.record(try record(1))) == .error(Refusal(.workRequired)))
        guard case .puzzle(let nonce, let bits) = client.ask(.puzzle) else {
            Issue.record("no puzzle")
            return
        }
        let counter = try ProofOfWork.solve(nonce, bits: bits)
        #expect(client.ask(.solution(nonce: nonce, counter: counter)) == .accepted)
        #expect(client.ask(.record(try record(1))) == .stored)
        // A known room needs none.
        let (other, next) = (running.client(), try record(2))
        #expect(other.ask(.record(next)) == .stored)
        #expect(other.ask(.room(keys.door)) == .room(next.bytes))
    }

    @Test func aRoomIsPublishedAtALimitedRate() throws {
        let running = try RunningRelay { $0.mailboxRate = 3 }
        let client = running.client()
        let answers = try (1...5).map { client.ask(.record(try record(Int64($0)))) }
        #expect(answers.prefix(3).allSatisfy { $0 == .stored })
        #expect(answers.last == .deferred(Refusal(.tooMany)))
    }
}
