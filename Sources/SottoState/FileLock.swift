import Glibc
import Synchronization

/// An advisory lock (flock(2)) on a file of its own: the kernel gives it back however its holder ends.
public final class FileLock: Sendable {
    private let descriptor: Int32
    private let held = Mutex(false)

    /// The lock whose file is `path`, not yet taken.
    public init(path: String) throws(StateError) {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotOpen(path: path, code: errno) }
    }

    deinit { close(descriptor) }

    /// Takes the lock if nobody else holds it; says whether it is held now.
    public func tryLock() -> Bool {
        held.withLock { held in
            if !held { held = flock(descriptor, LOCK_EX | LOCK_NB) == 0 }
            return held
        }
    }

    /// Takes the lock, waiting at most `timeout` seconds; says whether it is held now.
    public func lock(timeout: Double) -> Bool {
        let deadline = Monotonic.seconds() + timeout
        while !tryLock() {
            let left = deadline - Monotonic.seconds()
            guard left > 0 else { return false }
            usleep(UInt32(min(left, 0.02) * 1e6))
        }
        return true
    }

    /// Gives the lock back.
    public func unlock() {
        held.withLock { held in
            if held { flock(descriptor, LOCK_UN) }
            held = false
        }
    }
}

/// The clock that no one can set, for timeouts.
public enum Monotonic {
    /// Seconds since some moment, running on through suspension.
    public static func seconds() -> Double {
        var now = timespec()
        clock_gettime(CLOCK_BOOTTIME, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }
}

/// Whether something has this name.
func fileExists(_ path: String) -> Bool { access(path, F_OK) == 0 }
