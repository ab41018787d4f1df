import Glibc
import Sotto
import SottoState
import SottoWire
import Testing

@testable import SottoServer

@Suite struct StoreTests {
    let scratch = Scratch()
    let bob = Sample.identity().id

    func open(_ retention: Retention = Retention()) throws -> SQLiteStore {
        try SQLiteStore(path: scratch.file("relay.db"), retention: retention)
    }

    func ids(_ store: SQLiteStore, dead: Bool = false, at minute: Int64 = 1) throws -> [String] {
        try store.messages(in: bob, after: 0, limit: 100, dead: dead, at: minute).messages.map(\.id)
    }

    @Test func anEnvelopeIsKeptAsItCame() throws {
        let store = try open()
        let envelope = Sample.envelope(to: bob)
        #expect(try store.commit([.store(envelope)], at: 1) == [.stored])
        let page = try store.messages(in: bob, after: 0, limit: 10, dead: false, at: 1)
        #expect(page.messages.map(\.delivered.envelope) == [envelope.bytes])
        #expect(page.messages.map(\.id) == [envelope.id])
    }

    @Test func idsAreKnownAgainByMailbox() throws {
        let store = try open()
        let id = Envelope.newID()
        let one = Sample.envelope(id, to: bob)
        let other = Sample.envelope(id, to: bob, text: "AQ==")
        let elsewhere = Sample.envelope(id, to: Sample.identity().id)
        #expect(
            try store.commit([.store(one), .store(one), .store(other), .store(elsewhere)], at: 1)
                == [.stored, .duplicate, .conflict, .stored])
        _ = try store.commit([.acknowledge(bob, ids: [id], .delivered)], at: 1)
        #expect(try ids(store) == [])
        #expect(try store.commit([.store(one), .store(other)], at: 1) == [.duplicate, .conflict])
    }

    @Test func orderSurvivesAReopening() throws {
        var expected: [String] = []
        for _ in 0..<3 {
            let store = try open()
            let batch = (0..<10).map { _ in Sample.envelope(to: bob) }
            expected += batch.map(\.id)
            _ = try store.commit(batch.map { .store($0) }, at: 1)
            // Taking out the last must not make its number free again.
            let last = expected.removeLast()
            _ = try store.commit([.acknowledge(bob, ids: [last], .delivered)], at: 1)
            try store.close()
        }
        let store = try open()
        #expect(try ids(store) == expected)
        let page = try store.messages(in: bob, after: 0, limit: 4, dead: false, at: 1)
        #expect(page.hasMore && page.messages.count == 4)
    }

    @Test func theFifthFailureMakesADeadLetter() throws {
        let store = try open()
        let envelope = Sample.envelope(to: bob)
        _ = try store.commit([.store(envelope)], at: 1)
        for _ in 0..<4 {
            _ = try store.commit([.acknowledge(bob, ids: [envelope.id], .failed)], at: 1)
        }
        #expect(try ids(store) == [envelope.id])
        _ = try store.commit([.acknowledge(bob, ids: [envelope.id], .failed)], at: 1)
        #expect(try ids(store) == [])
        #expect(try ids(store, dead: true) == [envelope.id])
    }

    @Test func aFullMailboxTakesNoMoreAndLosesNothing() throws {
        let store = try open(Retention(mailboxMessages: 2))
        let all = (0..<3).map { _ in Sample.envelope(to: bob) }
        #expect(
            try store.commit(all.map { .store($0) }, at: 1) == [.stored, .stored, .mailboxFull])
        #expect(try store.commit([.store(all[0])], at: 1) == [.duplicate])
        _ = try store.commit([.acknowledge(bob, ids: [all[0].id], .delivered)], at: 1)
        #expect(try store.commit([.store(all[2])], at: 1) == [.stored])
        #expect(try ids(store) == [all[1].id, all[2].id])
    }

    @Test func bytesAreCountedToo() throws {
        let envelope = Sample.envelope(to: bob)
        let store = try open(Retention(mailboxBytes: Int64(envelope.bytes.count)))
        #expect(
            try store.commit([.store(envelope), .store(Sample.envelope(to: bob))], at: 1)
                == [.stored, .mailboxFull])
    }

    @Test func timeToLive() throws {
        let store = try open(Retention(minutes: 10, mailboxMessages: 1))
        let envelope = Sample.envelope(to: bob)
        _ = try store.commit([.store(envelope)], at: 1)
        #expect(try ids(store, at: 10) == [envelope.id])
        #expect(try ids(store, at: 11) == [])
        #expect(try store.sweep(at: 11) == false)
        // The room is free again, but the id is known for another week.
        #expect(try store.commit([.store(envelope)], at: 11) == [.duplicate])
        #expect(try store.commit([.store(Sample.envelope(to: bob))], at: 11) == [.stored])
        _ = try store.sweep(at: 12 + Retention.tombstoneMinutes)
        _ = try store.sweep(at: 40 + Retention.tombstoneMinutes)
        #expect(
            try store.commit([.store(envelope)], at: 40 + Retention.tombstoneMinutes) == [.stored])
    }

    @Test func oneRelayAtATime() throws {
        let first = try open()
        #expect(throws: StateError.self) { try open() }
        try first.close()
        _ = try open()
    }

    @Test func aNewerFileIsNotTouched() throws {
        let path = scratch.file("relay.db")
        try open().close()
        let database = try DurableDatabase(
            path: path, migrations: ["", "PRAGMA user_version = 8"], lockTimeout: 1)
        try database.close()
        let before = Scratch.contents(path)
        #expect(throws: StateError.newerVersion(path: path)) { try open() }
        #expect(Scratch.contents(path) == before)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can mount a small disk"))
    func aFullDiskDefersAndStillTakesAcknowledgements() throws {
        let disk = scratch.file("disk")
        mkdir(disk, 0o700)
        guard Command.run("/bin/mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", disk]) == 0 else {
            return
        }
        defer { _ = Command.run("/bin/umount", ["-l", disk]) }
        let store = try SQLiteStore(path: disk + "/relay.db", retention: Retention())
        var stored: [AddressedEnvelope] = []
        var isFull = false
        let text = String(repeating: "A", count: 4_000)
        while !isFull, stored.count < 10_000 {
            let batch = (0..<8).map { _ in Sample.envelope(to: bob, text: text) }
            for (outcome, envelope) in zip(try store.commit(batch.map { .store($0) }, at: 1), batch)
            {
                switch outcome {
                case .stored: stored.append(envelope)
                case .diskFull: isFull = true
                default: Issue.record("\(outcome)")
                }
            }
        }
        #expect(isFull && stored.count > 100)
        let outcomes = try stored.dropLast(10).map { envelope in
            try store.commit([.acknowledge(bob, ids: [envelope.id], .delivered)], at: 1)
        }
        #expect(outcomes.allSatisfy { $0 == [.acknowledged] })
        #expect(try ids(store) == stored.suffix(10).map(\.id))
    }
}
