import Glibc
import Synchronization

/// An advisory lock (flock(2)) on a file. The kernel releases it when its process ends, even after a crash.
public final class FileLock: Sendable {
    private let descriptor: Int32
    private let held = Mutex(false)

    /// Opens or creates the lock file `path` without taking the lock.
    public init(path: String) throws(DatabaseError) {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotOpen(path: path, code: errno) }
    }

    deinit { close(descriptor) }

    /// Takes the lock if no other process holds it. Returns whether it is held now.
    public func tryLock() -> Bool {
        held.withLock { held in
            if !held { held = flock(descriptor, LOCK_EX | LOCK_NB) == 0 }
            return held
        }
    }

    /// Takes the lock, waiting at most `timeout` seconds. Returns whether it is held now.
    public func lock(timeout: Double) -> Bool {
        let deadline = Monotonic.seconds() + timeout
        while !tryLock() {
            let left = deadline - Monotonic.seconds()
            guard left > 0 else { return false }
            usleep(UInt32(min(left, 0.02) * 1e6))
        }
        return true
    }

    /// Releases the lock.
    public func unlock() {
        held.withLock { held in
            if held { flock(descriptor, LOCK_UN) }
            held = false
        }
    }
}
