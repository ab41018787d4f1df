import Glibc

/// A generator of reproducible numbers (SplitMix64). `SOTTO_TEST_SEED` selects the seed.
struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(_ stream: UInt64) {
        let seed = getenv("SOTTO_TEST_SEED").flatMap { UInt64(String(cString: $0)) } ?? 1
        state = seed &* 0x9E37_79B9_7F4A_7C15 ^ stream
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }

    /// Returns a number with an approximately normal distribution of mean 0 and deviation 1.
    mutating func normal() -> Double {
        (0..<12).reduce(-6) { sum, _ in sum + Double.random(in: 0..<1, using: &self) }
    }
}
