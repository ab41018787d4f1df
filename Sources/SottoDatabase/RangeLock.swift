import Glibc
import Synchronization

/// An advisory lock on one byte of a file: an open file description lock (fcntl(2)). A file has 2⁶² of them. The kernel
/// releases it when its process ends, even after a crash.
public final class RangeLock: Sendable {
    private let descriptor: Int32
    private let offset: Int64
    private let isHeld = Mutex(false)

    /// `F_OFD_SETLK`, which Glibc defines only with a feature macro.
    private static let setLock: Int32 = 37

    /// Opens the lock at `offset`, from 0 to 2⁶² − 1, in the file `path` without taking it. Locks of one process exclude
    /// each other too.
    public init(path: String, offset: Int64) throws(DatabaseError) {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotOpen(path: path, code: errno) }
        self.offset = offset
    }

    deinit { close(descriptor) }

    /// Takes the lock if no other lock of the byte is held. Returns whether it is held now.
    public func tryLock() -> Bool {
        isHeld.withLock { isHeld in
            if !isHeld { isHeld = set(Int16(F_WRLCK)) }
            return isHeld
        }
    }

    /// Releases the lock.
    public func unlock() {
        isHeld.withLock { isHeld in
            if isHeld { _ = set(Int16(F_UNLCK)) }
            isHeld = false
        }
    }

    private func set(_ type: Int16) -> Bool {
        var range = Glibc.flock()
        range.l_type = type
        range.l_whence = Int16(SEEK_SET)
        range.l_start = off_t(offset)
        range.l_len = 1
        return fcntl(descriptor, Self.setLock, &range) == 0
    }
}
