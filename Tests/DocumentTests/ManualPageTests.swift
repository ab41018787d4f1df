import Foundation
import SottoBytes
import SottoTool
import TestSupport
import Testing

@Suite("Manual pages")
struct ManualPageTests {
    @Test("exist for every tool, and for the whole")
    func exist() throws {
        for page in Repository.tools.map(Repository.page) + [
            "man/sotto.1", "man/sotto.7", "man/sotto-formats.5",
            "man/sotto-relay.7", "man/sotto-cookbook.7",
        ] {
            #expect(Repository.exists(page), "\(page) is missing")
        }
    }

    @Test("are mdoc without a warning", .needs(.mandoc), arguments: try Repository.pages())
    func lint(_ page: String) throws {
        let run = try runInRepository(
            Peer.mandoc.path, ["-T", "lint", "-W", "warning", page])
        #expect(run.status == 0 && run.stdout.isEmpty, "\(run.text)\(run.stderr)")
    }

    @Test("explain every option, and no other", arguments: Repository.tools + ["sotto"])
    func options(_ tool: String) throws {
        let dump = try HelpDump.of(tool)
        let page = try ManualPage(Repository.page(of: tool))
        let known = Set(dump.flags.map(\.names))
        for option in page.options {
            #expect(known.contains(option.names), "\(tool) has no \(option.names.sorted())")
        }
        for flag in dump.flags {
            let found = page.options.filter { $0.names == flag.names }
            #expect(!found.isEmpty, "\(flag.names.sorted()) of \(tool) is not explained")
            for option in found { check(option, against: flag, of: tool) }
        }
        #expect(page.subcommands == Set(dump.subcommands))
    }

    private func check(
        _ option: ManualPage.Option, against flag: HelpDump.Flag, of tool: String
    ) {
        let name = "\(flag.names.sorted()) of \(tool)"
        if flag.hasOwnValueName || flag.value == nil {
            #expect(option.value == flag.value, "value of \(name)")
        } else {
            // The tool has no separate name for the value.
            #expect(option.value != nil, "value of \(name)")
        }
        if let value = flag.defaultValue {
            #expect(
                option.states(default: value), "default \(value) of \(name): \(option.text)")
        }
    }

    @Test("show only options that exist in their synopsis", arguments: Repository.tools + ["sotto"])
    func synopsis(_ tool: String) throws {
        let known = try HelpDump.of(tool).flags.reduce(into: Set()) { $0.formUnion($1.names) }
        let shown = try ManualPage(Repository.page(of: tool)).synopsis
        #expect(!shown.isEmpty)
        #expect(shown.subtracting(known) == [])
    }

    @Test("have the version of the tools", arguments: try Repository.pages())
    func version(_ page: String) throws {
        #expect(try Repository.text(page).contains("\n.Os Sotto \(sottoVersion)\n"))
    }

    @Test("describe each exit status like the code, in sotto(7) all of them")
    func allExitStatuses() throws {
        let meanings = try Self.meanings()
        #expect(Set(meanings.keys) == Set(ExitStatus.allCases.map(\.rawValue)))
        let rows = try ManualPage("man/sotto.7").exitStatuses
        #expect(rows.map(\.number) == ExitStatus.allCases.map(\.rawValue).sorted())
        for row in rows { #expect(row.meaning == meanings[row.number]) }
    }

    @Test("list the exit statuses of their tool", arguments: Repository.tools + ["sotto"])
    func exitStatuses(_ tool: String) throws {
        let meanings = try Self.meanings()
        let rows = try ManualPage(Repository.page(of: tool)).exitStatuses
        #expect(rows.map(\.number) == rows.map(\.number).sorted())
        #expect(Set(rows.map(\.number)).isSuperset(of: [0, 64]))
        for row in rows { #expect(row.meaning == meanings[row.number], "\(tool) \(row.number)") }
    }

    /// Returns the comments of ``ExitStatus`` for each number.
    private static func meanings() throws -> [Int32: String] {
        var meanings: [Int32: String] = [:]
        var comment = ""
        for line in try Repository.text("Sources/SottoBytes/ExitStatus.swift")
            .components(separatedBy: "\n")
        {
            if let match = line.firstMatch(of: #/^    \/\/\/ (.*)$/#) {
                comment += (comment.isEmpty ? "" : " ") + match.1
            } else if let match = line.firstMatch(of: #/^    case \w+ = (\d+)$/#) {
                meanings[Int32(match.1)!] = comment
                comment = ""
            }
        }
        return meanings
    }
}
