import Glibc
import Sotto
import SottoProgram
import SottoDatabase
import TestSupport
import Testing

@testable import SottoState

@Suite struct StateTests {
    let scratch = TemporaryDirectory()
    let identity = Sample.identity()

    func store() throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: scratch.path), identity: identity, lockTimeout: 5)
    }

    @Test func openedEnvelopesAreRecognized() throws {
        let store = try store()
        let (id, digest) = (Envelope.newID(), sha256([1]))
        let message = Sample.message("hello", id: id)
        try store.transaction { transaction in
            #expect(try transaction.opened(id: id, digest: digest) == .new)
            try transaction.recordOpened(id: id, digest: digest, message)
            #expect(
                try transaction.opened(id: id, digest: digest)
                    == .same(number: 1, record: message.record))
        }
        let (same, other) = try self.store().transaction { transaction in
            (
                try transaction.opened(id: id, digest: digest),
                try transaction.opened(id: id, digest: sha256([2]))
            )
        }
        #expect(same == .same(number: 1, record: message.record) && other == .different)
    }

    @Test func aPreviewAndAFailureLeaveNothing() throws {
        struct Stop: Error {}
        let store = try store()
        let (id, digest) = (Envelope.newID(), sha256([1]))
        func record(_ transaction: StateTransaction) throws {
            try transaction.recordOpened(id: id, digest: digest, Sample.message("", id: id))
        }
        try store.preview(record)
        #expect(throws: Stop.self) {
            try store.transaction { transaction in
                try record(transaction)
                throw Stop()
            }
        }
        let known = try store.transaction { try $0.opened(id: id, digest: digest) }
        #expect(known == .new)
    }

    @Test func recordsAndContactsAreSealed() throws {
        let store = try store()
        let peer = Sample.identity()
        try store.transaction { transaction in
            try transaction.recordOpened(
                id: Envelope.newID(), digest: sha256([1]), Sample.message("a very secret text"))
            try transaction.save(
                Contact(name: "Rumpelstiltskin", id: peer.id, card: peer.card()))
            _ = try transaction.request([1], id: Envelope.newID(), from: peer.id)
        }
        for suffix in ["", "-wal"] {
            let bytes = TemporaryDirectory.contents(scratch("\(identity.id).db\(suffix)"))
            let text = String(decoding: bytes, as: UTF8.self)
            for secret in ["secret text", "Rumpel", peer.id.description] {
                #expect(!text.contains(secret))
            }
            #expect(!hex(bytes).contains(hex(peer.id.publicKey)))
        }
    }

    @Test func onlyTheOwnerHasAccess() throws {
        chmod(scratch.path, 0o755)
        #expect(throws: StateError.notPrivate(path: scratch.path)) { try store() }
        chmod(scratch.path, 0o700)
        _ = try store()
        var status = stat()
        stat(scratch("\(identity.id).db"), &status)
        #expect(status.st_mode & 0o777 == 0o600)
        let made = try StateDirectory(path: scratch("a/b"))
        stat(made.path, &status)
        #expect(status.st_mode & 0o777 == 0o700)
    }

    @Test func theInboxDeliversOnce() throws {
        let store = try store()
        let ids = (0..<3).map { _ in Envelope.newID() }
        let envelopes = ids.map { (id: $0, envelope: Array($0.utf8)) }
        #expect(try store.receive(envelopes, to: .command) == [.new, .new, .new])
        #expect(try store.receive(envelopes, to: .command) == [.waiting, .waiting, .waiting])
        #expect(try store.kept(.waiting, after: 0, limit: 10).map(\.id) == ids)
        try store.markHandled([ids[0]])
        #expect(try store.receive(envelopes, to: .command) == [.handled, .waiting, .waiting])
        for attempt in 1...5 { #expect(try store.markFailed(ids[1]) == (attempt < 5)) }
        #expect(try store.receive(envelopes, to: .command) == [.handled, .dead, .waiting])
        #expect(try store.kept(.waiting, after: 0, limit: 10).map(\.id) == [ids[2]])
        #expect(try store.kept(.dead, after: 0, limit: 10).map(\.envelope) == [Array(ids[1].utf8)])
    }

    /// A reader may outlive its command, which was killed.
    @Test func aLateReaderDoesNotFinishADeadLetter() throws {
        let store = try store()
        let id = Envelope.newID()
        _ = try store.receive([(id, Array(id.utf8))], to: .command)
        for _ in 1...5 { _ = try store.markFailed(id) }
        #expect(try !store.transaction { try $0.markOpened(id: id, envelope: Array(id.utf8)) })
        try store.finish([id])
        #expect(try store.kept(.dead, after: 0, limit: 10).map(\.id) == [id])
        try store.markForDelivery([id], .command)
        #expect(try store.kept(.waiting, after: 0, limit: 10).map(\.id) == [id])
        #expect(try !store.markFailed(id))
        #expect(try store.kept(.dead, after: 0, limit: 10).map(\.id) == [id])
    }

    /// Printed mail is kept until its messages have been printed too, in any order.
    @Test func printedMailIsKeptUntilItIsFinished() throws {
        let store = try store()
        let ids = (0..<4).map { _ in Envelope.newID() }
        let envelopes = ids.map { (id: $0, envelope: Array($0.utf8)) }
        _ = try store.receive(envelopes, to: .print)
        func open(_ id: String, _ bytes: [UInt8]) throws -> Bool {
            try store.transaction { try $0.markOpened(id: id, envelope: bytes) }
        }
        // A reader that is faster than recv's own mark, and one that uses a known id for other bytes.
        #expect(try open(ids[0], Array(ids[0].utf8)))
        #expect(try !open(ids[1], Array("forged".utf8)))
        try store.markPrinted(ids)
        #expect(try store.kept(.waiting, after: 0, limit: 10).isEmpty)
        #expect(try store.kept(.unfinished, after: 0, limit: 10).map(\.id) == ids)
        try store.finish([ids[0], ids[1]])
        #expect(try store.kept(.unfinished, after: 0, limit: 10).map(\.id) == Array(ids[1...]))
        #expect(try open(ids[1], Array(ids[1].utf8)))
        try store.finish([ids[1]])
        #expect(try store.count(.unfinished) == 2)
        #expect(try store.receive(envelopes, to: .print) == Array(repeating: .handled, count: 4))
    }

    /// A relay that claims the highest numbers does not use up ours.
    @Test func aRelaysMarkIsLimited() throws {
        let store = try store()
        _ = try store.transaction { try $0.publication() }
        for mark: UInt32 in [.max, .max - 50, 4_000_000_000, 3 << 30, 2_000_000_000] {
            let next = try store.transaction {
                // Each relay gets new prekeys at most once a day.
                try $0.replenishment(
                    for: "relay:\(mark)", has: 0, signedID: mark, oneTimeMark: mark)
            }
            #expect(next?.oneTimePreKeys.count == StateTransaction.batch)
        }
        for _ in 0..<3 { _ = try store.transaction { try $0.publication() } }
    }

    /// The clock may be wrong: age does not delete mail that was printed but not decrypted.
    @Test func unreadMailIsKeptWhateverTheClockSays() throws {
        let store = try store()
        let (id, bytes) = (Envelope.newID(), Array("x".utf8))
        _ = try store.receive([(id, bytes)], to: .print)
        try store.markPrinted([id])
        let database = try DurableDatabase(
            path: scratch("\(identity.id).db"),
            migrations: [], lockTimeout: 5)
        try database.transaction { connection throws(StateError) in
            try connection.run("UPDATE inbox SET arrived = 1")
        }
        try store.forgetOld()
        #expect(try store.kept(.unfinished, after: 0, limit: 9).map(\.envelope) == [bytes])
    }

    /// The copy of a message for a device is known as long as the id of its envelope can be repeated.
    @Test func arrivedCopiesEndWithTheIDsOfTheInbox() throws {
        let store = try store()
        try store.transaction { transaction in
            for number in 1...2 as ClosedRange<Int64> {
                try transaction.noteArrival(ofCopy: Envelope.newID(), [1], of: number)
            }
        }
        func update(_ query: String) throws -> [Int64] {
            try store.transaction { transaction in
                try transaction.connection.rows(query) { $0.integer(0) }
            }
        }
        _ = try update("UPDATE arrived_copy SET day = day - 61 WHERE message = 1")
        try store.forgetOld()
        #expect(try update("SELECT message FROM arrived_copy") == [2])
    }

    /// With a command, only its end counts: its decrypt does not delete the envelope.
    @Test func mailIsFinishedOnlyWithItsCommand() throws {
        let store = try store()
        let (id, bytes) = (Envelope.newID(), Array("x".utf8))
        _ = try store.receive([(id, bytes)], to: .command)
        let isMarked = try store.transaction { try $0.markOpened(id: id, envelope: bytes) }
        #expect(!isMarked)
        try store.finish([id])
        #expect(try store.kept(.waiting, after: 0, limit: 10).map(\.envelope) == [bytes])
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
        let queues = try one.queues()
        #expect(queues.map(\.relay) == ["r", "elsewhere"] && queues.map(\.count) == [3, 1])
        let (lock, same) = (try one.lock(of: "r"), try two.lock(of: "r"))
        #expect(lock.tryLock())
        #expect(!same.tryLock())
        // Each relay has its own queue and its own lock.
        #expect(try two.lock(of: "elsewhere").tryLock())
        try one.settle([(first[0], "stored"), (first[1], "stored"), (second[0], "stored")])
        #expect(try two.count(relay: "r") == 0)
        #expect(try two.collect(relay: "elsewhere").isEmpty)
        #expect(try two.collect(relay: "r").map(\.outcome) == ["stored"])
        #expect(try two.collect(relay: "r").isEmpty)
        lock.unlock()
        #expect(same.tryLock())
    }

    /// An item of a later version is not sent as another kind.
    @Test func anUnknownKindInTheOutboxIsAnError() throws {
        let directory = try StateDirectory(path: scratch.path)
        let outbox = try Outbox(directory: directory, lockTimeout: 5)
        _ = try outbox.append(
            [Outbox.Item(id: "a", to: "b", envelope: [0x41], kind: .envelope)], relay: "r")
        let path = directory.file("outbox.db")
        let database = try DurableDatabase(
            path: path, migrations: [],
            lockTimeout: 5)
        try database.transaction { connection throws(StateError) in
            try connection.run("UPDATE outbox SET kind = 9")
        }
        try database.close()
        #expect(throws: StateError.unknownItem(id: "a")) {
            try outbox.waiting(relay: "r", after: 0, limit: 10)
        }
        // It is listed, and can be dropped.
        #expect(try outbox.list().map(\.kind) == [nil])
        #expect(try outbox.drop(id: "a", outcome: "dropped") == 1)
        #expect(try outbox.list().isEmpty)
    }

    @Test(arguments: [
        ("blocked", JSON.string("yes")), ("formerAddresses", .array([.string("x")])),
        ("trust", .string("complete")), ("suite", .integer(1)), ("address", .bool(true)),
    ])
    func aContactWithAMalformedMemberIsRefused(_ name: String, _ value: JSON) {
        var record = Contact(name: "bob", id: identity.id, card: nil).record
        #expect(Contact(record: record) != nil)
        record[name] = value
        #expect(Contact(record: record) == nil)
    }

    @Test func aLockedDatabaseTimesOut() throws {
        let directory = try StateDirectory(path: scratch.path)
        let database = try DurableDatabase(
            path: scratch("x.db"), migrations: ["CREATE TABLE t (n)"], lockTimeout: 5)
        let other = try DurableDatabase(
            path: scratch("x.db"), migrations: ["CREATE TABLE t (n)"], lockTimeout: 0.05)
        _ = directory
        try database.transaction { _ throws(StateError) in
            do throws(StateError) {
                try other.transaction { connection throws(StateError) in
                    try connection.run("INSERT INTO t VALUES (1)")
                }
                Issue.record("two writers at once")
            } catch {
                #expect(error.failure.status == .tryAgain)
            }
        }
    }
}
