import Foundation
import TestSupport

/// The files of the repository that the tests read.
enum Repository {
    /// Its root, found from this file's place in it.
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func url(_ path: String) -> URL { root.appendingPathComponent(path) }

    static func text(_ path: String) throws -> String {
        try String(contentsOf: url(path), encoding: .utf8)
    }

    static func names(in path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: url(path).path).sorted()
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: url(path).path)
    }

    /// The tools that have flags of their own: all but the dispatcher.
    static let tools = [
        "contact", "decrypt", "encrypt", "fingerprint", "keygen", "pad", "qr", "recv", "relay",
        "send",
    ]

    /// The path of a tool's manual page.
    static func page(of tool: String) -> String {
        tool == "relay" ? "man/relay.8" : "man/\(tool).1"
    }

    /// All pages.
    static func pages() throws -> [String] { try names(in: "man").map { "man/" + $0 } }
}

/// Runs a program of the system in the repository's root.
func runInRepository(_ path: String, _ arguments: [String]) throws -> Run {
    try Command(
        path: path, arguments,
        environment: ["PATH": environment("PATH") ?? "/usr/bin:/bin", "LC_ALL": "C.UTF-8"],
        directory: Repository.root.path
    ).run()
}
