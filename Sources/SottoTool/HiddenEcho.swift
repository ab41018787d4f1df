import Glibc

/// A terminal that does not show typed characters, for the time of some questions.
///
/// Each signal that ends or stops the tool restores the echo, and a continued tool hides it again and repeats the
/// question: a shell that takes over the terminal leaves the echo on. Characters that were typed before stay in the
/// terminal's queue. Globals of C types, as in ``Interrupts``; the modes are behind pointers, because a handler may run while
/// a call still uses them.
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

    /// Stops the echo on `tty` until ``end()``, after another tool's questions on the same terminal have ended. Returns
    /// false where the echo cannot be stopped.
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
        // Once more: a stop between these two would have hidden it again.
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

    /// Stops the echo again and repeats the question; for signal handlers.
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
