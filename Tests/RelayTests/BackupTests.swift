import Glibc
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// Copies of a store while a relay uses it.
@Suite struct StoreBackupTests {
    let scratch = TemporaryDirectory()
    let bob = Sample.identity()

    func backup(_ output: String, store: String = "relay.db") -> Int32 {
        unlink(scratch("errors"))
        return ChildProcess.run(
            "relay", ["backup", "--store", scratch(store), "-o", scratch(output)],
            errors: scratch("errors"))
    }

    /// Returns the ids in Bob's mailbox of a store.
    func ids(_ name: String) throws -> [String] {
        let store = try SQLiteStore(path: scratch(name), retention: Retention())
        defer { try? store.close() }
        var ids: [String] = []
        var after: Int64 = 0
        while true {
            let page = try store.messages(
                in: bob.id, after: after, limit: 100, dead: false,
                at: Timestamp.now().seconds / 60)
            ids += page.messages.map(\.id)
            guard page.hasMore, let last = page.messages.last else { return ids }
            after = last.delivered.sequence
        }
    }

    @Test func aCopyIsACompleteStore() throws {
        let relay = try #require(RelayProcess(scratch))
        let client = RawClient(relay.address)
        let envelopes = (0..<20).map { _ in Sample.envelope(to: bob.id) }
        for envelope in envelopes { #expect(client.ask(.send(envelope)) == .stored) }
        #expect(backup("copy.db") == 0)
        // The relay continues, and the copy does not have later mail.
        #expect(client.ask(.send(Sample.envelope(to: bob.id))) == .stored)
        #expect(relay.end() == 0)
        #expect(try ids("copy.db") == envelopes.map(\.id))
        #expect(try ids("relay.db").count == 21)
        var status = stat()
        #expect(stat(scratch("copy.db"), &status) == 0 && status.st_mode & 0o777 == 0o600)
        // A relay uses the copy and recognizes its envelopes.
        let again = TemporaryDirectory()
        again.write("relay.db", TemporaryDirectory.contents(scratch("copy.db")))
        let other = try #require(RelayProcess(again))
        #expect(RawClient(other.address).ask(.send(envelopes[3])) == .duplicate)
        #expect(other.end() == 0)
    }

    @Test func aCopyDuringWritesIsConsistent() throws {
        let relay = try #require(RelayProcess(scratch))
        let sender = RawClient(relay.address)
        let envelopes = (0..<3_000).map { _ in Sample.envelope(to: bob.id) }
        for (number, envelope) in envelopes.enumerated() {
            sender.send(Request.send(envelope).line(requestID: "\(number)"))
            if number == 1_000 {
                #expect(backup("copy.db") == 0)
            }
        }
        for _ in envelopes { #expect(sender.response() == .stored) }
        #expect(relay.end() == 0)
        let copied = try ids("copy.db")
        #expect(copied == Array(envelopes.map(\.id).prefix(copied.count)))
        #expect(try ids("relay.db") == envelopes.map(\.id))
    }

    @Test func anOlderCopyIsReplacedAndNothingElseIsLeft() throws {
        let relay = try #require(RelayProcess(scratch))
        let client = RawClient(relay.address)
        for count in 1...2 {
            #expect(client.ask(.send(Sample.envelope(to: bob.id))) == .stored)
            #expect(backup("copy.db") == 0)
            #expect(scratch.lines("errors").first?.contains("copied the store to") == true)
            _ = count
        }
        #expect(relay.end() == 0)
        #expect(names.filter { $0.hasPrefix("copy") } == ["copy.db"])
        #expect(try ids("copy.db").count == 2)
    }

    @Test func anInterruptedCopyLeavesNothing() throws {
        let store = try SQLiteStore(path: scratch("relay.db"), retention: Retention())
        let text = String(repeating: "A", count: 40_000)
        for _ in 0..<10 {
            let envelopes = (0..<100).map { _ in Sample.envelope(to: bob.id, text: text) }
            _ = try store.commit(envelopes.map { .store($0) }, at: 1)
        }
        try store.close()
        let command = ChildProcess(
            "relay",
            ["backup", "--store", scratch("relay.db"), "-o", scratch("copy.db")])
        let deadline = Monotonic.seconds() + 20
        while !names.contains(where: { $0.hasPrefix("copy.db.") && $0.hasSuffix("-journal") }),
            !names.contains("copy.db"), Monotonic.seconds() < deadline
        {}
        command.kill(SIGTERM)
        let status = command.wait()
        // It may have finished before the signal.
        #expect(status == -SIGTERM || status == 0, "\(status)")
        #expect(names.filter { $0.hasPrefix("copy") } == (status == 0 ? ["copy.db"] : []))
    }

    @Test func aStoreWithoutARelayIsCopied() throws {
        let relay = try #require(RelayProcess(scratch))
        #expect(RawClient(relay.address).ask(.send(Sample.envelope(to: bob.id))) == .stored)
        relay.command.kill(SIGKILL)
        relay.command.wait()
        #expect(backup("copy.db") == 0)
        #expect(try ids("copy.db").count == 1)
    }

    @Test func invalidBackupsAreRefused() throws {
        let relay = try #require(RelayProcess(scratch))
        #expect(backup("relay.db") == 64)
        #expect(backup("relay.db-wal") == 64)
        #expect(relay.end() == 0)
        #expect(backup("copy.db", store: "missing.db") == 66)
        #expect(backup("missing/copy.db") == 73)
        mkdir(scratch("folder"), 0o700)
        #expect(backup("folder") == 73)
        #expect(backup("copy.db", store: "folder") == 66)
        scratch.write("text", Array("no database, but some text".utf8))
        #expect(backup("copy.db", store: "text") == 65)
        #expect(scratch.lines("errors").first?.contains("not a relay's store") == true)
        _ = try DurableDatabase(
            path: scratch("other.db"), migrations: ["CREATE TABLE a (b)"], lockTimeout: 1)
        #expect(backup("copy.db", store: "other.db") == 78)
        scratch.write("used.db-wal", [])
        #expect(backup("used.db") == 73)
        #expect(names.filter { $0.hasPrefix("copy") } == [])
        let status = ChildProcess.run(
            "relay", ["backup", "--store", "postgresql://x", "-o", scratch("copy.db")])
        #expect(status == 64)
    }

    /// The names of the files.
    private var names: [String] {
        guard let directory = opendir(scratch.path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            names.append(name)
        }
        return names
    }
}
