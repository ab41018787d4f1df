import Glibc
import Sotto
import SottoProgram
import SottoDatabase
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoServer
@testable import relay

@Suite struct StoreTests {
    let place = StoreFixture()
    let bob = Sample.identity().id

    func ids(_ store: any Store, dead: Bool = false, at minute: Int64 = 1) throws -> [String] {
        try store.messages(in: bob, after: 0, limit: 100, dead: dead, at: minute).messages.map(\.id)
    }

    @Test func theHintForADamagedStoreSpeaksOfARelay() throws {
        let error = StoreError(DatabaseError.damaged(path: "relay.db"))
        let hint = try #require(error.failure.hint)
        #expect(hint.contains("members") && !hint.contains("sessions"))
    }

    @Test(arguments: StoreKind.available) func anEnvelopeIsStoredUnchanged(_ kind: StoreKind) throws
    {
        let store = try place.open(kind)
        let envelope = Sample.envelope(to: bob)
        #expect(try store.commit([.store(envelope)], at: 1) == [.stored])
        let page = try store.messages(in: bob, after: 0, limit: 10, dead: false, at: 1)
        #expect(page.messages.map(\.delivered.envelope) == [envelope.bytes])
        #expect(page.messages.map(\.id) == [envelope.id])
    }

    @Test(arguments: StoreKind.available) func idsAreRecognizedPerMailbox(_ kind: StoreKind) throws
    {
        let store = try place.open(kind)
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

    @Test(arguments: StoreKind.available) func orderSurvivesAReopening(_ kind: StoreKind) throws {
        var expected: [String] = []
        for _ in 0..<3 {
            let store = try place.open(kind)
            let batch = (0..<10).map { _ in Sample.envelope(to: bob) }
            expected += batch.map(\.id)
            _ = try store.commit(batch.map { .store($0) }, at: 1)
            // Deleting the last one must not make its number free again.
            let last = expected.removeLast()
            _ = try store.commit([.acknowledge(bob, ids: [last], .delivered)], at: 1)
            try store.close()
        }
        let store = try place.open(kind)
        #expect(try ids(store) == expected)
        let page = try store.messages(in: bob, after: 0, limit: 4, dead: false, at: 1)
        #expect(page.hasMore && page.messages.count == 4)
    }

    @Test(arguments: StoreKind.available) func theFifthFailureMakesADeadLetter(_ kind: StoreKind)
        throws
    {
        let store = try place.open(kind)
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

    @Test(arguments: StoreKind.available) func aFullMailboxRefusesMailAndLosesNothing(
        _ kind: StoreKind
    ) throws {
        let store = try place.open(kind, Retention(mailboxMessages: 2))
        let all = (0..<3).map { _ in Sample.envelope(to: bob) }
        #expect(
            try store.commit(all.map { .store($0) }, at: 1) == [.stored, .stored, .mailboxFull])
        #expect(try store.commit([.store(all[0])], at: 1) == [.duplicate])
        _ = try store.commit([.acknowledge(bob, ids: [all[0].id], .delivered)], at: 1)
        #expect(try store.commit([.store(all[2])], at: 1) == [.stored])
        #expect(try ids(store) == [all[1].id, all[2].id])
    }

    @Test(arguments: StoreKind.available) func bytesAreCountedToo(_ kind: StoreKind) throws {
        let envelope = Sample.envelope(to: bob)
        let store = try place.open(kind, Retention(mailboxBytes: Int64(envelope.bytes.count)))
        #expect(
            try store.commit([.store(envelope), .store(Sample.envelope(to: bob))], at: 1)
                == [.stored, .mailboxFull])
    }

