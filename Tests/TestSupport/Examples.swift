import Foundation

/// The programs of share/examples, and the scripts that play them.
package enum Examples {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The directory of the programs.
    package static let directory = root.appendingPathComponent("share/examples").path

    /// Returns the names of the programs, sorted.
    package static func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    }

    /// Returns the path of a program.
    package static func path(_ name: String) -> String { directory + "/" + name }

    /// Returns the text of a program.
    package static func text(_ name: String) throws -> String {
        try String(contentsOfFile: path(name), encoding: .utf8)
    }

    /// Returns the text of Scripts/bench.
    package static func bench() throws -> String {
        try String(contentsOf: root.appendingPathComponent("Scripts/bench"), encoding: .utf8)
    }

    /// Returns the scripts of Tests/Scripts/examples, by their names without an extension.
    package static func scripts() throws -> [String: String] {
        let folder = root.appendingPathComponent("Tests/Scripts/examples")
        var scripts: [String: String] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
        where name.hasSuffix(".txt") {
            scripts[String(name.dropLast(4))] = try String(
                contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
        }
        return scripts
    }
}
