import Foundation
import Glibc
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

    @Test("the session of README works as typed")
    func readmeSession() throws {
        let block = try #require(
            try Markdown("README.md").blocks("sh").first { $0.contains("relay --") })
        let run = try session(block.components(separatedBy: "\n"), options: "-euo")
        #expect(run.status == 0, "\(run.stderr)")
        #expect(run.lines.contains("hello, bob"))
        // The output that a comment promises is printed.
        for match in block.matches(of: #/#\ prints:\ (.*)/#) {
            #expect(run.lines.contains(String(match.1)), "\(match.1)")
        }
    }

    @Test("the session of sotto(7) works as typed, and prints what the page shows")
    func pageSession() throws {
        let page = try ManualPage("man/sotto.7")
        let lines = page.section("THE SESSION")
        let run = try session(page.commands(of: "THE SESSION"), options: "-uo")
        var isLiteral = false
        var shown: [String] = []
        for line in lines {
            if line.hasPrefix(".") {
                isLiteral = line.hasPrefix(".Bd ")
            } else if isLiteral, !line.hasPrefix("$ ") {
                shown.append(line)
            }
        }
        #expect(shown.count >= 4)
        let printed = (run.text + run.stderr).components(separatedBy: "\n")
        for line in shown { #expect(printed.contains(line), "\(line): \(run.stderr)") }
    }

    /// Runs lines in a shell with a separate home and a free port.
    private func session(_ lines: [String], options: String) throws -> Run {
        let home = Home()
        let script = lines.joined(separator: "\n")
            .replacingOccurrences(of: "7667", with: "\(try freePort())")
        let programs = (Programs.path("sotto") as NSString).deletingLastPathComponent
        var environment = home.environment
        environment["PATH"] = "\(programs):/usr/bin:/bin"
        let bash = try #require(Programs.find("bash"))
        return try Command(
            path: bash, [options, "pipefail", "-c", script], environment: environment,
            directory: home.files.path
        ).run()
    }

    /// Returns a port that was free a moment ago.
    private func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isBound else { throw SystemError("bind") }
        return UInt16(bigEndian: address.sin_port)
    }
}
