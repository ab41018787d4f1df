import CSodium

/// A reason why a proof of work cannot be made.
package enum ProofOfWorkError: Error, Sendable, Equatable {
    /// The difficulty is below 0 or above ``ProofOfWork/limit`` zero bits.
    case difficulty(limit: Int)
}

/// A proof of work: a counter for which SHA-256(challenge ‖ u64be(counter)) begins with enough zero bits.
package enum ProofOfWork {
    /// The highest difficulty in zero bits: about an hour on one core.
    package static let limit = 32

    /// Returns the smallest counter that gives at least `bits` zero bits.
    package static func solve(_ challenge: [UInt8], bits: Int) throws(ProofOfWorkError) -> UInt64 {
        guard (0...limit).contains(bits) else { throw .difficulty(limit: limit) }
        var input = challenge + [UInt8](repeating: 0, count: 8)
        var counter: UInt64 = 0
        while zeroBits(&input, counter) < bits { counter += 1 }
        return counter
    }

    /// Whether the counter gives at least `bits` zero bits.
    package static func isSolved(_ challenge: [UInt8], by counter: UInt64, bits: Int) -> Bool {
        var input = challenge + [UInt8](repeating: 0, count: 8)
        return zeroBits(&input, counter) >= bits
    }

    /// Returns the number of leading zero bits of the hash of `input`, whose last 8 bytes are replaced by the counter.
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
