import Foundation
import TestSupport
import Testing

@testable import SottoDatabase

/// The schema of a database file, with made-up versions.
@Suite struct DatabaseTests {
    let scratch = TemporaryDirectory()

    static let kind: Int32 = 0x536F_5465
    static let versions = [
        "CREATE TABLE fruit (name TEXT PRIMARY KEY); INSERT INTO fruit VALUES ('pear')",
        "ALTER TABLE fruit ADD COLUMN color TEXT",
        "CREATE INDEX fruit_color ON fruit(color)",
    ]

    func database(_ versions: [String], kind: Int32? = kind) throws -> DurableDatabase {
        try DurableDatabase(
            path: scratch("x.db"), kind: kind, migrations: versions, lockTimeout: 5, erases: true)
    }

    func files() throws -> [String: Data] {
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: scratch.path) {
            files[name] = FileManager.default.contents(atPath: scratch(name))
        }
        return files
    }

    @Test(arguments: 1...3) func aFileIsMigratedFromEachVersion(_ first: Int) throws {
        try database(Array(Self.versions[..<first])).close()
        let new = try database(Self.versions)
        try new.use { connection throws(DatabaseError) in
            #expect(try connection.integer("PRAGMA user_version") == 3)
            #expect(try connection.integer("PRAGMA application_id") == Int64(Self.kind))
            try connection.run("UPDATE fruit SET color = 'green' WHERE name = 'pear'")
            #expect(connection.changes == 1)
        }
    }

    /// Content that SQL cannot convert is converted after its script, in the same transaction.
    @Test func contentIsConvertedAfterItsScript() throws {
        try database(Array(Self.versions[..<1])).close()
        func migrate(_ color: String?) throws {
            let new = try DurableDatabase(
                path: scratch("x.db"), kind: Self.kind, version: 3, lockTimeout: 5, erases: true)
            defer { try? new.close() }
            try new.migrate(Self.versions) {
                (number: Int, connection: Connection<DatabaseError>) throws(DatabaseError) in
                guard number == 2 else { return }
                guard let color else { throw .damaged(path: "x") }
                try connection.run("UPDATE fruit SET color = ?", color)
            }
        }
        // A failure changes nothing.
        let before = try files()["x.db"]
        #expect(throws: DatabaseError.damaged(path: "x")) { try migrate(nil) }
        #expect(try files()["x.db"] == before)
        try migrate("yellow")
        try database(Self.versions).use { connection throws(DatabaseError) in
            let color = try connection.first("SELECT color FROM fruit") { $0.text(0) }
            #expect(color == "yellow")
        }
    }

    /// A file of another kind or of a later version is not changed, also if a process that was killed left its log.
    @Test(arguments: [false, true]) func anotherFileIsRefusedAndNotChanged(_ hasLog: Bool) throws {
        let later = try database(Self.versions)
        try later.use { connection throws(DatabaseError) in
            try connection.run("INSERT INTO fruit (name) VALUES ('plum')")
        }
        let path = scratch("x.db")
        if hasLog {
            // A copy of the files while they are open is what a killed process leaves.
            let copy = try files()
            try later.close()
            for (name, content) in copy where !name.hasSuffix("-shm") {
                try content.write(to: URL(fileURLWithPath: scratch(name)))
            }
        } else {
            try later.close()
        }
        let before = try files().filter { !$0.key.hasSuffix("-shm") }
        #expect(before.count == (hasLog ? 2 : 1))
        #expect(throws: DatabaseError.newerVersion(path: path)) {
            try database(Array(Self.versions[..<1]))
        }
        #expect(throws: DatabaseError.otherFormat(path: path)) {
            try database(Self.versions, kind: Self.kind + 1)
        }
        #expect(try files().filter { !$0.key.hasSuffix("-shm") } == before)
        let count = try database(Self.versions).use { connection throws(DatabaseError) in
            try connection.integer("SELECT count(*) FROM fruit")
        }
        #expect(count == 2)
    }
}
