import Sotto
import TestSupport
import Testing

struct ProofOfWorkTests {
    @Test(arguments: [0, 1, 7, 8, 9, 12])
    func theCounterIsTheSmallest(_ bits: Int) throws {
        let challenge = randomBytes(16)
        let counter = try ProofOfWork.solve(challenge, bits: bits)
        func zeros(_ counter: UInt64) -> Int {
            let hash = sha256(challenge + counter.bigEndianBytes)
            let whole = hash.prefix { $0 == 0 }.count
            return whole * 8 + (whole < 32 ? hash[whole].leadingZeroBitCount : 0)
        }
        #expect(zeros(counter) >= bits)
        #expect((0..<counter).allSatisfy { zeros($0) < bits })
        #expect(ProofOfWork.isSolved(challenge, by: counter, bits: bits))
        #expect(!ProofOfWork.isSolved(challenge, by: counter, bits: 257))
    }

    @Test func anEmptyChallengeIsValid() throws {
        let counter = try ProofOfWork.solve([], bits: 8)
        #expect(ProofOfWork.isSolved([], by: counter, bits: 8))
    }

    @Test func aDifficultyAboveTheLimitIsRefused() {
        for bits in [-1, ProofOfWork.limit + 1, Int.max] {
            #expect(throws: ProofOfWorkError.difficulty(limit: ProofOfWork.limit)) {
                try ProofOfWork.solve([1], bits: bits)
            }
        }
    }
}
