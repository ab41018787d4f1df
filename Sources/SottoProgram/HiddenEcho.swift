import Glibc

/// A terminal with disabled echo during questions.
///
/// Each signal that ends or stops the tool restores the echo, because a shell that takes over the terminal leaves the
/// echo setting unchanged. A continued tool disables it again and repeats the question. Characters typed before stay in
/// the terminal's queue. The state is globals of C types, as in ``Interrupts``; the modes are behind pointers, because
/// a handler may run while a call still uses them.
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

    /// Disables the echo on `tty` until ``end()``, after the questions of other tools on the same terminal have ended.
    /// Returns false if the echo cannot be disabled.
    static func begin(on tty: Int32) -> Bool {
        TerminalLock.take(tty)
        guard tcgetattr(tty, shown) == 0 else {
            TerminalLock.release()
            return false
        }
        hidden.pointee = shown.pointee
        hidden.pointee.c_lflag &= ~tcflag_t(ECHO)
        hidden.pointee.c_lflag |= tcflag_t(ECHONL)
        isHidden = true
        terminal = tty
        Interrupts.install()
        _ = installed
        tcsetattr(tty, TCSANOW, hidden)
        return true
    }

    /// Sets the question that a continued tool repeats.
    static func setPrompt(_ question: [UInt8]) {
        let before = prompt
        let copy = UnsafeMutableRawBufferPointer.allocate(
            byteCount: question.count, alignment: 1)
        copy.copyBytes(from: question)
        prompt = copy
        before?.deallocate()
    }

    /// Restores the echo.
    static func end() {
        let tty = terminal
        tcsetattr(tty, TCSANOW, shown)
        terminal = -1
        // Set again, because a stop between the two statements would have disabled the echo.
        tcsetattr(tty, TCSANOW, shown)
        TerminalLock.release()
        prompt?.deallocate()
        prompt = nil
    }

    /// Restores the echo; for signal handlers.
    static func show() {
        guard terminal >= 0 else { return }
        isHidden = false
        tcsetattr(terminal, TCSANOW, shown)
        TerminalLock.pause()
    }

    /// Disables the echo again and repeats the question; for signal handlers.
    private static func hide() {
        guard terminal >= 0 else { return }
        isHidden = true
        TerminalLock.resume()
        tcsetattr(terminal, TCSANOW, hidden)
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

    /// Stops the process with the signal's default action, and returns when it continues.
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
        // The process stops here. SIGCONT has disabled the echo, unless the process group is orphaned and does not
        // stop.
        sigprocmask(SIG_SETMASK, &before, nil)
        sigaction(signal, &ours, nil)
        if !isHidden { hide() }
        errno = code
    }
}
