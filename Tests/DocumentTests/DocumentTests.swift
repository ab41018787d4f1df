import Foundation
import TestSupport
import Testing

@Suite("Documents")
struct DocumentTests {
    private static let documents = [
        "README.md", "DESIGN.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md",
    ]

    @Test("exist", arguments: documents + ["LICENSE"])
    func exist(_ path: String) { #expect(Repository.exists(path)) }

    @Test("link to files that exist", arguments: documents)
    func links(_ path: String) throws {
        for link in try Markdown(path).links { #expect(Repository.exists(link), "\(link)") }
    }

    @Test("name nothing outside the repository", arguments: try documents + Repository.pages())
    func names(_ path: String) throws {
        // A label of the ratchet, not a path.
        let text = try Repository.text(path).replacing(#/ratchet/root/(kem/)?v1/#, with: "")
        for word in ["/work/", "../shared", "/home/", "/root"] {
            #expect(!text.contains(word), "\(word)")
        }
    }

    /// The lines of shell of the pages and of README.
    private func lines() throws -> [String] {
        let blocks = try Markdown("README.md").blocks("sh").flatMap {
            $0.components(separatedBy: "\n")
        }
        return try Repository.pages().reduce(into: blocks) { $0 += try ManualPage($1).commands }
    }

    /// After `make install` the short names are not on the path.
    @Test("write commands that an installation has on the path")
    func namesOnThePath() throws {
        for line in try lines() {
            #expect(!ShownCommand.all(in: line).contains { !$0.isOnPath }, "\(line)")
        }
        for (line, isOnPath) in [
            ("$ recv | sotto decrypt", [false, true]), ("sotto recv | decrypt", [true, false]),
            ("$ sotto-recv --exec 'decrypt -q'", [true, false]),
        ] {
            #expect(ShownCommand.all(in: line).map(\.isOnPath) == isOnPath, "\(line)")
        }
    }

    @Test("help writes commands that an installation has on the path", arguments: Repository.tools)
    func help(_ tool: String) throws {
        for command in try [[]] + HelpDump.of(tool).subcommands.map({ [$0] }) {
            let help = try Home().run(tool, command + ["--help"]).text.components(separatedBy: "\n")
            var isExample = false
            for line in help {
                if line.hasPrefix("EXAMPLE") { #expect(line == "EXAMPLES") }
                isExample = line == "EXAMPLES" || isExample && !line.isEmpty
                guard isExample else { continue }
                #expect(!ShownCommand.all(in: line).contains { !$0.isOnPath }, "\(line)")
            }
            let usage = try #require(help.firstIndex { $0.hasPrefix("USAGE: ") })
            // A continuation line is indented further.
            let forms = help[usage...].prefix { !$0.isEmpty }.map { $0.dropFirst("USAGE: ".count) }
            #expect(
                forms.allSatisfy { $0.hasPrefix("sotto \(tool)") || $0.hasPrefix(" ") },
                "\(forms)")
        }
    }

    @Test("use options that exist")
    func commands() throws {
        let commands = try lines().flatMap(ShownCommand.all)
        #expect(Set(commands.map(\.tool)) == Set(Repository.tools))
        for command in commands {
            #expect(try command.unknownFlags() == [], "\(command)")
        }
    }

    @Test("README names every tool and its page")
    func readme() throws {
        let text = try Repository.text("README.md")
        for tool in Repository.tools {
            #expect(text.contains("(\(Repository.page(of: tool)))"), "\(tool)")
        }
    }
}
