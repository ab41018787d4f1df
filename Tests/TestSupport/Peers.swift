import Foundation

/// Other implementations in Python, in the environment that Scripts/peers creates.
package enum Peers {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static let python = root.appendingPathComponent(".build-peers/bin/python").path

    /// Sends requests to the peer and returns one answer each: texts by name, bytes in base64.
    package static func ask(_ requests: [[String: String]]) throws -> [Answer] {
        let script = root.appendingPathComponent("Tests/Peers/peer.py").path
        let run = try Command(path: python, ["-I", script]).run(
            stdin: .whole(Array(try JSONSerialization.data(withJSONObject: requests))))
        guard run.status == 0 else { throw Failure(description: run.stderr) }
        let answers = try JSONSerialization.jsonObject(with: Data(run.stdout))
        return (answers as? [[String: String]] ?? []).map { Answer(texts: $0) }
    }

    /// Sends one request to the peer.
    package static func ask(_ request: [String: String]) throws -> Answer {
        guard let answer = try ask([request]).first else { throw Failure(description: "silence") }
        return answer
    }

    /// Runs a script of Tests/Peers.
    package static func run(_ script: String, _ arguments: [String]) throws -> Run {
        try Command(
            path: python,
            ["-I", root.appendingPathComponent("Tests/Peers/" + script).path] + arguments
        ).run()
    }

    /// Returns the indices of the records, a line each, that do not conform to a schema of share/schema.
    package static func invalid(_ records: [String], schema: String) throws -> Set<Int> {
        let run = try Command(
            path: python,
            [
                "-I", root.appendingPathComponent("Tests/Peers/schema.py").path,
                root.appendingPathComponent("share/schema").path, schema,
            ]
        ).run(stdin: .whole(Array(records.map { $0 + "\n" }.joined().utf8)))
        guard run.status <= 1, run.stderr.isEmpty else { throw Failure(description: run.stderr) }
        return Set(run.lines.compactMap { Int($0.prefix { $0 != ":" }).map { $0 - 1 } })
    }

    /// An answer of the peer.
    package struct Answer {
        package let texts: [String: String]
        package var error: String? { texts["error"] }

        /// Returns a text, or an empty one.
        package subscript(name: String) -> String { texts[name] ?? "" }

        /// Returns the bytes of a base64 text, or `nil`.
        package func bytes(_ name: String) -> [UInt8]? {
            texts[name].flatMap { Data(base64Encoded: $0) }.map { Array($0) }
        }
    }

    /// Returns bytes in base64.
    package static func text(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// The error output of a peer.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }
}
