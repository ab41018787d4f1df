import Foundation
import Testing

/// The built program `qr`, run with bytes on its stdin.
struct BuiltQR {
    let status: Int32
    let output: [UInt8]
    let errors: String

    init(_ arguments: [String], input: [UInt8] = []) throws {
        let process = Process()
        process.executableURL = Self.path
        process.arguments = arguments
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("qr-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Files instead of pipes, so that no reader is needed to keep the program running.
        let names = ["in", "out", "err"].map { folder.appendingPathComponent($0) }
        try Data(input).write(to: names[0])
        try Data().write(to: names[1])
        try Data().write(to: names[2])
        process.standardInput = try FileHandle(forReadingFrom: names[0])
        process.standardOutput = try FileHandle(forWritingTo: names[1])
        process.standardError = try FileHandle(forWritingTo: names[2])
        try process.run()
        process.waitUntilExit()
        status = process.terminationStatus
        output = Array(try Data(contentsOf: names[1]))
        errors = String(decoding: try Data(contentsOf: names[2]), as: UTF8.self)
    }

    /// The directory of the test bundle, whose path SwiftPM's runner gets.
    static let path: URL = {
        let arguments = CommandLine.arguments
        let bundle =
            arguments.firstIndex(of: "--test-bundle-path").map { arguments[$0 + 1] } ?? arguments[0]
        return URL(fileURLWithPath: bundle).deletingLastPathComponent()
            .appendingPathComponent("qr")
    }()
}
