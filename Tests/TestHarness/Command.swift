import CTestSupport
import Foundation
import Glibc
package import SottoProgram

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

    package typealias Stream = ProgramStart.Source

    /// Starts the program with these descriptors. With `newSession`, it runs in a new session whose controlling
    /// terminal is the first `.file` that is a terminal. Returns the number of the process: `pid_t` belongs to the module that the
    /// compiler reads first.
    package func spawn(_ streams: [(Int32, Stream)], newSession: Bool = false) throws -> Int32 {
        ignoreBrokenPipes()
        var start = ProgramStart(.path(path), [path] + arguments)
        start.environment = environment.map { "\($0)=\($1)" }
        start.directory = directory
        start.descriptors = streams.map { (number: $0.0, source: $0.1) }
        // A test run in the background ignores SIGINT; its children must not.
        start.defaultSignals = [SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT]
        if newSession { start.group = .session }
        do throws(ProgramStart.NotStarted) {
            return try start.start()
        } catch {
            throw SystemError("start \(path)", code: error.code)
        }
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
