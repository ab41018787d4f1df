/// Somewhere that bytes are written to, in order.
public protocol ByteSink: AnyObject {
    /// Takes all of `bytes`.
    func write(_ bytes: UnsafeRawBufferPointer) throws
    /// Says that nothing follows. Called once, last; passed on to the sink behind, if there is one.
    func finish() throws
}

extension ByteSink {
    /// Takes all of `bytes`.
    public func write(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try write($0) } }
}

/// Bytes collected in memory.
public final class MemorySink: ByteSink {
    /// What was written so far.
    public private(set) var bytes: [UInt8] = []

    /// An empty sink.
    public init() {}

    /// Appends `bytes`.
    public func write(_ bytes: UnsafeRawBufferPointer) { self.bytes.append(contentsOf: bytes) }

    /// Does nothing.
    public func finish() {}
}

/// A sink that lends the place where bytes go.
public protocol LendingSink: ByteSink {
    /// Room for at least one byte, until something else is asked for.
    func lend() throws -> UnsafeMutableRawBufferPointer
    /// Takes as many bytes as were put into the room that was lent.
    func take(_ count: Int) throws
}
