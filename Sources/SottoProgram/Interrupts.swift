import Glibc

/// The cleanup when a signal ends a tool: a hidden echo, a temporary file without `O_TMPFILE`, a note about what was done.
///
/// A signal handler may only use memory that was initialized before; hence globals of C types, written before the
/// handler can run.
enum Interrupts {
    nonisolated(unsafe) private static var temporaryPath: UnsafeMutablePointer<CChar>?
    nonisolated(unsafe) private static var note: UnsafeMutableRawBufferPointer?

    private static let installed: Void = {
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            handle(signal) { signal in
                HiddenEcho.show()
                if let path = Interrupts.temporaryPath { unlink(path) }
                if let note = Interrupts.note { _ = write(2, note.baseAddress, note.count) }
                Glibc.signal(signal, SIG_DFL)
                raise(signal)
            }
        }
    }()

    /// Installs the cleanup for all signals that can be caught and end the process.
    static func install() { _ = installed }

    /// Sets a handler, unless the signal is ignored, as under nohup(1).
    static func handle(_ signal: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0,
            unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
                != unsafeBitCast(SIG_IGN, to: Int.self)
        else { return }
        action = sigaction()
        action.sa_flags = SA_RESTART
        action.__sigaction_handler.sa_handler = handler
        sigaction(signal, &action, nil)
    }

    /// Sets the bytes that are written to stderr when a signal ends the tool, or none.
    static func setNote(_ bytes: [UInt8]?) {
        let before = note
        note = bytes.map { bytes in
            let copy = UnsafeMutableRawBufferPointer.allocate(
                byteCount: bytes.count, alignment: 1)
            copy.copyBytes(from: bytes)
            return copy
        }
        before?.deallocate()
        install()
    }

    static func removeOnSignal(_ path: String) {
        temporaryPath = strdup(path)
        install()
    }

    static func keepOnSignal() {
        let path = temporaryPath
        temporaryPath = nil
        free(path)
    }
}
