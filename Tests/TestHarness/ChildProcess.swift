package import Glibc
import SottoProgram

/// A process of a built program or of a system program.
package struct ChildProcess {
    /// The process, or `nil` if the program could not be started.
    private let child: pid_t?

    /// The process; for a program that could not be started, a number that no process has.
    package var process: pid_t { child ?? .max }

    /// Starts a program with files for its standard streams, and optionally a further descriptor as 3. A program that
    /// cannot be started ends with status 127, as in a shell, so that its test fails.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:],
        input: String = "/dev/null", output: String = "/dev/null", errors: String = "/dev/null",
        descriptor: Int32? = nil
    ) {
        let path = program.hasPrefix("/") ? program : Programs.path(program)
        var all = ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no", "HOME": "/nonexistent"]
        all.merge(environment) { $1 }
        let append = O_WRONLY | O_CREAT | O_APPEND
        var streams: [(Int32, Command.Stream)] = [
            (0, .file(input, O_RDONLY)), (1, .file(output, append)), (2, .file(errors, append)),
        ]
        if let descriptor { streams.append((3, .descriptor(descriptor))) }
        let command = Command(path: path, arguments, environment: all, directory: ".")
        child = try? command.spawn(streams)
    }

    package func kill(_ signal: Int32) {
        if let child { Glibc.kill(child, signal) }
    }

    /// The status of a program that could not be started, as in a shell.
    private static let notStarted: Int32 = 127

    /// Waits for the end of the process. Returns its exit status, or minus the signal that ended it.
    @discardableResult
    package func wait() -> Int32 {
        guard let child else { return Self.notStarted }
        return switch ProgramEnd(of: child) {
        case .exited(let status): status
        case .killed(let signal): -signal
        }
    }

    /// The same as ``wait()``; returns `nil` if the process does not end within `seconds`.
    package func wait(atMost seconds: Int) -> Int32? {
        for _ in 0..<seconds * 100 {
            if hasEnded { return wait() }
            usleep(10_000)
        }
        return nil
    }

    /// Whether the process has ended, before ``wait()``.
    package var hasEnded: Bool {
        guard let child else { return true }
        var information = siginfo_t()
        let options = WEXITED | WNOHANG | WNOWAIT
        return waitid(P_PID, id_t(child), &information, options) == 0
            && information.si_signo == SIGCHLD
    }

    /// Runs a program to its end. Returns its exit status.
    package static func run(
        _ program: String, _ arguments: [String], environment: [String: String] = [:],
        input: String = "/dev/null", output: String = "/dev/null", errors: String = "/dev/null"
    ) -> Int32 {
        ChildProcess(
            program, arguments, environment: environment, input: input, output: output,
            errors: errors
        ).wait()
    }
}
