import Glibc

/// What must be undone when a signal ends a tool: a hidden echo, a temporary file without `O_TMPFILE`.
///
/// A signal handler may only touch memory that was laid out before; hence plain globals of C types,
/// written before the handler can run.
enum Interrupts {
    nonisolated(unsafe) private static var terminal: Int32 = -1
    nonisolated(unsafe) private static var savedTerminal = termios()
    nonisolated(unsafe) private static var temporaryPath: UnsafeMutablePointer<CChar>?
    private static let signals = [SIGINT, SIGTERM, SIGHUP]

    private static let installed: Void = {
        for signal in signals {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { signal in
                if Interrupts.terminal >= 0 {
                    tcsetattr(Interrupts.terminal, TCSANOW, &Interrupts.savedTerminal)
                }
                if let path = Interrupts.temporaryPath { unlink(path) }
                Glibc.signal(signal, SIG_DFL)
                raise(signal)
            }
            sigaction(signal, &action, nil)
        }
    }()

    static func restoreTerminal(_ descriptor: Int32, _ saved: termios) {
        savedTerminal = saved
        terminal = descriptor
        _ = installed
    }

    static func terminalRestored() { terminal = -1 }

    static func removeOnSignal(_ path: String) {
        temporaryPath = strdup(path)
        _ = installed
    }

    static func keepOnSignal() {
        let path = temporaryPath
        temporaryPath = nil
        free(path)
    }
}
