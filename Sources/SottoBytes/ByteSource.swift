/// A source of bytes that are read in order.
public protocol ByteSource: AnyObject {
    /// Puts at least one byte into `buffer`, which is not empty, and returns the number of bytes. Returns 0 at the end,
    /// and on every later call.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int

    /// Whether ``read(into:)`` is certain to return at once.
    var isReady: Bool { get }
}

/// A source of bytes in memory.
public final class MemorySource: ByteSource {
    private let bytes: [UInt8]
    private var index = 0

    /// Creates a source of these bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Copies the next bytes into `buffer`.
    public func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, bytes.count - index)
        buffer.copyBytes(from: bytes[index..<(index + count)])
        index += count
        return count
    }
}

extension ByteSource {
    /// False: it is not certain.
    public var isReady: Bool { false }

    /// Reads until `buffer` is full or the source ends, and returns the number of bytes.
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

/// A source that lends its buffer, so that callers can read the bytes without a copy.
public protocol BorrowingSource: ByteSource {
    /// Returns the next bytes: at least one, or none at the end. They are valid until the next call.
    func borrow() throws -> UnsafeRawBufferPointer
}
