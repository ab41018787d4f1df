import Glibc

/// Splits a stream of bytes into lines; it keeps at most one incomplete line.
public struct LineSplitter: Sendable {
    private let limit: Int
    private var buffer: [UInt8] = []
    private var start = 0
    private var searched = 0

    /// Creates a splitter for lines of at most `limit` bytes without the line feed.
    public init(limit: Int) { self.limit = limit }

    /// The result of ``next()``.
    public enum Next: Sendable, Equatable {
        /// A line, without its line feed.
        case line([UInt8])
        /// The line is over the limit; nothing after it is read.
        case tooLong
        /// The line is not complete.
        case incomplete
    }

    /// Adds bytes that were read, at most a socket's block; ``next()`` enforces the limit.
    public mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if start > 0 {
            buffer.removeFirst(start)
            searched -= start
            start = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// Whether an incomplete line has begun; valid after ``next()`` returned ``Next/incomplete``.
    public var hasPartialLine: Bool { start < buffer.count }

    /// Returns the next line. After ``Next/tooLong`` the buffered bytes are dropped.
    public mutating func next() -> Next {
        let feed = buffer.withUnsafeBytes { bytes -> Int? in
            guard searched < bytes.count else { return nil }
            let from = bytes.baseAddress! + searched
            return memchr(from, 0x0A, bytes.count - searched).map {
                UnsafeRawPointer($0) - bytes.baseAddress!
            }
        }
        guard (feed ?? buffer.count) - start <= limit else {
            buffer = []
            (start, searched) = (0, 0)
            return .tooLong
        }
        guard let feed else {
            searched = buffer.count
            return .incomplete
        }
        let line = Array(buffer[start..<feed])
        start = feed + 1
        searched = start
        if start == buffer.count {
            buffer.removeAll(keepingCapacity: buffer.capacity <= 64 << 10)
            (start, searched) = (0, 0)
        }
        return .line(line)
    }
}
