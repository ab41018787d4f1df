import Glibc

/// A lock that lets one tool at a time show prompts on a terminal, as in `recv | decrypt`, where both need a
/// passphrase.
///
/// A second tool would read the answer to the first one's prompt. It would also take the hidden echo for the terminal's
/// normal mode and leave it hidden. The lock is on the terminal's own device, because `/dev/tty` is the same file for all terminals. If
/// that device is not found, or the tool runs in the background and must not prompt, no lock is taken.
enum TerminalLock {
    nonisolated(unsafe) private static var descriptor: Int32 = -1

    /// Waits until no other tool prompts on the terminal that `tty` is open on.
    static func take(_ tty: Int32) {
        guard tcgetpgrp(tty) == getpgrp(), let path = path(of: tty) else { return }
        descriptor = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        while descriptor >= 0, flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
    }

    /// Releases the lock.
    static func release() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    /// Releases the lock while this tool is stopped; for signal handlers.
    static func pause() { if descriptor >= 0 { flock(descriptor, LOCK_UN) } }

    /// Takes the lock again if it is free; for signal handlers.
    static func resume() { if descriptor >= 0 { flock(descriptor, LOCK_EX | LOCK_NB) } }

    /// Returns the device of a pseudo-terminal or a virtual console.
    private static func path(of tty: Int32) -> String? {
        var device: UInt32 = 0
        // TIOCGDEV, a macro that Swift does not import.
        guard ioctl(tty, 0x8004_5432, &device) == 0 else { return nil }
        let (major, minor) = (device >> 8 & 0xFFF, device & 0xFF | device >> 12 & 0xF_FF00)
        return switch major {
        case 136: "/dev/pts/\(minor)"
        case 4 where minor < 64: "/dev/tty\(minor)"
        default: nil
        }
    }
}
