import Glibc

/// One tool asks on a terminal at a time, as in `recv | decrypt`, where both need a passphrase.
///
/// A second tool would read the first one's answer, and would take the hidden echo for the usual mode of the terminal. The lock is
/// on the terminal's own device, because `/dev/tty` is one file for all terminals. Where that device is not found, or the tool is in
/// the background and may not ask, there is no lock.
enum TerminalLock {
    nonisolated(unsafe) private static var descriptor: Int32 = -1

    /// Waits until no other tool asks on the terminal that `tty` is open on.
    static func take(_ tty: Int32) {
        guard tcgetpgrp(tty) == getpgrp(), let path = path(of: tty) else { return }
        descriptor = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        while descriptor >= 0, flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
    }

    /// Lets the next tool ask.
    static func release() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    /// Lets another tool ask while this one is stopped; for signal handlers.
    static func pause() { if descriptor >= 0 { flock(descriptor, LOCK_UN) } }

    /// Takes the lock again if it is free; for signal handlers.
    static func resume() { if descriptor >= 0 { flock(descriptor, LOCK_EX | LOCK_NB) } }

    /// The device of a pseudo-terminal or a virtual console.
    private static func path(of tty: Int32) -> String? {
        var device: UInt32 = 0
        // TIOCGDEV, whose definition is a macro that Swift does not import.
        guard ioctl(tty, 0x8004_5432, &device) == 0 else { return nil }
        let (major, minor) = (device >> 8 & 0xFFF, device & 0xFF | device >> 12 & 0xF_FF00)
        return switch major {
        case 136: "/dev/pts/\(minor)"
        case 4 where minor < 64: "/dev/tty\(minor)"
        default: nil
        }
    }
}
