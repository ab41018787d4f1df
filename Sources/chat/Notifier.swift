import Glibc
import SottoProgram

/// The command of `--notify`, which /bin/sh runs. One runs at a time; of the others, the last waits.
struct Notifier {
    private let command: String
    private var running: pid_t?
    private var waiting: (name: String, count: Int)?

    init(_ command: String) { self.command = command }

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
        running = try? start.start()
    }

    /// Notices the end of the command, and runs the one that waits.
    mutating func reap() {
        var status: Int32 = 0
        guard let running, waitpid(running, &status, WNOHANG) != 0 else { return }
        self.running = nil
        if let (name, count) = waiting {
            waiting = nil
            run(name, count)
        }
    }
}
