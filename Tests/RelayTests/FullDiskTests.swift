import Glibc
import Sotto
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

@Suite(.enabled(if: SmallDisk.canBeMounted, "a small disk cannot be mounted here"))
struct FullDiskTests {
    let bob = Sample.identity()
    let text = String(repeating: "A", count: 4_000)

    /// Stores until the disk is full. Returns the ids that were stored.
    func fill(_ store: SQLiteStore, batch: Int) throws -> [String] {
        var stored: [String] = []
        for _ in 0..<1_000 {
            let envelopes = (0..<batch).map { _ in Sample.envelope(to: bob.id, text: text) }
            var isFull = false
            for (outcome, envelope) in zip(
                try store.commit(envelopes.map { .store($0) }, at: 1), envelopes)
            {
                switch outcome {
                case .stored: stored.append(envelope.id)
                case .diskFull: isFull = true
                default: Issue.record("\(outcome)")
                }
            }
            if isFull { return stored }
        }
        Issue.record("the disk is never full")
        return stored
    }

    @Test(arguments: [1, 8, 1_000])
    func aFullStoreRecoversWhenMailIsDelivered(_ batch: Int) throws {
        let disk = try #require(SmallDisk())
        let store = try SQLiteStore(path: disk.scratch("relay.db"), retention: Retention())
        for _ in 0..<4 {
            let stored = try fill(store, batch: batch)
            #expect(stored.count > 100)
            let page = try store.messages(in: bob.id, after: 0, limit: 100, dead: false, at: 1)
            #expect(page.messages.map(\.id) == Array(stored.prefix(page.messages.count)))
            let carol = Sample.identity()
            let publication = Sample.preKeys(of: carol, oneTime: 1..<2)
            // A tiny publication would still fit; this one does not.
            let head = [UInt8](repeating: 0x20, count: 32_000)
            #expect(
                try store.commit([.publish(publication, head: head)], at: 1) == [.diskFull])
            for id in stored {
                #expect(
                    try store.commit([.acknowledge(bob.id, ids: [id], .delivered)], at: 1)
                        == [.acknowledged(removed: 1)])
            }
        }
        try store.close()
    }

    @Test func manyAcknowledgementsFitOnAFullDisk() throws {
        let disk = try #require(SmallDisk())
        let store = try SQLiteStore(path: disk.scratch("relay.db"), retention: Retention())
        for _ in 0..<2 {
            let stored = try fill(store, batch: 100)
            let all = stride(from: 0, to: stored.count, by: WireLimits.ackCount).map { start in
                Change.acknowledge(
                    bob.id, ids: Array(stored[start...].prefix(WireLimits.ackCount)), .delivered)
            }
            let removed = try store.commit(all, at: 1).map { outcome in
                if case .acknowledged(let removed) = outcome { removed } else { 0 }
            }
            #expect(removed.reduce(0, +) == stored.count)
        }
        try store.close()
    }

    @Test func expiryFreesSpace() throws {
        let disk = try #require(SmallDisk())
        let store = try SQLiteStore(
            path: disk.scratch("relay.db"), retention: Retention(minutes: 10))
        _ = try fill(store, batch: 100)
        var sweeps = 0
        while try store.sweep(at: 20), sweeps < 1_000 { sweeps += 1 }
        #expect(try fill(store, batch: 100).count > 100)
        try store.close()
    }

    @Test func aFullDiskAllowsACleanStop() throws {
        let disk = try #require(SmallDisk())
        let path = disk.scratch("relay.db")
        let store = try SQLiteStore(path: path, retention: Retention())
        let first = Sample.envelope(to: bob.id)
        #expect(try store.commit([.store(first)], at: 1) == [.stored])
        let filler = disk.fill()
        #expect(disk.free == 0)
        #expect(try store.commit([.store(Sample.envelope(to: bob.id))], at: 1) == [.diskFull])
        try store.close()
        // Even then the store opens again, and its mail is still there.
        let full = try SQLiteStore(path: path, retention: Retention())
        #expect(try full.commit([.store(Sample.envelope(to: bob.id))], at: 1) == [.diskFull])
        try full.close()
        unlink(filler)
        let again = try SQLiteStore(path: path, retention: Retention())
        let page = try again.messages(in: bob.id, after: 0, limit: 9, dead: false, at: 1)
        #expect(page.messages.map(\.id) == [first.id])
        #expect(try again.commit([.store(Sample.envelope(to: bob.id))], at: 1) == [.stored])
        try again.close()
    }

    @Test func theProgramDefersRecoversAndEndsWell() throws {
        let disk = try #require(SmallDisk())
        let relay = try #require(RelayProcess(disk.scratch))
        let world = World(address: relay.address)
        let bob = world.bob.id
        func lines(_ name: String) {
            let lines = (0..<1_000).map { _ -> [UInt8] in
                Sample.record(to: bob, text: text).serialized() + [0x0A]
            }
            world.scratch.write(name, Array(lines.joined()))
        }
        lines("in")
        #expect(world.run("send", input: "in", output: "first") == 75)
        #expect(world.statuses("first").contains("stored"))
        #expect(world.run("recv", output: "received") == 0)
        #expect(world.run("recv", output: "nothing") == 1)
        // The deferred mail is now sent without further action.
        #expect(world.run("send", output: "second") == 0)
        #expect(
            world.statuses("second")
                == [String](repeating: "stored", count: 1_000 - world.ids("received").count))
        _ = disk.fill()
        #expect(disk.free == 0)
        relay.command.kill(SIGTERM)
        #expect(relay.command.wait() == 0)
    }
}
