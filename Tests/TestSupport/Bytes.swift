package import Sotto

extension [UInt8] {
    /// The UTF-8 bytes of `text`.
    package init(text: String) { self = Array(text.utf8) }

    /// Returns the bytes with one bit flipped.
    package func flipping(bit: Int) -> [UInt8] {
        var copy = self
        copy[bit / 8] ^= 1 << UInt8(bit % 8)
        return copy
    }
}

/// A source that returns parts of these maximum sizes in rotation.
package final class PiecewiseSource: ByteSource {
    private let bytes: [UInt8]
    private let sizes: [Int]
    private var index = 0
    private var turn = 0

    package init(_ bytes: [UInt8], sizes: [Int]) {
        self.bytes = bytes
        self.sizes = sizes.isEmpty ? [1] : sizes
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, sizes[turn % sizes.count], bytes.count - index)
        turn += 1
        buffer.copyBytes(from: bytes[index..<(index + count)])
        index += count
        return count
    }
}

/// The bytes that a source returned before it ended or failed.
package struct Released {
    package var bytes: [UInt8] = []
    package var error: (any Error)?
}

/// Reads the source that `make` opens until its end or error.
package func release(_ make: () throws -> any ByteSource, blockSize: Int = 64 << 10) -> Released {
    var released = Released()
    do {
        let source = try make()
        var block = [UInt8](repeating: 0, count: blockSize)
        while true {
            let count = try block.withUnsafeMutableBytes { try source.read(into: $0) }
            if count == 0 { return released }
            released.bytes += block[..<count]
        }
    } catch {
        released.error = error
        return released
    }
}
