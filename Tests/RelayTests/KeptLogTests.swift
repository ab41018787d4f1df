import Foundation
import TestSupport
import Testing

@testable import SottoDatabase

/// The log that stays when a file is closed.
@Suite struct KeptLogTests {
    let scratch = TemporaryDirectory()

    private static let schema =
        "CREATE TABLE fruit (number INTEGER PRIMARY KEY, count INTEGER, name BLOB)"

    private func database() throws -> DurableDatabase {
        try DurableDatabase(
            path: scratch("x.db"), migrations: [Self.schema], lockTimeout: 5, erases: true,
            keepsLog: true)
    }

    /// Opens the file, runs a statement, and closes it.
    private func run(_ sql: String) throws {
        let database = try database()
        try database.transaction { connection throws(DatabaseError) in try connection.run(sql) }
        try database.close()
    }

    private func log(_ suffix: String = "-wal") -> Data? {
        FileManager.default.contents(atPath: scratch("x.db" + suffix))
    }

    private func put(_ name: String, _ content: Data?) throws {
        try content?.write(to: URL(fileURLWithPath: scratch(name)))
    }

    private func names() throws -> [String] {
        let database = try database()
        defer { try? database.close() }
        return try database.use { connection throws(DatabaseError) in
            try connection.rows("SELECT name FROM fruit ORDER BY number") {
                row throws(DatabaseError) in row.text(0)
            }
        }
    }

    @Test func theLogStaysUntilSomethingIsErased() throws {
        try run("INSERT INTO fruit (name) VALUES ('pear')")
        let first = try #require(log())
        #expect(!first.isEmpty)
        // A count is no content, and a statement that finds no row erases nothing.
        try run("UPDATE fruit SET count = 1")
        try run("DELETE FROM fruit WHERE name = 'plum'")
        #expect(try names() == ["pear"])
        #expect(try #require(log()).starts(with: first))
        for sql in [
            "UPDATE fruit SET name = 'plum'", "INSERT OR REPLACE INTO fruit VALUES (1, 2, 'fig')",
            "INSERT INTO fruit VALUES (1, 2, 'kiwi') ON CONFLICT DO UPDATE SET name = excluded.name",
            "DELETE FROM fruit",
        ] {
            try run(sql)
            #expect(log() == nil, "\(sql)")
            try run("INSERT OR IGNORE INTO fruit (name) VALUES ('pear')")
            #expect(log() != nil)
        }
        #expect(try names() == ["pear"])
    }

    @Test func aLongLogIsEmptied() throws {
        try run("INSERT INTO fruit (name) VALUES (zeroblob(1000))")
        #expect(log() != nil)
        try run("INSERT INTO fruit (name) VALUES (zeroblob(1000000))")
        #expect(log() == nil)
        #expect(try names().count == 2)
    }

    /// A program that was killed after it erased something leaves a log that the next one empties.
    @Test func theLogOfAKilledProgramIsEmptied() throws {
        try run("INSERT INTO fruit (name) VALUES ('pear')")
        let killed = try database()
        try killed.transaction { connection throws(DatabaseError) in
            try connection.run("UPDATE fruit SET name = 'plum'")
        }
        let (file, log) = (log(""), log())
        try killed.close()
        // What is left after a kill, with the name of the log before it.
        try put("x.db", file)
        try put("x.db-wal", log)
        #expect(try names() == ["plum"])
        #expect(self.log() == nil)
    }

    /// What another connection erased meanwhile is not in a log that stays.
    @Test(arguments: [false, true]) func anotherProgramErases(_ isLast: Bool) throws {
        try run("INSERT INTO fruit (name) VALUES ('pear')")
        let (one, two) = (try database(), try database())
        try one.transaction { connection throws(DatabaseError) in
            try connection.run("INSERT INTO fruit (name) VALUES ('plum')")
        }
        try two.transaction { connection throws(DatabaseError) in
            try connection.run("DELETE FROM fruit WHERE name = 'pear'")
        }
        try (isLast ? one : two).close()
        try (isLast ? two : one).close()
        #expect(log() == nil)
        #expect(try names() == ["plum"])
    }
}
