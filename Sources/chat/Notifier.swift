import Glibc
import SottoProgram

/// The command of `--notify`, which /bin/sh runs. One runs at a time, for a limited time; of the others, the last waits.
struct Notifier {
    /// The longest time of one command, in milliseconds.
    private static let longest: Int64 = 10_000

    private let command: String
    private var running: (process: pid_t, end: Int64)?
    private var waiting: (name: String, count: Int)?
    /// The first failure, until ``takeFailure()`` returns it.
    private var failure: String?
    private var hasFailed = false

    init(_ command: String) { self.command = command }

    /// The time until the running command is ended, in milliseconds.
    var milliseconds: Int64? {
        running.map { max(0, $0.end - MonotonicTime.milliseconds()) }
    }

    /// Runs the command with the name of a conversation and the number of its unread messages.
    mutating func run(_ name: String, _ count: Int) {
        guard running == nil else {
            waiting = (name, count)
            return
        }
        var start = ProgramStart(.path("/bin/sh"), ["sh", "-c", command, "sh", name, "\(count)"])
        start.descriptors = [
            (0, .file("/dev/null", O_RDONLY)), (1, .file("/dev/null", O_WRONLY)),
            (2, .file("/dev/null", O_WRONLY)),
        ]
        start.closesOthers = true
        start.defaultSignals = [SIGPIPE]
        start.group = .session
        do throws(ProgramStart.NotStarted) {
            running = (try start.start(), MonotonicTime.milliseconds() + Self.longest)
        } catch {
            fail("sh cannot be started: \(String(cString: strerror(error.code)))")
        }
    }

    /// Notices the end of the command, ends one that takes too long, and runs the one that waits.
    mutating func reap() {
        guard let (process, end) = running else { return }
        var status: Int32 = 0
        if waitpid(process, &status, WNOHANG) == 0 {
            guard end <= MonotonicTime.milliseconds() else { return }
            stop()
            fail("the command took more than \(Self.longest / 1000) seconds")
        } else if case .exited(let code) = ProgramEnd(waitStatus: status), code != 0 {
            fail("the command ended with status \(code)")
        }
        running = nil
        if let (name, count) = waiting {
            waiting = nil
            run(name, count)
        }
    }

    /// Ends the running command and the processes that it started.
    mutating func stop() {
        guard let (process, _) = running else { return }
        kill(-process, SIGKILL)
        _ = ProgramEnd(of: process)
        running = nil
    }

    /// Returns the first failure, once.
    mutating func takeFailure() -> String? {
        defer { failure = nil }
        return failure
    }

    private mutating func fail(_ cause: String) {
        if !hasFailed { failure = cause }
        hasFailed = true
    }
}