    @Test(arguments: StoreKind.available) func timeToLive(_ kind: StoreKind) throws {
        let store = try place.open(kind, Retention(minutes: 10, mailboxMessages: 1))
        let envelope = Sample.envelope(to: bob)
        _ = try store.commit([.store(envelope)], at: 1)
        #expect(try ids(store, at: 10) == [envelope.id])
        #expect(try ids(store, at: 11) == [])
        #expect(try store.sweep(at: 11) == false)
        // The space is free again, but the id stays known for a week.
        #expect(try store.commit([.store(envelope)], at: 11) == [.duplicate])
        #expect(try store.commit([.store(Sample.envelope(to: bob))], at: 11) == [.stored])
        _ = try store.sweep(at: 12 + Retention.tombstoneMinutes)
        _ = try store.sweep(at: 40 + Retention.tombstoneMinutes)
        #expect(
            try store.commit([.store(envelope)], at: 40 + Retention.tombstoneMinutes) == [.stored])
    }

    @Test func oneRelayAtATime() throws {
        let first = try place.open(.sqlite)
        #expect(throws: StoreError.self) { try place.open(.sqlite) }
        try first.close()
        _ = try place.open(.sqlite)
    }

    /// Opens the file as a later version of the relay does, with one more script.
    private func later(_ path: String) throws -> DurableDatabase {
        try DurableDatabase(
            path: path, kind: SQLiteStore.kind,
            migrations: SQLiteStore.migrations + [
                "ALTER TABLE room ADD COLUMN flag INTEGER; UPDATE mailbox SET dead = 7"
            ], lockTimeout: 1)
    }

    /// A later version of the schema changes the tables, and keeps what is in them.
    @Test func aStoreIsMigratedToALaterVersion() throws {
        let path = place.scratch("relay.db")
        let store = try place.open(.sqlite)
        #expect(try store.commit([.store(Sample.envelope(to: bob))], at: 1) == [.stored])
        try store.close()
        let database = try later(path)
        try database.use { connection throws(DatabaseError) in
            let version = try connection.integer("PRAGMA user_version")
            #expect(SchemaVersion.count(in: version) == 2)
            #expect(try connection.integer("SELECT count(flag) FROM room") == 0)
            #expect(try connection.integer("SELECT dead FROM mailbox") == 7)
            #expect(try connection.integer("SELECT count(*) FROM envelope") == 1)
        }
        try database.close()
    }

    /// The names and contents of the store's files.
    private func files() -> [String: [UInt8]] {
        ["relay.db", "relay.db-wal", "relay.db-shm"].reduce(into: [:]) {
            $0[$1] = TemporaryDirectory.contents(place.scratch($1))
        }
    }

    @Test func aNewerFileIsNotTouched() throws {
        let path = place.scratch("relay.db")
        try place.open(.sqlite).close()
        try later(path).close()
        let before = files()
        #expect(throws: StoreError.newerVersion(name: path)) { try place.open(.sqlite) }
        #expect(files() == before)
    }

    /// A store of a build before the first release.
    enum Earlier: CaseIterable {
        /// Without the mark of a store, and with one script or several.
        case unmarked, unmarkedLater
        /// With the mark of a store, version 1 and other tables.
        case counted
        /// With the mark of a store and the number of other scripts.
        case changed

        func make(_ path: String) throws {
            let script = "CREATE TABLE mailbox (number INTEGER PRIMARY KEY)"
            let database = try DurableDatabase(
                path: path, kind: self == .changed ? SQLiteStore.kind : nil,
                migrations: self == .unmarkedLater ? [script, "", ""] : [script], lockTimeout: 1)
            if self == .counted {
                try database.use { connection throws(DatabaseError) in
                    try connection.script(
                        """
                        PRAGMA application_id = \(SQLiteStore.kind);
                        PRAGMA user_version = 1
                        """)
                }
            }
            try database.close()
        }
    }

    @Test(arguments: Earlier.allCases) func aStoreOfAnUnreleasedBuildIsNotTouched(
        _ earlier: Earlier
    ) throws {
        let path = place.scratch("relay.db")
        try earlier.make(path)
        let before = files()
        #expect(throws: StoreError.database(.otherFormat(path: path))) {
            try place.open(.sqlite)
        }
        let errors = place.scratch("errors")
        for command in [
            ["--listen", "127.0.0.1:0", "--store", path],
            ["backup", "--store", path, "-o", place.scratch("copy")],
        ] {
            unlink(errors)
            #expect(ChildProcess.run("relay", command, errors: errors) == 78)
            #expect(
                place.scratch.lines("errors").first
                    == "relay: error: no released sotto wrote \(path)")
        }
        #expect(StoreFile.Kind(header: Array((files()["relay.db"] ?? []).prefix(100))) == .other)
        #expect(files() == before)
    }

    func fail(_ store: any Store, _ id: String) throws {
        for _ in 0..<5 { _ = try store.commit([.acknowledge(bob, ids: [id], .failed)], at: 1) }
    }

    @Test(arguments: StoreKind.available) func deadLettersDoNotFillAMailbox(_ kind: StoreKind)
        throws
    {
        let store = try place.open(kind, Retention(mailboxMessages: 2, deadMessages: 3))
        let all = (0..<5).map { _ in Sample.envelope(to: bob) }
        for envelope in all {
            #expect(try store.commit([.store(envelope)], at: 1) == [.stored])
            try fail(store, envelope.id)
        }
        // The three newest are kept; the older ones were deleted.
        #expect(try ids(store, dead: true) == all.suffix(3).map(\.id))
        let live = (0..<3).map { _ in Sample.envelope(to: bob) }
        #expect(
            try store.commit(live.map { .store($0) }, at: 1) == [.stored, .stored, .mailboxFull])
        #expect(try ids(store) == live.prefix(2).map(\.id))
        // A further failure changes nothing; an acknowledgement deletes it, once.
        let taken = all[3].id
        #expect(
            try store.commit(
                [
                    .acknowledge(bob, ids: [taken], .failed),
                    .acknowledge(bob, ids: [taken], .delivered),
                    .acknowledge(bob, ids: [taken, Envelope.newID()], .delivered),
                ], at: 1)
                == [
                    .acknowledged(removed: 0), .acknowledged(removed: 1),
                    .acknowledged(removed: 0),
                ])
        #expect(try ids(store, dead: true) == [all[2].id, all[4].id])
    }

    @Test(arguments: StoreKind.available) func deadLettersHaveAQuarterOfTheBytes(_ kind: StoreKind)
        throws
    {
        let envelopes = (0..<4).map { _ in Sample.envelope(to: bob) }
        let size = Int64(envelopes[0].bytes.count)
        let store = try place.open(kind, Retention(mailboxBytes: 8 * size))
        for envelope in envelopes {
            _ = try store.commit([.store(envelope)], at: 1)
            try fail(store, envelope.id)
        }
        #expect(try ids(store, dead: true) == envelopes.suffix(2).map(\.id))
        let live = (0..<9).map { _ in Change.store(Sample.envelope(to: bob)) }
        #expect(
            try store.commit(live, at: 1)
                == [Outcome](repeating: .stored, count: 8) + [.mailboxFull])
    }

    @Test(arguments: StoreKind.available) func deadLettersExpireToo(_ kind: StoreKind) throws {
        let store = try place.open(kind, Retention(minutes: 10, mailboxMessages: 1))
        let dead = Sample.envelope(to: bob)
        _ = try store.commit([.store(dead)], at: 1)
        try fail(store, dead.id)
        #expect(try store.commit([.store(Sample.envelope(to: bob))], at: 5) == [.stored])
        _ = try store.sweep(at: 12)
        #expect(try ids(store, dead: true, at: 12) == [])
        #expect(try store.commit([.store(Sample.envelope(to: bob))], at: 12) == [.mailboxFull])
        _ = try store.sweep(at: 16)
        #expect(try store.commit([.store(Sample.envelope(to: bob))], at: 16) == [.stored])
    }
}
