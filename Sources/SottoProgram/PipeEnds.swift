import Glibc
public import SottoBytes

/// The two ends of a pipe. Child processes inherit only the end that they are given, and both are closed with the object.
public final class PipeEnds {
    /// The descriptor to read from, or -1 after ``closeReading()``.
    public private(set) var reading: Int32
    /// The descriptor to write to, or -1 after ``closeWriting()``.
    public private(set) var writing: Int32

    /// Makes a pipe. Throws a failure if the system has no descriptor left.
    public init() throws(Failure) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure(errno: errno, "make", "a pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (reading, writing) = (ends[0], ends[1])
        Pipe.widen(writing)
    }

    deinit {
        closeReading()
        closeWriting()
    }

    /// Closes the end to read from.
    public func closeReading() {
        if reading >= 0 { close(reading) }
        reading = -1
    }

    /// Closes the end to write to.
    public func closeWriting() {
        if writing >= 0 { close(writing) }
        writing = -1
    }
}
