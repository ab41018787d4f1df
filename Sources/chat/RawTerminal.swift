import Glibc
import SottoBytes
import SottoChat

/// The terminal while the screen is shown: keys arrive one by one, without echo. Each end of the program restores it, also a
/// crash.
///
/// The state is globals of C types, because a signal handler may run at any time. The settings are behind pointers, because a
/// handler may run while a call still uses them.
enum RawTerminal {
    /// The terminal, or -1 while it is not in use. It is opened anew: a terminal that does not read must not stop the program, and the
    /// flag for this would apply to the shell's descriptor too.
    nonisolated(unsafe) private(set) static var descriptor: Int32 = -1
    nonisolated(unsafe) private static var isActive = false
    nonisolated(unsafe) private static let before = settings()
    nonisolated(unsafe) private static let raw = settings()
    nonisolated(unsafe) private static let ending = {
        let bytes = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Painter.ending.count, alignment: 1)
        bytes.copyBytes(from: Painter.ending)
        return bytes
    }()

    private static func settings() -> UnsafeMutablePointer<termios> {
        let settings = UnsafeMutablePointer<termios>.allocate(capacity: 1)
        settings.initialize(to: termios())
        return settings
    }

    /// Opens the terminal of standard input and begins its use.
    static func open() throws(Failure) {
        // Standard input can be a terminal that is not the controlling one.
        descriptor = Glibc.open("/proc/self/fd/0", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure(errno: errno, "open", "the terminal") }
        _ = ending
        installCrashHandlers()
        begin()
    }

    /// Makes the terminal ready for the screen, at the start and after the program was stopped.
    static func begin() {
        if !isActive {
            tcgetattr(descriptor, before)
            raw.pointee = before.pointee
            cfmakeraw(raw)
        }
        isActive = true
        tcsetattr(descriptor, TCSANOW, raw)
        write(Painter.beginning)
    }

    /// Restores the terminal.
    static func end() {
        guard isActive else { return }
        write(Array(ending))
        restore()
    }

    /// Restores the settings; for signal handlers too.
    private static func restore() {
        isActive = false
        tcsetattr(descriptor, TCSANOW, before)
    }

    /// Returns the size in columns and rows.
    static func size() -> (columns: Int, rows: Int) {
        var size = winsize()
        let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        // Terminals that do not report their size usually have this one.
        return isKnown ? (Int(size.ws_col), max(1, Int(size.ws_row))) : (80, 24)
    }

    /// Writes as many bytes as the terminal takes now. Returns their number, or `nil` if the terminal is closed.
    static func writeSome(_ bytes: ArraySlice<UInt8>) -> Int? {
        while true {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count >= 0 { return count }
            if errno == EAGAIN { return 0 }
            guard errno == EINTR else { return nil }
        }
    }

    /// Writes bytes, and waits at most a second for a terminal that does not take them.
    static func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty, let count = writeSome(rest) {
            rest = rest.dropFirst(count)
            var item = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard rest.isEmpty || poll(&item, 1, 1000) > 0 else { return }
        }
    }

    /// The signals of a crash: of a trap of Swift, of a failed check of a library, of an invalid address.
    private static let crashes = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS]

    /// Makes a crash restore the terminal before it ends the program in the usual way.
    private static func installCrashHandlers() {
        // A stack that has overflowed cannot run a handler.
        let size = 64 << 10
        var stack = stack_t(
            ss_sp: UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16), ss_flags: 0,
            ss_size: size)
        sigaltstack(&stack, nil)
        for signal in crashes {
            var action = sigaction()
            action.sa_flags = Int32(SA_ONSTACK) | Int32(bitPattern: UInt32(SA_RESETHAND))
            action.__sigaction_handler.sa_handler = { signal in
                if RawTerminal.isActive {
                    _ = Glibc.write(
                        RawTerminal.descriptor, RawTerminal.ending.baseAddress,
                        RawTerminal.ending.count)
                    RawTerminal.restore()
                }
                raise(signal)
            }
            sigaction(signal, &action, nil)
        }
    }
}
