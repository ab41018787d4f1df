import Glibc
public import SottoBytes

/// A regular file that can be read at any offset.
public final class SeekableFile: SeekableSource {
    private let descriptor: Int32
    private let name: String
    /// The length in bytes when it was opened.
    public let count: Int

    /// Opens `path`. Throws if it is not a regular file, because a pipe can be read only once.
    public init(path: String) throws(Failure) {
        name = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Failure(errno: errno, "read", path) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw Failure(
                .usage, "\(path) is not a regular file and would have to be read twice",
                hint: "write the input to a file first")
        }
        count = Int(status.st_size)
    }

    deinit { close(descriptor) }

    /// Reads the bytes from `offset`, at most the buffer's size.
    public func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            if count >= 0 { return count }
            if errno != EINTR { throw Failure(errno: errno, "read", name) }
        }
    }
}
