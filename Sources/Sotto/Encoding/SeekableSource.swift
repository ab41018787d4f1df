/// Bytes of known length that are read at any place, as often as one likes: a regular file, or memory.
public protocol SeekableSource: AnyObject {
    /// The number of bytes.
    var count: Int { get throws }

    /// Puts bytes from `offset` on into `buffer`, which is not empty, and returns how many; 0 at the end
    /// alone.
    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}

/// Bytes in memory that are read at any place.
public final class SeekableMemory: SeekableSource {
    private let bytes: [UInt8]

    /// A source of these bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The number of bytes.
    public var count: Int { bytes.count }

    /// Copies the bytes from `offset` on.
    public func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = max(0, min(buffer.count, bytes.count - offset))
        if count > 0 { buffer.copyBytes(from: bytes[offset..<(offset + count)]) }
        return count
    }
}

extension SeekableSource {
    /// Reads until `buffer` is full or the source ends, and returns how many bytes there are.
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
