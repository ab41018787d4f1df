import Foundation
import TestSupport
import Testing

/// Checks the tables of flaws in SECURITY.md against the tests that they name.
@Suite("SECURITY.md")
struct SecurityTests {
    /// A row of a table: its number and the tests in its last column.
    private struct Row {
        let number: String
        let cells: [String]
        var tests: [String] { cells[3].matches(of: #/`([^`]+)`/#).map { String($0.1) } }
    }

    private static func rows() throws -> [Row] {
        try Repository.text("SECURITY.md").components(separatedBy: "\n").compactMap { line in
            guard line.wholeMatch(of: #/\|\ [A-Z][0-9]+\ \|.*\|/#) != nil else { return nil }
            let cells = line.split(separator: "|").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            return Row(number: cells[0], cells: cells)
        }
    }

    /// Returns the names of all test functions.
    private static func tests() throws -> Set<String> {
        let folder = Repository.url("Tests")
        var names: Set<String> = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        where path.hasSuffix(".swift") {
            let text = try Repository.text("Tests/" + path)
            for match in text.matches(of: #/@Test[^{]*?\sfunc\s(\w+)\(/#) {
                names.insert(String(match.1))
            }
        }
        return names
    }

    /// The documents contain the same lines about each suite as `encrypt --help`, and about each messenger's format as
    /// `bridge --help`.
    @Test(
        "agrees with the help on what each suite protects",
        arguments: [
            ("encrypt", "README.md", 5), ("encrypt", "man/encrypt.1", 5),
            ("encrypt", "man/sotto-formats.5", 5), ("bridge", "README.md", 4),
            ("bridge", "man/bridge.1", 4), ("bridge", "man/sotto-formats.5", 4),
        ])
    func suites(_ tool: String, _ document: String, _ count: Int) throws {
        let help = try runInRepository(Programs.path(tool), ["--help"]).text.components(
            separatedBy: "\n")
        let first = try #require(help.firstIndex { $0.hasPrefix("suite ") })
        let table = help[first...].prefix { !$0.isEmpty }
        #expect(table.count == count)
        let text = try Repository.text(document).components(separatedBy: "\n")
        for line in table { #expect(text.contains(line), "\(line)") }
    }

    @Test("has a row for every flaw, in order")
    func everyFlaw() throws {
        let expected =
            (1...8).map { "P\($0)" } + (1...16).map { "R\($0)" } + (1...12).map { "B\($0)" }
            + (1...9).map { "H\($0)" }
        #expect(try Self.rows().map(\.number) == expected)
        for row in try Self.rows() {
            #expect(row.cells.count == 4 && !row.cells.contains(""), "\(row.number)")
        }
    }

    @Test("names existing tests, and for each flaw at least one with its number as prefix")
    func everyTest() throws {
        let tests = try Self.tests()
        for row in try Self.rows() {
            for name in row.tests { #expect(tests.contains(name), "\(row.number): \(name)") }
            let prefix = row.number.lowercased()
            let own = row.tests.filter {
                $0.hasPrefix(prefix) && !($0.dropFirst(prefix.count).first?.isNumber ?? true)
            }
            #expect(!own.isEmpty, "\(row.number)")
        }
    }
}
