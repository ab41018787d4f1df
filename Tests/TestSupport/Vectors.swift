import Foundation
import Sotto
package import Testing

/// Known answers: those in the repository, and external ones that are read from their own folder.
package enum Vectors {
    /// The folder Tests/Vectors of this checkout.
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Vectors")

    /// Returns the text of a file of this checkout.
    package static func text(ofFile path: String) throws -> String {
        try String(
            contentsOf: folder.deletingLastPathComponent().deletingLastPathComponent()
                .appendingPathComponent(path), encoding: .utf8)
    }

    /// Decodes Tests/Vectors/`name`.json.
    package static func load<T: Decodable>(_ name: String, as type: T.Type = T.self) -> T {
        decode(folder.appendingPathComponent(name + ".json"))
    }

    /// Returns the content of Tests/Vectors/`name`.
    package static func file(_ name: String) -> [UInt8] {
        TemporaryDirectory.contents(folder.appendingPathComponent(name).path)
    }

    /// The folder with `third_party`, from the environment variable EXTERNAL_VECTORS.
    private static let external = environment("EXTERNAL_VECTORS").map {
        URL(fileURLWithPath: $0).appendingPathComponent("third_party")
    }

    /// Whether the external vectors exist; the tests that read them are skipped otherwise.
    package static let hasExternal =
        external.map {
            FileManager.default.fileExists(atPath: $0.path)
        } ?? false

    /// The reason for skipping such a test.
    package static let hint: Comment =
        "EXTERNAL_VECTORS does not name a folder with third_party: see CONTRIBUTING.md"

    package static func externalBytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: external!.appendingPathComponent(path)))
    }

    package static func loadExternal<T: Decodable>(_ path: String, as type: T.Type = T.self) -> T {
        decode(external!.appendingPathComponent(path))
    }

    private static func decode<T: Decodable>(_ url: URL) -> T {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        do {
            return try decoder.decode(T.self, from: Data(contentsOf: url))
        } catch {
            preconditionFailure("the vectors in \(url.path) cannot be read: \(error)")
        }
    }
}

/// Bytes that a vector file gives in hexadecimal.
package struct Hex: Decodable, Sendable, Hashable {
    package let bytes: [UInt8]

    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let bytes = Sotto.bytes(hex: text) else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath, debugDescription: "not hexadecimal"))
        }
        self.bytes = bytes
    }
}

/// Returns the bytes of a rule such as `SHAKE256('…')[:n]`.
package func bytes(ofRule rule: String) -> [UInt8] {
    let parts = rule.split(separator: "'")
    let count = Int(parts[2].filter(\.isNumber))!
    return shake256(String(parts[1]), count: count)
}
