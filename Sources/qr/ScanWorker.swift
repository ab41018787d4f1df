import Glibc
import SottoTool

/// A child process that searches pictures, with limits on processor time and memory.
///
/// `qr scan` runs itself again for the search, because the libraries that decode pictures and codes have no limits. If
/// the system ends the child process at a limit, the parent reports the limit.
enum ScanWorker {
    /// The limits for all pictures of one command together.
    struct Limits {
        /// Seconds of processor time.
        let seconds: Int
        /// Address space in MiB.
        let mebibytes: Int
    }

    /// Argument 0 of the child process.
    private static let name = "qr-scan-worker"

    /// Whether this is the child process.
    static var isWorker: Bool { CommandLine.arguments.first == name }

    /// Sets the limits for this process.
    static func set(_ limits: Limits) {
        let time = rlim_t(limits.seconds)
        // Above the hard limit, the system kills the process with a signal that cannot be caught.
        var processor = rlimit(rlim_cur: time, rlim_max: time + 5)
        setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &processor)
        let size = rlim_t(limits.mebibytes) << 20
        var memory = rlimit(rlim_cur: size, rlim_max: size)
        setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &memory)
    }

    nonisolated(unsafe) private static var child: pid_t = 0

    /// Runs the same command in the child process and ends with its status.
    ///
    /// Throws a failure with status 65 if the child reached a limit or crashed, and 74 if it cannot be started.
    static func run(_ limits: Limits) throws(Failure) -> Never {
        let words = ([name] + CommandLine.arguments.dropFirst()).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        // A crash report is not useful, because the cause is known.
        setenv("SWIFT_BACKTRACE", "enable=no", 1)
        let code = posix_spawn(&child, "/proc/self/exe", nil, nil, words, environ)
        guard code == 0 else { throw Failure(errno: code, "run", "/proc/self/exe") }
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            var action = sigaction()
            action.sa_flags = SA_RESTART
            action.__sigaction_handler.sa_handler = { kill(ScanWorker.child, $0) }
            sigaction(signal, &action, nil)
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        switch signal {
        case 0: exit(status >> 8 & 0xFF)
        case SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE:
            Glibc.signal(signal, SIG_DFL)
            raise(signal)
            exit(128 + signal)
        case SIGXCPU, SIGKILL:
            let time = "\(limits.seconds) second\(limits.seconds == 1 ? "" : "s")"
            throw Failure(
                .malformed, "the search took more than \(time) of processor time",
                hint:
                    "crop the picture to the code, or raise the limit: --time-limit \(limits.seconds * 10)"
            )
        default:
            throw Failure(
                .malformed,
                "the picture needs more than \(limits.mebibytes) MiB of memory, or its decoder crashed",
                hint:
                    "crop the picture to the code, or raise the limit: --memory-limit \(limits.mebibytes * 4)"
            )
        }
    }
}
