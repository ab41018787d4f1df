import Foundation
package import Testing

/// Implementations of others in Python, in the environment that Scripts/peers makes.
package enum Peers {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static let python = root.appendingPathComponent(".build-peers/bin/python").path

    /// Whether the environment is there. Where SOTTO_PEERS is set, as in CI, nobody asks: a test fails that
    /// would else be skipped.
    package static let arePresent =
        environment("SOTTO_PEERS") != nil || FileManager.default.isExecutableFile(atPath: python)

    /// Why such a test is skipped.
    package static let hint: Comment =
        "there is no .build-peers with PyNaCl, cryptography and mnemonic: run Scripts/peers"

    /// Gives the peer requests and returns its answers, one each: texts by name, bytes in base64.
    package static func ask(_ requests: [[String: String]]) throws -> [Answer] {
        let script = root.appendingPathComponent("Tests/Peers/peer.py").path
        let run = try Command(path: python, ["-I", script]).run(
            stdin: .whole(Array(try JSONSerialization.data(withJSONObject: requests))))
        guard run.status == 0 else { throw Failure(description: run.stderr) }
        let answers = try JSONSerialization.jsonObject(with: Data(run.stdout))
        return (answers as? [[String: String]] ?? []).map { Answer(texts: $0) }
    }

    /// Gives the peer one request.
    package static func ask(_ request: [String: String]) throws -> Answer {
        guard let answer = try ask([request]).first else { throw Failure(description: "silence") }
        return answer
    }

    /// What the peer said.
    package struct Answer {
        package let texts: [String: String]
        package var error: String? { texts["error"] }

        /// A text, or an empty one.
        package subscript(name: String) -> String { texts[name] ?? "" }

        /// The bytes of a text in base64; `nil` where there is none.
        package func bytes(_ name: String) -> [UInt8]? {
            texts[name].flatMap { Data(base64Encoded: $0) }.map { Array($0) }
        }
    }

    /// The base64 of bytes.
    package static func text(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// What a peer said when it failed.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }
}
