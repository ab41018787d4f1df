import Glibc
import SottoTool

/// The process that searches pictures, under limits of processor time and memory.
///
/// `qr scan` starts itself again for that: the libraries that read pictures and codes have no limits. When the system ends the
/// second process at a limit, the first one names this limit.
enum ScanWorker {
    /// The limits, for all pictures of one command together.
    struct Limits {
        /// Seconds of processor time.
        let seconds: Int
        /// Address space in MiB.
        let mebibytes: Int
    }

    /// Argument 0 of the second process.
    private static let name = "qr-scan-worker"

    /// Whether this is the second process.
    static var isWorker: Bool { CommandLine.arguments.first == name }

    /// Sets the limits for this process.
    static func set(_ limits: Limits) {
        let time = rlim_t(limits.seconds)
        // Past the second limit the signal cannot be caught.
        var processor = rlimit(rlim_cur: time, rlim_max: time + 5)
        setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &processor)
        let size = rlim_t(limits.mebibytes) << 20
        var memory = rlimit(rlim_cur: size, rlim_max: size)
        setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &memory)
    }

    nonisolated(unsafe) private static var child: pid_t = 0

    /// Runs the same command in the second process and ends as it ended.
    ///
    /// Throws a failure with status 65 where it reached a limit or crashed, and 74 where it cannot be started.
    static func run(_ limits: Limits) throws(Failure) -> Never {
        let words = ([name] + CommandLine.arguments.dropFirst()).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        // A report of a crash is of no use where the cause is known.
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
                    "cut the picture to the code, or allow more: --time-limit \(limits.seconds * 10)"
            )
        default:
            throw Failure(
                .malformed,
                "the picture needs more than \(limits.mebibytes) MiB of memory, or crashes its reader",
                hint:
                    "cut the picture to the code, or allow more: --memory-limit \(limits.mebibytes * 4)"
            )
        }
    }
}
