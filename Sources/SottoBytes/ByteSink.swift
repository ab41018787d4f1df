/// A destination for bytes that are written in order.
public protocol ByteSink: AnyObject {
    /// Writes all of `bytes`.
    func write(_ bytes: UnsafeRawBufferPointer) throws
    /// Ends the stream. The caller calls it once, after the last write. A sink that wraps another sink ends that one
    /// too.
    func finish() throws
}

extension ByteSink {
    /// Writes all of `bytes`.
    public func write(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try write($0) } }
}

/// A sink that collects bytes in memory.
public final class MemorySink: ByteSink {
    /// The bytes that were written so far.
    public private(set) var bytes: [UInt8] = []

    /// Creates an empty sink.
    public init() {}

    /// Appends `bytes`.
    public func write(_ bytes: UnsafeRawBufferPointer) { self.bytes.append(contentsOf: bytes) }

    /// Does nothing.
    public func finish() {}
}

/// A sink that lends its buffer, so that callers can fill it directly.
public protocol LendingSink: ByteSink {
    /// Returns free space for at least one byte. It is valid until the next call.
    func lend() throws -> UnsafeMutableRawBufferPointer
    /// Writes the first `count` bytes of the space that was lent. `more` returns whether further bytes are ready; a sink that
    /// works on large blocks then waits for them.
    func take(_ count: Int, more: () -> Bool) throws
}
