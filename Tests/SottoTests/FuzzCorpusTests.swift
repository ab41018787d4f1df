import Foundation
import FuzzParsers
import TestSupport
import Testing

/// Replays every input in Fuzz/corpus through its parser. No input ends the process, including those that libFuzzer
/// once found.
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

    /// Mutates the inputs of a target: bits, bytes, truncations, insertions, and combinations of two inputs.
    ///
    /// The mutations are the same in each run unless SOTTO_SEED is set. Targets that sign, encrypt or use an RSA key
    /// are slower and get fewer of them.
    @Test(arguments: FuzzTarget.all.map(\.name))
    func mutatedInputsDoNotEndTheProcess(_ name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let folder = Self.corpus.appendingPathComponent(name)
        let inputs = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            .map { Array(try Data(contentsOf: folder.appendingPathComponent($0))) }
        let seed = environment("SOTTO_SEED").flatMap { UInt64($0) } ?? 20_261_121
        var generator = Generator(seed: seed)
        for _ in 0..<(Self.slow[name] ?? 2000) {
            target.run(Self.mutation(of: inputs, &generator))
        }
    }

    /// The number of inputs for targets that do more than parse.
    private static let slow = [
        "code-text": 200, "mercurio": 500, "mnemonic": 700, "picture": 300, "profiles": 500,
        "sealed": 500,
    ]

    private static func mutation(of inputs: [[UInt8]], _ generator: inout Generator) -> [UInt8] {
        var bytes = inputs[generator.int(0..<inputs.count)]
        for _ in 0..<generator.int(1..<5) {
            let place = generator.int(0..<bytes.count + 1)
            switch generator.int(0..<7) {
            case 0, 1: if place < bytes.count { bytes[place] ^= 1 << UInt8(generator.int(0..<8)) }
            case 2: if place < bytes.count { bytes[place] = UInt8(generator.int(0..<256)) }
            case 3: bytes.removeSubrange(place...)
            case 4: bytes.removeSubrange(place..<min(bytes.count, place + generator.int(1..<9)))
            case 5: bytes.insert(contentsOf: generator.bytes(generator.int(1..<9)), at: place)
            default:
                let other = inputs[generator.int(0..<inputs.count)]
                bytes = Array(bytes[..<place] + other[generator.int(0..<other.count + 1)...])
            }
        }
        return bytes
    }

    @Test func everyFolderBelongsToATarget() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
        #expect(Set(folders) == Set(FuzzTarget.all.map(\.name)))
    }
}
