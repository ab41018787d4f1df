/// Bytes of known length that can be read at any offset, repeatedly: a regular file, or memory.
public protocol SeekableSource: AnyObject {
    /// The number of bytes.
    var count: Int { get throws }

    /// Puts bytes from `offset` on into `buffer`, which is not empty, and returns the number of bytes. Returns 0 only
    /// at the end.
    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}

/// Bytes in memory that can be read at any offset.
public final class SeekableMemory: SeekableSource {
    private let bytes: [UInt8]

    /// Creates a source of these bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The number of bytes.
    public var count: Int { bytes.count }

    /// Copies the bytes from `offset` on into `buffer`.
    public func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = max(0, min(buffer.count, bytes.count - offset))
        if count > 0 { buffer.copyBytes(from: bytes[offset..<(offset + count)]) }
        return count
    }
}

extension SeekableSource {
    /// Reads until `buffer` is full or the source ends, and returns the number of bytes.
    public func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = try read(at: offset + filled, into: rest)
            if count == 0 { break }
            filled += count
        }
        return filled
    }
}
