/// Somewhere that bytes are read from, in order.
public protocol ByteSource: AnyObject {
    /// Puts at least one byte into `buffer`, which is not empty, and returns how many; 0 at the end, and
    /// then always.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int

    /// Whether ``read(into:)`` would certainly return at once.
    var isReady: Bool { get }
}

/// Bytes in memory as a source.
public final class MemorySource: ByteSource {
    private let bytes: [UInt8]
    private var index = 0

    /// A source of these bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Copies the next bytes.
    public func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, bytes.count - index)
        buffer.copyBytes(from: bytes[index..<(index + count)])
        index += count
        return count
    }
}

extension ByteSource {
    /// Not certain.
    public var isReady: Bool { false }

    /// Reads until `buffer` is full or the source ends, and returns how many bytes there are.
    public func fill(_ buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        var filled = 0
        while filled < buffer.count {
            let count = try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
            if count == 0 { break }
            filled += count
        }
        return filled
    }
}

/// A source whose bytes can be looked at where they are.
public protocol BorrowingSource: ByteSource {
    /// The next bytes, at least one, or none at the end. They are there until something else is asked for.
    func borrow() throws -> UnsafeRawBufferPointer
}
