import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

/// A state of version 0.1.0 becomes a state with a history. Tests/Vectors/state-0.1.0/make made it.
@Suite struct HistoryMigrationTests {
    let home: Home
    let bob: Party

    init() throws {
        home = Home()
        for name in ["bob.key", "family.chat", "envelopes.ndjson", "printed.ndjson"] {
            home.files.write(name, Self.file(name))
        }
        bob = try Party(
            name: "bob",
            identity: Identity(record: JSON.object(parsing: home.files.read("bob.key"))), home: home
        )
        _ = try StateDirectory(path: home.files(bob.stateDirectory))
        home.files.write(bob.database, Self.file("bob.db"))
    }

    static func file(_ name: String) -> [UInt8] { Vectors.file("state-0.1.0/" + name) }

    func store() throws -> IdentityStore {
        try IdentityStore(
            directory: StateDirectory(path: home.files(bob.stateDirectory)),
            identity: bob.identity, lockTimeout: 20)
    }

    @Test func theMessagesArePrintedAsBefore() throws {
        let printed = try home.files.read("printed.ndjson")
        #expect(try bob.run("decrypt", ["--again"]).stdout == printed)
        // Each envelope is still a repeat.
        let again = try bob.run("decrypt", ["--chat", "family.chat", "envelopes.ndjson"])
        #expect(again.status == 0 && again.stdout == printed)
        // The number still selects a message.
        #expect(try bob.run("decrypt", ["--again", "--since", "6"]).lines.count == 1)
    }

    @Test func anEnvelopeWithAKnownIDAndOtherContentIsRefused() throws {
        let line = try #require(
            try home.files.read("envelopes.ndjson").split(separator: 0x0A).last.map { Array($0) })
        var envelope = try JSON.object(parsing: line)
        envelope["time"] = .string("2026-11-22T00:00:00Z")
        let run = try bob.run("decrypt", stdin: envelope.serialized())
        #expect([11, 13].contains(run.status) && run.lines.count == 1)
    }

    @Test func theMessagesAreInConversationsAndRead() throws {
        let store = try store()
        let conversations = try store.conversations()
        #expect(conversations.count == 3)
        #expect(conversations.allSatisfy { $0.unread == 0 && $0.read == $0.last })
        let alice = try #require(conversations.first?.conversation)
        let entries = try store.history(conversation: alice, limit: 50)
        #expect(entries.map(\.number) == [1, 2, 3, 6, 7])
        #expect(entries.allSatisfy { $0.direction == .received && $0.peer == alice.peer })
        // A version before 0.1.0 recorded no time.
        #expect(entries.map { $0.received == nil } == [true, false, false, false, false])
        #expect(entries[1].record["x-extra"]?.object != nil)
        #expect(try store.history(conversation: .peer(bob.identity.id), limit: 9).count == 1)
    }

    @Test func theOldTableIsErased() throws {
        let digests = try bob.old { connection throws(StateError) in
            try connection.rows("SELECT digest FROM opened") { $0.bytes(0) }
        }
        #expect(digests.count == 7)
        _ = try store()
        let tables = try bob.state { connection throws(StateError) in
            try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
            return try connection.rows("SELECT name FROM sqlite_master") { $0.text(0) }
        }
        #expect(tables.contains("message") && !tables.contains("opened"))
        let file = hex(try home.files.read(bob.database))
        #expect(!digests.contains { file.contains(hex($0)) })
    }

    @Test func aDamagedRecordIsStillARepeat() throws {
        try bob.old { connection throws(StateError) in
            try connection.run("UPDATE opened SET record = zeroblob(200) WHERE number = 2")
        }
        let run = try bob.run("decrypt", ["--again"])
        #expect(run.status == 0 && run.lines.count == 6)
        let lines = try home.files.read("envelopes.ndjson").split(separator: 0x0A)
        #expect(try bob.run("decrypt", stdin: Array(lines[1])).lines.isEmpty)
        #expect(try store().historyEntry(number: 2)?.state == .damaged)
    }

    @Test func aFailedUpgradeChangesNothing() throws {
        try bob.old { connection throws(StateError) in
            try connection.run("CREATE TABLE event (x)")
        }
        #expect(throws: StateError.self) { try store() }
        try bob.old { connection throws(StateError) in
            #expect(try connection.integer("SELECT count(*) FROM opened") == 7)
            #expect(try connection.integer("PRAGMA user_version") == 5)
            #expect(
                try !connection.exists("SELECT 1 FROM sqlite_master WHERE name = 'message'"))
            try connection.run("DROP TABLE event")
        }
        #expect(try bob.run("decrypt", ["--again"]).lines.count == 7)
    }
}

extension Party {
    /// Accesses the database file of version 0.1.0, which had five migrations.
    @discardableResult
    fileprivate func old<T>(_ body: (StateConnection) throws(StateError) -> T) throws -> T {
        let store = try DurableDatabase(
            path: home.files(database), migrations: Array(repeating: "", count: 5), lockTimeout: 20)
        let value = try store.use(body)
        try store.close()
        return value
    }
}
