package import Testing

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), for random tests that can be repeated from their seed.
package struct Generator: RandomNumberGenerator {
    private let seed: UInt64
    private var state: UInt64

    package init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// The comment of failed expectations.
    package var comment: Comment { "repeat with SOTTO_SEED=\(seed)" }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(count + 8)
        while out.count < count { withUnsafeBytes(of: next()) { out += $0 } }
        out.removeLast(out.count - count)
        return out
    }

    package mutating func int(_ range: Range<Int>) -> Int { Int.random(in: range, using: &self) }

    /// Splits `count` into parts of 1 to `limit`.
    package mutating func pieces(of count: Int, upTo limit: Int) -> [Int] {
        var left = count
        var pieces: [Int] = []
        while left > 0 {
            let piece = min(left, int(1..<limit + 1))
            pieces.append(piece)
            left -= piece
        }
        return pieces
    }
}

/// Runs `body` with a generator. If it throws, reports the seed with which `SOTTO_SEED` repeats the failure.
///
/// Expectations in `body` that should report the seed use `generator.comment`.
package func withGenerator(_ body: (inout Generator) throws -> Void) throws {
    let seed = environment("SOTTO_SEED").flatMap { UInt64($0) } ?? .random(in: 0..<(1 << 53))
    var generator = Generator(seed: seed)
    do {
        try body(&generator)
    } catch {
        Issue.record("repeat with SOTTO_SEED=\(seed)")
        throw error
    }
}
