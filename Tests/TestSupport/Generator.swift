package import Testing

/// A generator for random tests that can be repeated from their seed.
package struct Generator: RandomNumberGenerator {
    private let seed: UInt64
    private var numbers: SeededGenerator

    package init(seed: UInt64) {
        self.seed = seed
        numbers = SeededGenerator(state: seed)
    }

    /// The comment of failed expectations.
    package var comment: Comment { "repeat with SOTTO_SEED=\(seed)" }

    package mutating func next() -> UInt64 { numbers.next() }

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
