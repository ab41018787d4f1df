import Glibc
import SottoProgram
import TestSupport
import Testing

/// Long transfers enlarge their pipes. Where the system does not permit this, the pipes stay as they are.
@Suite struct PipeSizeTests {
    private static let enlarged: Int32 = 1 << 20

    private static func capacity(of descriptor: Int32) -> Int32 { fcntl(descriptor, 1024 + 8) }

    /// Makes a pipe. Returns its ends and the capacity that it can get.
    private func pipe() throws -> (reading: Int32, writing: Int32, expected: Int32) {
        var pairs: [[Int32]] = [[-1, -1], [-1, -1]]
        for place in pairs.indices { try #require(Glibc.pipe(&pairs[place]) == 0) }
        let granted = fcntl(pairs[1][0], 1024 + 7, Self.enlarged)
        for end in pairs[1] { close(end) }
        let (reading, writing) = (pairs[0][0], pairs[0][1])
        return (reading, writing, granted > 0 ? granted : Self.capacity(of: reading))
    }

    @Test func aLongRead() throws {
        let (reading, writing, expected) = try pipe()
        defer { for end in [reading, writing] { close(end) } }
        let small = Self.capacity(of: reading)
        let input = try Input(path: "/dev/fd/\(reading)")
        var block = [UInt8](repeating: 0, count: 32 << 10)
        var total = 0
        while total <= Int(Self.enlarged) {
            #expect(Self.capacity(of: reading) == small)
            try #require(write(writing, block, block.count) == block.count)
            total += try block.withUnsafeMutableBytes { try input.read(into: $0) }
        }
        #expect(Self.capacity(of: reading) == expected)
    }

    @Test func aLongWrite() throws {
        let (reading, writing, expected) = try pipe()
        defer { for end in [reading, writing] { close(end) } }
        let small = Self.capacity(of: reading)
        let output = try Output(path: "/dev/fd/\(writing)", content: .binary)
        try output.write([UInt8](repeating: 0, count: 1_000))
        try output.flush()
        #expect(Self.capacity(of: reading) == small)
        var first = [UInt8](repeating: 0, count: 1_000)
        #expect(read(reading, &first, first.count) == first.count)
        // Together they fit the pipe as it is.
        for _ in 0..<2 { try output.write([UInt8](repeating: 0, count: 32 << 10)) }
        #expect(Self.capacity(of: reading) == expected)
    }
}
