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
        for (room, capacity) in [(64 << 10, small), (65 << 10, expected)] {
            try #require(write(writing, "a", 1) == 1)
            var block = [UInt8](repeating: 0, count: room)
            #expect(try block.withUnsafeMutableBytes { try input.read(into: $0) } == 1)
            #expect(Self.capacity(of: reading) == capacity)
        }
    }

    @Test func aLongWrite() throws {
        let (reading, writing, expected) = try pipe()
        defer { for end in [reading, writing] { close(end) } }
        let small = Self.capacity(of: reading)
        let output = try Output(path: "/dev/fd/\(writing)", content: .binary)
        try output.write([UInt8](repeating: 0, count: 1_000))
        try output.flush()
        #expect(Self.capacity(of: reading) == small)
        var block = [UInt8](repeating: 0, count: 1_000)
        try #require(read(reading, &block, block.count) == block.count)
        // This fits also if the pipe stays as it is.
        try output.write([UInt8](repeating: 0, count: 64 << 10))
        #expect(Self.capacity(of: reading) == expected)
    }

    @Test func aPipeBetweenOwnPrograms() throws {
        let (reading, writing, expected) = try pipe()
        for end in [reading, writing] { close(end) }
        let ends = try PipeEnds()
        #expect(Self.capacity(of: ends.reading) == expected)
    }
}
