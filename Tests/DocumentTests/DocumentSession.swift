import Foundation
import Glibc
import TestSupport

/// A session in a document, which people type into one shell.
struct DocumentSession {
    private(set) var steps: [TestScript.Step] = []
    private let port: UInt16

    /// The lines that the document says are printed.
    var promises: [String] {
        steps.compactMap {
            guard case .printed(let line) = $0.action else { return nil }
            return line
        }
    }

    /// A block of README.md: every line is a command, and `# prints: TEXT` is a promise.
    init(readme block: String) throws {
        port = try Self.freePort()
        for line in block.split(separator: "\n") {
            command(String(line))
            if let promise = line.firstMatch(of: #/#\ prints:\ (.*)/#) {
                add(String(line), .printed(String(promise.1)))
            }
        }
    }

    /// A section of a manual page: lines after `$ ` are commands, the other literal lines are promises. The last command
    /// after "exits 75:" has that status.
    init(page lines: [String]) throws {
        port = try Self.freePort()
        var isLiteral = false
        var status: Int32 = 0
        for (index, line) in lines.enumerated() {
            if let match = line.wholeMatch(of: #/exits\ ([0-9]+):/#) {
                status = Int32(match.1)!
            } else if line.hasPrefix(".") {
                isLiteral = line.hasPrefix(".Bd ")
            } else if isLiteral, line.hasPrefix("$ ") {
                let isLast = index + 1 < lines.count && lines[index + 1] == ".Ed"
                command(String(line.dropFirst(2)), status: isLast ? status : 0)
                if isLast { status = 0 }
            } else if isLiteral {
                add(line, .printed(line))
            }
        }
    }

    /// Adds a command. Instead of `sleep 1`, the session waits until the relay's port is open.
    private mutating func command(_ line: String, status: Int32 = 0) {
        let text =
            line == "sleep 1"
            ? "until (: < /dev/tcp/127.0.0.1/7667) 2> /dev/null; do :; done" : line
        add(
            line,
            .command(
                by: "", text.replacingOccurrences(of: "7667", with: "\(port)"), .status(status)))
    }

    /// Returns a port that was free a moment ago.
    private static func freePort() throws -> UInt16 {
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

    private mutating func add(_ line: String, _ action: TestScript.Action) {
        steps.append(TestScript.Step(line: steps.count + 1, text: line, action))
    }
}
