import Glibc
public import SottoBytes
import Synchronization

/// A file or stdin, read in blocks.
public final class Input: ByteSource {
    private let descriptor: Int32
    /// The name for messages.
    public let name: String
    /// The number of bytes that were read.
    private var total = 0
    private var hasBegun = false
    /// Whether an input already reads standard input.
    private static let isStandardInputTaken = Atomic(false)

    /// Opens `path`; `-` and `nil` are stdin.
    public init(path: String?) throws(Failure) {
        guard let path, path != "-" else {
            descriptor = 0
            name = "standard input"
            return
        }
        name = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(errno: errno, "read", path) }
        var status = stat()
        if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            throw Failure(.noInput, "cannot read \(path): is a directory")
        }
    }

    deinit { if descriptor > 0 { close(descriptor) } }

    /// Whether it is a file that was named, and not stdin.
    public var hasName: Bool { descriptor != 0 }

    /// Whether it is a terminal.
    public var isTerminal: Bool { Terminal.isTerminal(descriptor) }

    /// The failure of an empty input, with status 1. For a pipe it is silent: the program before has said why it printed nothing.
    public var emptyFailure: Failure {
        Failure(.no, Terminal.isPipe(descriptor) ? "" : "the input is empty")
    }

    /// The device and inode, to detect an output to the same file.
    var identity: (dev_t, ino_t)? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return nil
        }
        return (status.st_dev, status.st_ino)
    }

    /// Reads the available bytes, at most the buffer's size; returns 0 at the end.
    ///
    /// Throws a failure with status 64 if another input has read standard input, because it can be read only once.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if !hasBegun {
            hasBegun = true
            if descriptor == 0,
                Self.isStandardInputTaken.exchange(true, ordering: .relaxed)
            {
                throw Failure(
                    .usage, "standard input can be read only once",
                    hint: "use a file for one of the two inputs")
            }
            if descriptor == 0, isTerminal {
                Terminal.note("reads what you type; Ctrl-D ends it")
            }
        }
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 {
                let before = total
                total += count
                if before <= Pipe.capacity, total > Pipe.capacity { Pipe.widen(descriptor) }
                return count
            }
            if errno != EINTR { throw Failure(errno: errno, "read", name) }
        }
    }

    /// Whether bytes or the end of the input are available without waiting.
    public var isReady: Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&state, 1, 0) > 0
    }

    /// Returns all bytes until the end.
    ///
    /// Throws a failure with status 65 for more than `limit` bytes.
    public func readAll(limit: Int) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        do {
            var block = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = try block.withUnsafeMutableBytes { try read(into: $0) }
                if count == 0 { return bytes }
                guard bytes.count + count <= limit else {
                    throw Failure(.malformed, "\(name) is longer than \(limit) bytes")
                }
                bytes += block[..<count]
            }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(.bug, "unexpected error while reading \(name)")
        }
    }
}

/// The byte order mark of UTF-8 text (U+FEFF), which editors on Windows write at the beginning.
public enum ByteOrderMark {
    /// The three bytes.
    public static let bytes: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Removes the mark from the beginning of a text.
    public static func remove(from text: inout [UInt8]) {
        if text.starts(with: bytes) { text.removeFirst(bytes.count) }
    }
}

extension Input {
    /// Returns all bytes of a text until the end, without a byte order mark.
    ///
    /// Throws a failure with status 65 for more than `limit` bytes, and for a text in UTF-16.
    public func readText(limit: Int) throws(Failure) -> [UInt8] {
        var text = try readAll(limit: limit)
        guard !text.starts(with: [0xFF, 0xFE]), !text.starts(with: [0xFE, 0xFF]) else {
            throw Failure(
                .malformed, "\(name) is UTF-16 text: it begins with that byte order mark",
                hint: "convert it: iconv -f UTF-16 -t UTF-8")
        }
        ByteOrderMark.remove(from: &text)
        return text
    }
}

/// Settings of pipes between programs.
enum Pipe {
    /// The capacity of a wide pipe in bytes: 1 MiB.
    static let capacity = 1 << 20

    /// Widens a pipe, so that its two processes wait less for each other; does nothing for other descriptors.
    static func widen(_ descriptor: Int32) { _ = fcntl(descriptor, 1024 + 7, Int32(capacity)) }
}

/// Lines of a source, each at most `limit` bytes, without LF or CRLF at the end and without a byte order mark at the
/// beginning. Files with a mark can have been joined.
public struct LineReader: ~Copyable {
    /// The result of reading a line.
    public enum Line: Sendable {
        /// A line, without its end.
        case line([UInt8])
        /// A line over the limit; it was skipped and not stored.
        case tooLong
    }

    private let source: any ByteSource
    private let limit: Int
    private var block = [UInt8](repeating: 0, count: 64 << 10)
    private var start = 0
    private var end = 0
    /// The beginning of the next line, from an earlier block.
    private var begun: [UInt8] = []
    private var atEnd = false
    /// The number of the line last returned, from 1.
    public private(set) var number = 0

    /// Creates a reader of `source`, starting with bytes that were already read from it.
    public init(_ source: any ByteSource, limit: Int, beginning: [UInt8] = []) {
        self.source = source
        self.limit = limit
        if !beginning.isEmpty {
            block = beginning
            end = beginning.count
        }
    }

    /// Reads the available input. Returns whether another call of ``next()`` may have to wait for more.
    public mutating func mustWait() throws -> Bool {
        while !atEnd, lineFeed == nil {
            guard begun.count <= limit, source.isReady else {
                wipeReturned()
                return true
            }
            begun += block[start..<end]
            try fill()
        }
        return false
    }

    /// Wipes the lines of the block that were returned: for `encrypt` they are messages.
    private mutating func wipeReturned() {
        let start = start
        block.withUnsafeMutableBytes { wipe(UnsafeMutableRawBufferPointer(rebasing: $0[..<start])) }
    }

    /// The place of the first line feed that was not returned, or `nil`.
    private var lineFeed: Int? {
        block.withUnsafeBytes { block in
            firstPlace(
                of: UInt8(ascii: "\n"), in: UnsafeRawBufferPointer(rebasing: block[start..<end]))
        }.map { start + $0 }
    }

    /// Reads the next block.
    private mutating func fill() throws {
        if block.count < 64 << 10 { block = [UInt8](repeating: 0, count: 64 << 10) }
        let source = source
        end = try block.withUnsafeMutableBytes { try source.read(into: $0) }
        start = 0
        atEnd = end == 0
    }

    /// Returns the next line, or `nil` after the last.
    public mutating func next() throws -> Line? {
        var line = begun
        begun = []
        var isTooLong = line.count > limit
        while true {
            if start < end {
                let feed = lineFeed
                let piece = block[start..<(feed ?? end)]
                if line.count + piece.count > limit {
                    isTooLong = true
                    line = []
                } else if !isTooLong {
                    line += piece
                }
                start = feed.map { $0 + 1 } ?? end
                if feed != nil { break }
            }
            if atEnd {
                if line.isEmpty && !isTooLong { return nil }
                break
            }
            try fill()
        }
        number += 1
        guard !isTooLong else { return .tooLong }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        ByteOrderMark.remove(from: &line)
        return .line(line)
    }
}
