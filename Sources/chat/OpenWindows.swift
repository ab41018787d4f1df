import Glibc
import SottoProgram

/// The open windows of an identity, on this machine: the last one of them locks the identity, if one of them has unlocked it.
///
/// Each window holds a shared lock of the first byte of the identity file, and of the second byte if it is to lock the identity.
/// The kernel releases them at each end of the process.
struct OpenWindows {
    private static let window: off_t = 0
    private static let locking: off_t = 1
    // fcntl(2) has these with _GNU_SOURCE: locks of an open file, not of a process.
    private static let getLock: Int32 = 36
    private static let setLock: Int32 = 37

    /// The identity file, or -1 if it cannot be opened.
    private var file: Int32 = -1
    private let path: String?
    private var isLocking = false

    /// Notes that this window is open.
    init() {
        path = try? defaultIdentityPath()
        file = Self.open(path)
        hold(Self.window)
    }

    private static func open(_ path: String?) -> Int32 {
        path.map { Glibc.open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) } ?? -1
    }

    /// Whether another window locks the identity at its end.
    var isOtherLocking: Bool { Self.isHeld(Self.locking, by: file) }

    /// Notes that this window locks the identity at its end.
    mutating func noteLocking() {
        guard !isLocking else { return }
        isLocking = true
        hold(Self.locking)
    }

    /// Notes the end of this window. Returns whether no other one is open.
    mutating func end() -> Bool {
        if file >= 0 { close(file) }
        file = -1
        let again = Self.open(path)
        defer { if again >= 0 { close(again) } }
        return !Self.isHeld(Self.window, by: again)
    }

    private static func lock(_ type: Int32, _ place: off_t) -> Glibc.flock {
        var lock = Glibc.flock()
        (lock.l_type, lock.l_whence) = (Int16(type), Int16(SEEK_SET))
        (lock.l_start, lock.l_len) = (place, 1)
        return lock
    }

    private func hold(_ place: off_t) {
        var lock = Self.lock(F_RDLCK, place)
        if file >= 0 { _ = fcntl(file, Self.setLock, &lock) }
    }

    /// Whether another open file holds a lock of a byte.
    private static func isHeld(_ place: off_t, by file: Int32) -> Bool {
        var lock = lock(F_WRLCK, place)
        return file >= 0 && fcntl(file, getLock, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
    }
}
