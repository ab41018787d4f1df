import CTestSupport
import Glibc
import Sotto
import Testing

@testable import SottoBytes

struct PublicRandomTests {
    @Test(arguments: [0, 1, 16, 24, 511, 512, 513, 4096, 10_000])
    func eachValueIsNew(_ count: Int) {
        let values = (0..<200).map { _ in publicRandomBytes(count) }
        #expect(values.allSatisfy { $0.count == count })
        if count >= 16 { #expect(Set(values).count == values.count) }
    }

    /// All places of a value get all kinds of bytes.
    @Test func eachBitIsUsed() {
        var (ones, zeros) = ([UInt8](repeating: 0, count: 100), [UInt8](repeating: 0, count: 100))
        for _ in 0..<200 {
            for (place, byte) in publicRandomBytes(100).enumerated() {
                ones[place] |= byte
                zeros[place] |= ~byte
            }
        }
        #expect((ones + zeros).allSatisfy { $0 == 0xFF })
    }

    /// Several threads never get the same bytes.
    @Test func threadsGetDifferentBytes() async {
        let all = await withTaskGroup(of: [[UInt8]].self) { group in
            for _ in 0..<8 {
                group.addTask { (0..<2_000).map { _ in publicRandomBytes(16) } }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(all).count == 16_000)
    }

    /// A nonce that parent and child share would encrypt two messages under one key and one nonce.
    @Test func aChildProcessGetsOtherBytes() throws {
        // A child of which another thread had the lock waits forever, and is ended by its alarm.
        for _ in 0..<50 {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            _ = publicRandomBytes(16)
            let child = fork_process()
            if child == 0 {
                alarm(1)
                let bytes = publicRandomBytes(16)
                _ = write(ends[1], bytes, 16)
                _exit(0)
            }
            let own = publicRandomBytes(16)
            close(ends[1])
            var bytes = [UInt8](repeating: 0, count: 16)
            let count = read(ends[0], &bytes, 16)
            close(ends[0])
            waitpid(child, nil, 0)
            guard count == 16 else { continue }
            #expect(bytes != own)
            return
        }
        Issue.record("no child process returned bytes")
    }
}
