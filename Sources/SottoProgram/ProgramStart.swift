import CLinux
import Glibc

/// A program to start as a child process. All child processes start here.
package struct ProgramStart {
    /// The place of the program.
    package enum Place: Sendable {
        case path(String)
        /// A name that is searched in `PATH`.
        case name(String)
    }

    /// The origin of one of the program's descriptors.
    package enum Source: Sendable {
        /// A descriptor of this process.
        case descriptor(Int32)
        /// A file with the flags of open(2); a new one gets the mode 0600.
        case file(String, Int32)
    }

    /// The process group of the program.
    package enum Group: Sendable {
        case inherited
        /// A new group, so that one signal ends the program and its children.
        case separate
        /// A new session. The first terminal that it opens becomes its controlling terminal.
        case session
    }

    /// The error number of a program that could not be started.
    package struct NotStarted: Error {
        package let code: Int32
    }

    private let place: Place
    private let words: [String]
    /// The variables as `NAME=VALUE`; `nil` for those of this process.
    package var environment: [String]?
    /// The working directory; `nil` for that of this process.
    package var directory: String?
    /// The descriptors by number. All others without `FD_CLOEXEC` are inherited, unless ``closesOthers`` is set.
    package var descriptors: [(number: Int32, source: Source)] = []
    /// Whether the descriptors above those of ``descriptors`` are closed.
    package var closesOthers = false
    /// The signals that get their default action. If there are any, no signal is blocked.
    package var defaultSignals: [Int32] = []
    package var group = Group.inherited
    /// Whether a tool of this project gets SIGTERM when the thread that starts it ends, also by SIGKILL.
    package var endsWithParent = false

    /// The variable with the process id of the parent process, for ``endsWithParent``. The tool removes it.
    static let parentVariable = "SOTTO_PARENT"

    /// A program with the words of its command line: first its name, then its arguments.
    package init(_ place: Place, _ words: [String]) {
        (self.place, self.words) = (place, words)
    }

    /// Starts the program. Returns its process id.
    package func start() throws(NotStarted) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        add(to: &actions)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        set(&attributes)
        let arguments = words.map { strdup($0) } + [nil]
        let variables = (endsWithParent ? environmentWithParent : environment).map {
            $0.map { strdup($0) } + [nil]
        }
        defer { for word in arguments + (variables ?? []) { free(word) } }
        var process: Int32 = 0
        func start(_ variables: UnsafePointer<UnsafeMutablePointer<CChar>?>?) -> Int32 {
            switch place {
            case .path(let path):
                posix_spawn(&process, path, &actions, &attributes, arguments, variables)
            case .name(let name):
                posix_spawnp(&process, name, &actions, &attributes, arguments, variables)
            }
        }
        let code =
            variables.map { $0.withUnsafeBufferPointer { start($0.baseAddress) } }
            ?? start(environ)
        guard code == 0 else { throw NotStarted(code: code) }
        return process
    }

    private var environmentWithParent: [String] {
        (environment ?? environmentVariables()) + ["\(Self.parentVariable)=\(getpid())"]
    }

    private func add(to actions: inout posix_spawn_file_actions_t) {
        for (number, source) in descriptors {
            switch source {
            case .descriptor(let own):
                posix_spawn_file_actions_adddup2(&actions, own, number)
            case .file(let path, let flags):
                posix_spawn_file_actions_addopen(&actions, number, path, flags, 0o600)
            }
        }
        if let directory { posix_spawn_file_actions_addchdir_np(&actions, directory) }
        if closesOthers {
            let first = (descriptors.map(\.number) + [2]).max()! + 1
            posix_spawn_file_actions_addclosefrom_np(&actions, first)
        }
    }

    private func set(_ attributes: inout posix_spawnattr_t) {
        var flags: Int32 = 0
        if !defaultSignals.isEmpty {
            var signals = sigset_t()
            sigemptyset(&signals)
            posix_spawnattr_setsigmask(&attributes, &signals)
            for signal in defaultSignals { sigaddset(&signals, signal) }
            posix_spawnattr_setsigdefault(&attributes, &signals)
            flags |= POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        }
        switch group {
        case .inherited: break
        case .separate: flags |= POSIX_SPAWN_SETPGROUP
        case .session: flags |= Self.setSession
        }
        posix_spawnattr_setflags(&attributes, Int16(flags))
    }

    /// `POSIX_SPAWN_SETSID`, which glibc declares only with a feature macro.
    private static let setSession: Int32 = 0x80
}

/// The end of a child process.
package enum ProgramEnd: Equatable, Sendable {
    case exited(Int32)
    case killed(by: Int32)

    /// Waits for the end of a child process. A process that is no child counts as one that did not start.
    package init(of process: Int32) {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else {
                self = .exited(127)
                return
            }
        }
        self.init(waitStatus: status)
    }

    /// Creates the end from the status of waitpid(2).
    package init(waitStatus status: Int32) {
        let signal = status & 0x7F
        self = signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(by: signal)
    }

    /// The exit status, or 128 and the number of the signal, as in a shell.
    package var status: Int32 {
        switch self {
        case .exited(let status): status
        case .killed(let signal): 128 + signal
        }
    }
}
