import Foundation
import TestSupport

/// The files of the repository that the tests read.
enum Repository {
    /// The root, relative to this file.
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func url(_ path: String) -> URL { root.appendingPathComponent(path) }

    static func text(_ path: String) throws -> String {
        try String(contentsOf: url(path), encoding: .utf8)
    }

    static func names(in path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: url(path).path).sorted()
    }

    /// Returns the paths of all files below a directory, relative to it.
    static func files(in path: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: url(path).path).sorted()
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: url(path).path)
    }

    /// The tools with flags: all except the dispatcher.
    static let tools = [
        "bridge", "chat", "compose", "contact", "decrypt", "device", "encrypt", "fingerprint",
        "group",
        "history",
        "keygen",
        "pad", "qr", "recv", "relay", "send",
    ]

    /// Returns the path of a tool's manual page.
    static func page(of tool: String) -> String {
        tool == "relay" ? "man/relay.8" : "man/\(tool).1"
    }

    /// Returns the paths of all pages.
    static func pages() throws -> [String] { try names(in: "man").map { "man/" + $0 } }
}

/// Runs a system program in the repository's root.
func runInRepository(_ path: String, _ arguments: [String]) throws -> Run {
    try Command(
        path: path, arguments,
        environment: ["PATH": environment("PATH") ?? "/usr/bin:/bin", "LC_ALL": "C.UTF-8"],
        directory: Repository.root.path
    ).run()
}
