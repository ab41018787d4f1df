import Glibc
import SottoBytes
import SottoProgram

/// The signals of this process as bytes in a pipe, so that poll(2) waits for them too.
///
/// A handler may only use memory that was initialized before; hence globals of C types.
enum SignalPipe {
    nonisolated(unsafe) private static var writing: Int32 = -1

    /// The signals that end the program.
    static let endings: Set<Int32> = [SIGHUP, SIGINT, SIGTERM, SIGQUIT]

    /// All signals that are received.
    static let received = Array(endings) + [SIGCHLD, SIGWINCH, SIGTSTP, SIGCONT]

    /// Begins to receive the signals, except those that the parent process ignores, as under nohup(1). Returns the pipe with
    /// their numbers, which must stay open.
    static func open() throws(Failure) -> PipeEnds {
        let pipe = try PipeEnds()
        for end in [pipe.reading, pipe.writing] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        writing = pipe.writing
        for signal in received where !isIgnored(signal) { handle(signal) }
        return pipe
    }

    /// Returns the numbers of the signals that arrived.
    static func numbers(from pipe: PipeEnds) -> Set<Int32> {
        var numbers: Set<Int32> = []
        var block = [UInt8](repeating: 0, count: 256)
        while case let count = read(pipe.reading, &block, block.count), count > 0 {
            numbers.formUnion(block[..<count].map(Int32.init))
        }
        return numbers
    }

    /// Stops the program in the usual way of SIGTSTP. Returns when it continues.
    static func stop() {
        guard !isIgnored(SIGTSTP) else { return }
        signal(SIGTSTP, SIG_DFL)
        raise(SIGTSTP)
        handle(SIGTSTP)
    }

    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        return sigaction(signal, nil, &action) == 0
            && unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
                == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    private static func handle(_ signal: Int32) {
        var action = sigaction()
        action.sa_flags = SA_RESTART
        action.__sigaction_handler.sa_handler = { signal in
            let code = errno
            var number = UInt8(truncatingIfNeeded: signal)
            // A full pipe needs no other number of this signal; the program looks for children at each number.
            _ = write(SignalPipe.writing, &number, 1)
            errno = code
        }
        sigaction(signal, &action, nil)
    }
}
