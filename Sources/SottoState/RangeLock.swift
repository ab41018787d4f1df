import Glibc
import Sotto
import Synchronization

/// A named advisory lock; a file holds any number of them. It is an open file description lock (fcntl(2)) on the byte
/// whose offset is a hash of the name. The kernel releases it when its process ends, even after a crash.
///
/// Two names with the same offset would only wait for each other; with 2⁶² offsets this does not happen in practice.
public final class RangeLock: Sendable {
    private let descriptor: Int32
    private let place: Int64
    private let isHeld = Mutex(false)

    /// `F_OFD_SETLK`, which Glibc defines only with a feature macro.
    private static let setLock: Int32 = 37

    /// Opens the lock `name` in the file `path` without taking it. Locks of one process exclude each other too.
    public init(path: String, name: String) throws(StateError) {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotOpen(path: path, code: errno) }
        let digest = sha256(Array(name.utf8))
        place = digest.prefix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) } & (1 << 62 - 1)
    }

    deinit { close(descriptor) }

    /// Takes the lock if no other lock of the name is held. Returns whether it is held now.
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
        range.l_start = off_t(place)
        range.l_len = 1
        return fcntl(descriptor, Self.setLock, &range) == 0
    }
}
