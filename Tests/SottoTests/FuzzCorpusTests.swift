import Foundation
import FuzzParsers
import Testing

/// Every input in Fuzz/corpus, through the parser that it is for: none ends the process, and what was once
/// found by libFuzzer is not found again.
struct FuzzCorpusTests {
    static let corpus = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fuzz/corpus")

    @Test(arguments: FuzzTarget.all.map(\.name))
    func theCorpusIsReplayed(_ name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let inputs = try FileManager.default.contentsOfDirectory(
            at: Self.corpus.appendingPathComponent(name), includingPropertiesForKeys: nil)
        #expect(!inputs.isEmpty)
        for input in inputs.sorted(by: { $0.path < $1.path }) {
            let bytes = Array(try Data(contentsOf: input))
            target.run(bytes)
            target.run([])
            target.run(Array(bytes.dropLast()))
            target.run(bytes + [0])
        }
    }

    @Test func everyFolderBelongsToATarget() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
        #expect(Set(folders) == Set(FuzzTarget.all.map(\.name)))
    }
}
