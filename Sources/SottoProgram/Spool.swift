import Glibc
public import SottoBytes

/// A temporary file without a name, deleted when the process ends. It is for ciphertext only: a caller that must verify the
/// whole input before it releases any of it stores the input and decrypts it again.
public final class Spool: ByteSink, ByteSource {
    private let descriptor: Int32

    /// Creates an empty spool in `$TMPDIR`, else `/tmp`.
    public init() throws(Failure) {
        let chosen = try environmentPath("TMPDIR")
        let directory = chosen ?? "/tmp"
        var template = Array((directory + "/sotto.XXXXXX").utf8CString)
        descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw Failure(errno: errno, "create a file in", directory) }
        unlink(template)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit { close(descriptor) }

    /// Appends `bytes`.
    public func write(_ bytes: UnsafeRawBufferPointer) throws {
        try Output.writeAll(bytes, to: descriptor, name: "a temporary file")
    }

    /// Does nothing.
    public func finish() {}

    /// Seeks to the beginning, for reading.
    public func rewind() throws(Failure) {
        guard lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw Failure(errno: errno, "read", "a temporary file")
        }
    }

    /// Reads the written bytes.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            if errno != EINTR { throw Failure(errno: errno, "read", "a temporary file") }
        }
    }
}

/// A source whose bytes are also written to a sink as they are read.
public final class TeeSource: ByteSource {
    private let source: any ByteSource
    private let sink: any ByteSink

    /// Creates a source that also writes what is read from `source` to `sink`.
    public init(_ source: any ByteSource, to sink: any ByteSink) {
        self.source = source
        self.sink = sink
    }

    /// Reads bytes and copies them to the sink.
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let count = try source.read(into: buffer)
        try sink.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        return count
    }
}
