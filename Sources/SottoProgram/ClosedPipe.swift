import Glibc

/// Handles SIGPIPE, which ends a tool after its output pipe was closed, as it ends cat(1).
///
/// The signal is ignored while a tool runs: a write to a closed pipe fails with `EPIPE`, transactions are committed or
/// rolled back, and temporary files are removed. Then ``end()`` raises the signal. Sockets never raise it.
public enum ClosedPipe {
    /// Whether the parent process ignored the signal, as systemd(1) does.
    nonisolated(unsafe) private static var isIgnoredByParent = false

    /// Ignores the signal, and records the parent's setting.
    static func prepare() {
        var action = sigaction()
        if sigaction(SIGPIPE, nil, &action) == 0 {
            isIgnoredByParent =
                unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
                == unsafeBitCast(SIG_IGN, to: Int.self)
        }
        signal(SIGPIPE, SIG_IGN)
    }

    /// Restores the parent's setting, for a program that replaces this one by exec.
    public static func restore() {
        if !isIgnoredByParent { signal(SIGPIPE, SIG_DFL) }
    }

    /// Ends the process by the signal. Returns if the parent process ignored it: then a closed pipe is an ordinary
    /// error.
    static func end() {
        guard !isIgnoredByParent else { return }
        signal(SIGPIPE, SIG_DFL)
        var only = sigset_t()
        sigemptyset(&only)
        sigaddset(&only, SIGPIPE)
        pthread_sigmask(SIG_UNBLOCK, &only, nil)
        raise(SIGPIPE)
    }

    /// The signals that get their default action in a child process, so that it gets the setting that this process got.
    static var restoredSignals: [Int32] { isIgnoredByParent ? [] : [SIGPIPE] }
}
