package import Glibc

/// A process of a built program or of a system program.
package struct Command {
    /// The process, or `nil` if the program could not be started.
    private let child: pid_t?

    /// The process; for a program that could not be started, a number that no process has.
    package var process: pid_t { child ?? .max }

    /// The directory of the programs: `SOTTO_PROGRAMS`, or the directory of the tests.
    package static let directory: String = {
        if let directory = getenv("SOTTO_PROGRAMS") { return String(cString: directory) }
        var buffer = [CChar](repeating: 0, count: 4096)
        readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let path = buffer.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        return String(path[..<path.lastIndex(of: "/")!])
    }()

    /// Starts a program with files for its standard streams, and optionally a further descriptor as 3. A program that
    /// cannot be started ends with status 127, as in a shell, so that its test fails.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:],
        input: String = "/dev/null", output: String = "/dev/null", errors: String = "/dev/null",
        descriptor: Int32? = nil
    ) {
        let path = program.hasPrefix("/") ? program : Self.directory + "/" + program
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
        let flags = O_WRONLY | O_CREAT | O_APPEND
        posix_spawn_file_actions_addopen(&actions, 1, output, flags, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors, flags, 0o600)
        if let descriptor { posix_spawn_file_actions_adddup2(&actions, descriptor, 3) }
        let argv = ([path] + arguments).map { strdup($0) } + [nil]
        var all = ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no", "HOME": "/nonexistent"]
        all.merge(environment) { $1 }
        let envp = all.map { strdup("\($0)=\($1)") } + [nil]
        // The test runner's threads block signals; the child must not.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        // NIO ignores SIGPIPE in the test runner; the child must not.
        var standard = sigset_t()
        sigemptyset(&standard)
        sigaddset(&standard, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &standard)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var child: pid_t = 0
        let code = posix_spawn(&child, path, &actions, &attributes, argv, envp)
        for word in argv + envp { free(word) }
        self.child = code == 0 ? child : nil
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
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
    }

    /// The same as ``wait()``; returns `nil` if the process does not end within `seconds`.
    package func wait(atMost seconds: Int) -> Int32? {
        guard let child else { return Self.notStarted }
        for _ in 0..<seconds * 100 {
            var information = siginfo_t()
            let options = WEXITED | WNOHANG | WNOWAIT
            guard waitid(P_PID, id_t(child), &information, options) == 0 else { return nil }
            if information.si_signo == SIGCHLD { return wait() }
            usleep(10_000)
        }
        return nil
    }

    /// Runs a program to its end. Returns its exit status.
    package static func run(
        _ program: String, _ arguments: [String], environment: [String: String] = [:],
        input: String = "/dev/null", output: String = "/dev/null", errors: String = "/dev/null"
    ) -> Int32 {
        Command(
            program, arguments, environment: environment, input: input, output: output,
            errors: errors
        ).wait()
    }
}
