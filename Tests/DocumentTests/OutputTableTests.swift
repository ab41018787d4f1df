import Testing

/// The table of sotto(7) with the kinds of output.
@Suite("The table of outputs")
struct OutputTableTests {
    static let kinds: Set<String> = ["values", "records", "lines", "none"]

    /// The kinds of each command; a tool without subcommands has itself.
    private static func table() throws -> [String: Set<String>] {
        var table: [String: Set<String>] = [:]
        for line in try ManualPage("man/sotto.7").section("OUTPUT") {
            guard let row = line.firstMatch(of: #/^\.It (\w+) Ta (\w+) Ta (.+)$/#) else { continue }
            let names = row.3.split(separator: ",").map { $0.filter { $0 != " " } }
            for name in names {
                // encrypt and decrypt have kinds for files and messages.
                let isForm = ["-", "files", "messages"].contains(name)
                table[isForm ? "\(row.1)" : "\(row.1) \(name)", default: []].insert(String(row.2))
            }
        }
        return table
    }

    @Test("has each command with its kind")
    func commands() throws {
        let table = try Self.table()
        var known: Set<String> = []
        for tool in Repository.tools + ["sotto"] {
            let dump = try HelpDump.of(tool)
            known.formUnion(
                dump.commands.isEmpty ? [tool] : Set(dump.subcommands.map { "\(tool) \($0)" }))
        }
        #expect(Set(table.keys) == known)
        #expect(table.values.allSatisfy { $0.isSubset(of: Self.kinds) })
    }

    @Test("lists those with records, of which both forms can be chosen")
    func forms() throws {
        let table = try Self.table()
        for tool in Repository.tools + ["sotto"] {
            let dump = try HelpDump.of(tool)
            for command in dump.commands.isEmpty ? [dump] : dump.commands {
                let names = Set(command.arguments.flatMap(\.names))
                let name = dump.commands.isEmpty ? tool : "\(tool) \(command.name)"
                let isRecords = table[name]?.contains("records") == true
                #expect(names.contains("--text") == isRecords, "\(name)")
                if isRecords { #expect(names.contains("--json"), "\(name)") }
            }
        }
    }
}
