import Glibc
import Sotto
import SottoState
import Testing

@Suite struct StateTests {
    let scratch = Scratch()
    let identity = Sample.identity()

    func store() throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: scratch.path), identity: identity, lockTimeout: 5)
    }

    @Test func openedEnvelopesAreKnownAgain() throws {
        let store = try store()
        let (id, digest, record) = (Envelope.newID(), sha256([1]), Array("hello".utf8))
        #expect(try store.opened(id: id, digest: digest) == .new)
        #expect(try store.recordOpened([(id, digest, record)]) == [.new])
        #expect(try store.opened(id: id, digest: digest) == .same(record: record))
        #expect(try store.opened(id: id, digest: sha256([2])) == .different)
        let again = try store.recordOpened([
            (id, digest, Array("late".utf8)), (id, sha256([2]), record),
            (Envelope.newID(), digest, record),
        ])
        #expect(again == [.same(record: record), .different, .new])
    }

    @Test func recordsAreSealed() throws {
        let store = try store()
        let text = Array("a very secret sentence".utf8)
        _ = try store.recordOpened([(Envelope.newID(), sha256([1]), text)])
        for suffix in ["", "-wal"] {
            let bytes = Scratch.contents(scratch.file("\(identity.id).db\(suffix)"))
            #expect(String(decoding: bytes, as: UTF8.self).contains("secret sentence") == false)
        }
    }

    @Test func onlyTheOwnerGetsIn() throws {
        chmod(scratch.path, 0o755)
        #expect(throws: StateError.notPrivate(path: scratch.path)) { try store() }
        chmod(scratch.path, 0o700)
        _ = try store()
        var status = stat()
        stat(scratch.file("\(identity.id).db"), &status)
        #expect(status.st_mode & 0o777 == 0o600)
        let made = try StateDirectory(path: scratch.file("a/b"))
        stat(made.path, &status)
        #expect(status.st_mode & 0o777 == 0o700)
    }

    @Test func theInboxHandsOnOnce() throws {
        let store = try store()
        let ids = (0..<3).map { _ in Envelope.newID() }
        let envelopes = ids.map { (id: $0, envelope: Array($0.utf8)) }
        #expect(try store.receive(envelopes) == [.new, .new, .new])
        #expect(try store.receive(envelopes) == [.waiting, .waiting, .waiting])
        #expect(try store.waiting(after: 0, limit: 10).map(\.id) == ids)
        try store.markHandled([ids[0]])
        #expect(try store.receive(envelopes) == [.handled, .waiting, .waiting])
        for attempt in 1...5 { #expect(try store.markFailed(ids[1]) == (attempt < 5)) }
        #expect(try store.receive(envelopes) == [.handled, .dead, .waiting])
        #expect(try store.waiting(after: 0, limit: 10).map(\.id) == [ids[2]])
    }

    @Test func theOutboxIsShared() throws {
        let directory = try StateDirectory(path: scratch.path)
        let one = try Outbox(directory: directory, lockTimeout: 5)
        let two = try Outbox(directory: directory, lockTimeout: 5)
        func item(_ name: String) -> Outbox.Item {
            Outbox.Item(id: name, to: "bob", envelope: Array(name.utf8))
        }
        let first = try one.append([item("a"), item("b")], relay: "r")
        let second = try two.append([item("c")], relay: "r")
        _ = try two.append([item("d")], relay: "elsewhere")
        let waiting = try one.waiting(relay: "r", after: 0, limit: 10)
        #expect(waiting.map(\.item.id) == ["a", "b", "c"])
        #expect(try one.waitingElsewhere(relay: "r") == 1)
        #expect(one.lock.tryLock())
        #expect(!two.lock.tryLock())
        try one.settle([(first[0], "stored"), (first[1], "stored"), (second[0], "stored")])
        #expect(try two.count(relay: "r") == 0)
        #expect(try two.collect().map(\.outcome) == ["stored"])
        #expect(try two.collect().isEmpty)
        one.lock.unlock()
        #expect(two.lock.lock(timeout: 1))
    }

    @Test func aWriterIsWaitedForAndThenGivenUp() throws {
        let directory = try StateDirectory(path: scratch.path)
        let database = try DurableDatabase(
            path: scratch.file("x.db"), migrations: ["CREATE TABLE t (n)"], lockTimeout: 5)
        let other = try DurableDatabase(
            path: scratch.file("x.db"), migrations: ["CREATE TABLE t (n)"], lockTimeout: 0.05)
        _ = directory
        try database.transaction { _ throws(StateError) in
            do throws(StateError) {
                try other.transaction { connection throws(StateError) in
                    try connection.run("INSERT INTO t VALUES (1)")
                }
                Issue.record("two writers at once")
            } catch {
                #expect(error.status == 75)
            }
        }
    }
}
