import CSodium

/// Why a proof of work is not made.
public enum ProofOfWorkError: Error, Sendable, Equatable {
    /// Fewer than 0 or more than ``ProofOfWork/limit`` zero bits are asked for.
    case difficulty(limit: Int)
}

/// A counter that makes the hash of a challenge begin with zero bits: SHA-256(challenge ‖ u64be(counter)).
public enum ProofOfWork {
    /// The most zero bits that are looked for: about an hour of one core.
    public static let limit = 32

    /// The smallest counter that gives at least `bits` zero bits.
    public static func solve(_ challenge: [UInt8], bits: Int) throws(ProofOfWorkError) -> UInt64 {
        guard (0...limit).contains(bits) else { throw .difficulty(limit: limit) }
        var input = challenge + [UInt8](repeating: 0, count: 8)
        var counter: UInt64 = 0
        while zeroBits(&input, counter) < bits { counter += 1 }
        return counter
    }

    /// Whether the counter gives at least `bits` zero bits.
    public static func isSolved(_ challenge: [UInt8], by counter: UInt64, bits: Int) -> Bool {
        var input = challenge + [UInt8](repeating: 0, count: 8)
        return zeroBits(&input, counter) >= bits
    }

    /// The zero bits at the beginning of the hash of `input`, whose last 8 bytes become the counter.
    private static func zeroBits(_ input: inout [UInt8], _ counter: UInt64) -> Int {
        for place in 0..<8 {
            input[input.count - 1 - place] = UInt8(truncatingIfNeeded: counter >> (8 * place))
        }
        var hash: [32 of UInt8] = [32 of UInt8](repeating: 0)
        return withUnsafeMutableBytes(of: &hash) { hash in
            _ = crypto_hash_sha256(
                hash.baseAddress!.assumingMemoryBound(to: UInt8.self), input, UInt64(input.count))
            var zeros = 0
            for byte in hash {
                zeros += byte.leadingZeroBitCount
                if byte != 0 { break }
            }
            return zeros
        }
    }
}
