import Glibc

/// A clock that cannot be set, for timeouts.
public enum Monotonic {
    /// Seconds since an arbitrary moment, counting suspension.
    public static func seconds() -> Double {
        var now = timespec()
        clock_gettime(CLOCK_BOOTTIME, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }
}
