import Glibc
import TestSupport

/// A generator of reproducible numbers. `SOTTO_SEED` selects the seed.
struct Seeded: RandomNumberGenerator {
    private var generator: SeededGenerator

    init(_ stream: UInt64) {
        let seed = getenv("SOTTO_SEED").flatMap { UInt64(String(cString: $0)) } ?? 1
        generator = SeededGenerator(state: seed &* 0x9E37_79B9_7F4A_7C15 ^ stream)
    }

    mutating func next() -> UInt64 { generator.next() }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }

    /// Returns a number with an approximately normal distribution of mean 0 and deviation 1.
    mutating func normal() -> Double {
        (0..<12).reduce(-6) { sum, _ in sum + Double.random(in: 0..<1, using: &self) }
    }
}
