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
            let version = try connection.integer("PRAGMA user_version")
            #expect(version == SchemaVersion.number(of: Self.versions))
            #expect(SchemaVersion.count(in: version) == 3)
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
                path: scratch("x.db"), kind: Self.kind, migrations: Self.versions, lockTimeout: 5,
                erases: true, migrates: false)
            defer { try? new.close() }
            try new.migrate {
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

    /// The number of a file tells how many scripts made it, and which.
    @Test func aVersionIsKnownByItsScripts() {
        for count in 0...3 {
            let number = SchemaVersion.number(of: Self.versions.prefix(count))
            #expect(SchemaVersion(number, of: Self.versions) == .known)
            #expect(SchemaVersion.count(in: number) == count)
            // Four bytes with a sign.
            #expect(number == Int64(Int32(truncatingIfNeeded: number)))
        }
        #expect(SchemaVersion.number(of: []) == 0)
        let three = SchemaVersion.number(of: Self.versions)
        #expect(SchemaVersion(three, of: Array(Self.versions.prefix(2))) == .later)
        for number in [three ^ 1, three - 1, 1, 3, -1, .min] {
            #expect(SchemaVersion(number, of: Self.versions) == .other)
        }
        // A script that was changed in any place makes another file.
        for place in Self.versions.indices {
            var changed = Self.versions
            changed[place] += " "
            #expect(SchemaVersion(three, of: changed) == .other)
        }
    }

    /// A file of another kind, with tables of other scripts or of a later version is not changed, also if a process that was killed left its log.
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
        for place in Self.versions.indices {
            var changed = Self.versions
            changed[place] += " "
            #expect(throws: DatabaseError.otherFormat(path: path)) { try database(changed) }
            #expect(throws: DatabaseError.otherFormat(path: path)) { try database(changed + ["-"]) }
        }
        #expect(try files().filter { !$0.key.hasSuffix("-shm") } == before)
        let count = try database(Self.versions).use { connection throws(DatabaseError) in
            try connection.integer("SELECT count(*) FROM fruit")
        }
        #expect(count == 2)
    }
}
