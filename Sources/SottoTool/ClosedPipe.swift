import Glibc

/// SIGPIPE, which ends a tool whose reader has closed the pipe, as it ends cat(1).
///
/// The signal is ignored while a tool works: a write to a closed pipe fails with `EPIPE`, what was begun is committed or
/// rolled back, and temporary files are removed. Then ``end()`` raises it. Sockets never raise it.
public enum ClosedPipe {
    /// Whether the parent process had the signal ignored, as systemd(1) does.
    nonisolated(unsafe) private static var isIgnoredByParent = false

    /// Ignores the signal, and remembers what the parent process had set.
    static func prepare() {
        var action = sigaction()
        if sigaction(SIGPIPE, nil, &action) == 0 {
            isIgnoredByParent =
                unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
                == unsafeBitCast(SIG_IGN, to: Int.self)
        }
        signal(SIGPIPE, SIG_IGN)
    }

    /// Restores what the parent process had set, for a program that takes the place of this one.
    public static func restore() {
        if !isIgnoredByParent { signal(SIGPIPE, SIG_DFL) }
    }

    /// Ends the process by the signal. Returns where the parent process had it ignored: then a closed pipe is an error
    /// as any other.
    static func end() {
        guard !isIgnoredByParent else { return }
        signal(SIGPIPE, SIG_DFL)
        var only = sigset_t()
        sigemptyset(&only)
        sigaddset(&only, SIGPIPE)
        pthread_sigmask(SIG_UNBLOCK, &only, nil)
        raise(SIGPIPE)
    }

    /// Sets attributes for a child process, so that it finds the signal as this process found it.
    static func restore(in attributes: inout posix_spawnattr_t) {
        guard !isIgnoredByParent else { return }
        var defaults = sigset_t()
        sigemptyset(&defaults)
        sigaddset(&defaults, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    }
}
