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
        let text = try Repository.text(path).replacing("ratchet/root/v1", with: "")
        for word in ["/work/", "../shared", "/home/", "/root"] {
            #expect(!text.contains(word), "\(word)")
        }
    }

    @Test("use options that exist")
    func commands() throws {
        var lines = try Markdown("README.md").blocks("sh").flatMap {
            $0.components(separatedBy: "\n")
        }
        for page in try Repository.pages() { lines += try ManualPage(page).commands }
        let commands = lines.flatMap(ShownCommand.all)
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
