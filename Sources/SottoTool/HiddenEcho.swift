import Glibc

/// A terminal that does not show what is typed, for the time of one question.
///
/// Whatever ends or stops the tool gives the echo back, and what lets it go on hides it again, with the
/// question: a shell that takes over the terminal leaves the echo on. Globals of C types, as in ``Interrupts``;
/// the modes behind pointers, because a handler may come while a call still has them.
enum HiddenEcho {
    nonisolated(unsafe) private static var terminal: Int32 = -1
    nonisolated(unsafe) private static let shown = modes()
    nonisolated(unsafe) private static let hidden = modes()
    nonisolated(unsafe) private static var isHidden = false
    nonisolated(unsafe) private static var prompt: UnsafeMutableRawBufferPointer?

    private static func modes() -> UnsafeMutablePointer<termios> {
        let modes = UnsafeMutablePointer<termios>.allocate(capacity: 1)
        modes.initialize(to: termios())
        return modes
    }

    /// Hides what is typed on `tty` until ``end()``; false where that is not possible.
    static func begin(on tty: Int32, prompt question: [UInt8]) -> Bool {
        guard tcgetattr(tty, shown) == 0 else { return false }
        hidden.pointee = shown.pointee
        hidden.pointee.c_lflag &= ~tcflag_t(ECHO)
        hidden.pointee.c_lflag |= tcflag_t(ECHONL)
        let copy = UnsafeMutableRawBufferPointer.allocate(
            byteCount: question.count, alignment: 1)
        copy.copyBytes(from: question)
        prompt = copy
        isHidden = true
        terminal = tty
        Interrupts.install()
        _ = installed
        tcsetattr(tty, TCSAFLUSH, hidden)
        return true
    }

    /// Shows again what is typed.
    static func end() {
        let tty = terminal
        tcsetattr(tty, TCSAFLUSH, shown)
        terminal = -1
        // Once more: a stop between these two would have hidden it again.
        tcsetattr(tty, TCSANOW, shown)
        prompt?.deallocate()
        prompt = nil
    }

    /// Gives the echo back; for signal handlers.
    static func show() {
        guard terminal >= 0 else { return }
        isHidden = false
        tcsetattr(terminal, TCSANOW, shown)
    }

    /// Hides again and repeats the question; for signal handlers.
    private static func hide() {
        guard terminal >= 0 else { return }
        isHidden = true
        tcsetattr(terminal, TCSAFLUSH, hidden)
        if let prompt { _ = write(terminal, prompt.baseAddress, prompt.count) }
    }

    private static let installed: Void = {
        Interrupts.handle(SIGTSTP) { signal in HiddenEcho.stop(signal) }
        Interrupts.handle(SIGCONT) { _ in
            let code = errno
            HiddenEcho.hide()
            errno = code
        }
    }()

    /// Stops the process as it would stop by itself, and returns when it goes on.
    private static func stop(_ signal: Int32) {
        let code = errno
        show()
        var standard = sigaction()
        var ours = sigaction()
        sigaction(signal, &standard, &ours)
        var only = sigset_t()
        sigemptyset(&only)
        sigaddset(&only, signal)
        var before = sigset_t()
        raise(signal)
        sigprocmask(SIG_UNBLOCK, &only, &before)
        // Here it stands still. SIGCONT has hidden the echo, unless nobody was there to stop for.
        sigprocmask(SIG_SETMASK, &before, nil)
        sigaction(signal, &ours, nil)
        if !isHidden { hide() }
        errno = code
    }
}
