import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import Sotto

/// The memory of secrets.
struct SecretBytesTests {
    /// Threads create, keep, exchange and free more secrets than a thread's free list and the first region hold.
    @Test func secretsOfManyThreadsStayApart() {
        let shelf = Mutex<[RatchetSecret]>([])
        let wrong = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            func check(_ secret: RatchetSecret) {
                let bytes = secret.copyBytes()
                if Set(bytes).count != 1 { wrong.add(1, ordering: .relaxed) }
            }
            var own: [RatchetSecret] = []
            for round in 0..<2_000 {
                let byte = UInt8(truncatingIfNeeded: thread * 31 + round)
                own.append(RatchetSecret { $0.initializeMemory(as: UInt8.self, repeating: byte) })
                if round.isMultiple(of: 3) {
                    let other = shelf.withLock { shelf in
                        shelf.append(own.removeLast())
                        return shelf.count > 50 ? shelf.removeFirst() : nil
                    }
                    if let other { check(other) }
                }
                if round.isMultiple(of: 5), !own.isEmpty { check(own.removeFirst()) }
            }
            for secret in own { check(secret) }
        }
        #expect(wrong.load(ordering: .relaxed) == 0)
    }

    /// A slot that was freed is zero, also its first bytes, which link the free slots.
    @Test func aNewSecretBeginsWithZeros() {
        for _ in 0..<100 {
            do { _ = SecretBytes(copying: [UInt8](repeating: 0xAB, count: 64)) }
            let fresh = SecretBytes(count: 64) { _ in }
            #expect(fresh.withBytes { $0.allSatisfy { $0 == 0 } })
        }
    }

    @Test(arguments: [0, 1, 16, 32, 64, 65, 4096])
    func aSecretHasItsBytes(_ count: Int) {
        let bytes = randomBytes(count)
        let secret = SecretBytes(copying: bytes)
        #expect(secret.count == count && secret.withBytes { Array($0) } == bytes)
        let copy = secret.duplicate()
        let guarded = copy.guarded()
        #expect(guarded.count == count && guarded.withBytes { Array($0) } == bytes)
    }

    /// The parts of a message, an empty key and a key of more than a block (RFC 4231, case 6).
    @Test func hmacTakesAnyKeyAndParts() {
        func code(_ key: [UInt8], _ parts: [[UInt8]]) -> String {
            var code = [UInt8](repeating: 0, count: 32)
            code.withUnsafeMutableBytes { code in
                key.withUnsafeBytes { key in
                    hmacSHA256(key: key, into: code) { add in
                        for part in parts { part.withUnsafeBytes { add($0) } }
                    }
                }
            }
            return hex(code)
        }
        let text = Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)
        let key = [UInt8](repeating: 0xAA, count: 131)
        let known = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        #expect(code(key, [text]) == known)
        #expect(code(key, [Array(text[..<5]), [], Array(text[5...])]) == known)
        let none = code([], [text])
        #expect(none == code([UInt8](repeating: 0, count: 32), [text]))
        #expect([UInt8]().withUnsafeBytes { hex(hmacSHA256(ofLong: text, key: $0)) } == none)
    }
}
