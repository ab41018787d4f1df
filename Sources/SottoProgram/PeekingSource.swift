public import SottoBytes

/// A source whose first bytes can be examined before they are read.
public final class PeekingSource: BorrowingSource {
    private let source: any ByteSource
    private var peeked: [UInt8] = []
    /// A buffer for sources that cannot lend their own.
    private var block = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    /// Whether the end was reached. It is remembered, because a terminal would need a second end of file.
    private var isAtEnd = false
    /// The number of bytes that are examined for a byte order mark, and at least for what follows it.
    private static let size = 128

    /// Creates a source that reads from `source`.
    public init(_ source: any ByteSource) { self.source = source }

    deinit {
        if block.count > 0 { block.initializeMemory(as: UInt8.self, repeating: 0) }
        block.deallocate()
    }

    /// Returns the first `count` bytes, or fewer at the end. Must be called before any read.
    public func peek(_ count: Int) throws -> [UInt8] {
        guard peeked.count < count else { return Array(peeked[..<count]) }
        var block = [UInt8](repeating: 0, count: count - peeked.count)
        let filled = try block.withUnsafeMutableBytes { try source.fill($0) }
        if filled < block.count { isAtEnd = true }
        peeked += block[..<filled]
        return peeked
    }

    /// Returns the first bytes, reading until `isEnough` returns true, or `limit` or the end is reached. `isEnough` also gets
    /// the bytes at the limit and at the end.
    public func peek(
        upTo limit: Int, until isEnough: ([UInt8]) -> Bool
    ) throws -> [UInt8] {
        while !isEnough(peeked), peeked.count < limit, !isAtEnd {
            var block = [UInt8](repeating: 0, count: limit - peeked.count)
            let count = try block.withUnsafeMutableBytes { try source.read(into: $0) }
            isAtEnd = count == 0
            peeked += block[..<count]
        }
        return peeked
    }

    /// Skips a byte order mark at the beginning. Must be called before any read.
    public func skipByteOrderMark() throws {
        let mark = ByteOrderMark.bytes
        // Takes all available bytes, because the input is recognized by them.
        let beginning = try peek(upTo: Self.size) {
            $0.count >= mark.count || !mark.starts(with: $0)
        }
        if beginning.starts(with: mark) { peeked.removeFirst(mark.count) }
    }

    /// Whether examined bytes are buffered or the source is ready.
    public var isReady: Bool { !peeked.isEmpty || isAtEnd || source.isReady }

    /// Reads the examined bytes, then the source.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if peeked.isEmpty { return isAtEnd ? 0 : try source.read(into: buffer) }
        let count = min(buffer.count, peeked.count)
        buffer.copyBytes(from: peeked[..<count])
        peeked.removeFirst(count)
        return count
    }

    /// Lends the examined bytes, then the source's.
    public func borrow() throws -> UnsafeRawBufferPointer {
        if peeked.isEmpty, !isAtEnd, let source = source as? any BorrowingSource {
            return try source.borrow()
        }
        if block.count == 0 { block = .allocate(byteCount: 256 << 10, alignment: 64) }
        let count = try read(into: block)
        return UnsafeRawBufferPointer(rebasing: block[..<count])
    }
}
