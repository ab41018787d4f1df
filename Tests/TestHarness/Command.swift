import CTestSupport
import Foundation
package import Glibc

/// A program to run, with the arguments of exec(3).
package struct Command: Sendable {
    package var path: String
    package var arguments: [String]
    package var environment: [String: String]
    package var directory: String

    package init(
        path: String, _ arguments: [String], environment: [String: String] = [:],
        directory: String = "/"
    ) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
        self.directory = directory
    }

    /// The source of a child's descriptor.
    package enum Stream {
        case descriptor(Int32)
        case file(String, Int32)
    }

    /// Starts the program with these descriptors. With `newSession`, it runs in a new session whose controlling
    /// terminal is the first `.file` that is a terminal.
    package func spawn(_ streams: [(Int32, Stream)], newSession: Bool = false) throws -> pid_t {
        ignoreBrokenPipes()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, stream) in streams {
            switch stream {
            case .descriptor(let source):
                posix_spawn_file_actions_adddup2(&actions, source, number)
            case .file(let path, let flags):
                posix_spawn_file_actions_addopen(&actions, number, path, flags, 0o600)
            }
        }
        posix_spawn_file_actions_addchdir_np(&actions, directory)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        // A test run in the background ignores SIGINT; its children must not.
        var standard = sigset_t()
        sigemptyset(&standard)
        for signal in [SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT] { sigaddset(&standard, signal) }
        posix_spawnattr_setsigdefault(&attributes, &standard)
        // Glibc defines POSIX_SPAWN_SETSID only with a feature macro.
        let setSession: Int32 = 0x80
        let flags =
            POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (newSession ? setSession : 0)
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var argv = ([path] + arguments).map { strdup($0) } + [nil]
        var envp = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, path, &actions, &attributes, &argv, &envp)
        guard code == 0 else { throw SystemError("start \(path)", code: code) }
        return pid
    }
}

/// A pipe that no other child inherits.
package func makePipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    guard pipe2(&ends, O_CLOEXEC) == 0 else { throw SystemError("pipe2") }
    return (ends[0], ends[1])
}

private let brokenPipesIgnored: Void = { signal(SIGPIPE, SIG_IGN) }()

/// Makes this process ignore SIGPIPE.
package func ignoreBrokenPipes() { _ = brokenPipesIgnored }

/// The directory of the built programs: SOTTO_BIN, else the directory of the test runner.
package enum Programs {
    package static let directory: String = {
        if let directory = environment("SOTTO_BIN") { return directory }
        // On Linux the runner is the bundle itself; a helper gets the bundle's path.
        var candidates = CommandLine.arguments
        if let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
            candidates.insert(own, at: 0)
        }
        let directories = candidates.map { ($0 as NSString).deletingLastPathComponent }
        return directories.first { access($0 + "/decrypt", X_OK) == 0 } ?? "."
    }()

    /// Returns the path of a built program.
    package static func path(_ name: String) -> String { directory + "/" + name }

    /// Returns the path of a system program, or `nil`.
    package static func find(_ name: String) -> String? {
        (environment("PATH") ?? "/usr/bin:/bin").split(separator: ":")
            .map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }
}
