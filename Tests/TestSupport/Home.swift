import Glibc

/// A home directory for one test: files, state and environment that no other test uses, and the programs that run in
/// it.
package final class Home: Sendable {
    package let files = TemporaryDirectory()

    package init() {}

    /// The complete environment of every program.
    package var environment: [String: String] { Self.environment(of: files.path) }

    /// Returns the environment of a program whose home is `path`.
    static func environment(of path: String) -> [String: String] {
        [
            "HOME": path, "SOTTO_HOME": path + "/state", "XDG_CONFIG_HOME": path + "/config",
            "XDG_STATE_HOME": path + "/xdg-state", "TMPDIR": path, "PATH": "/usr/bin:/bin",
            "LC_ALL": "C", "SWIFT_BACKTRACE": "enable=no", "TERM": "dumb",
        ]
    }

    /// Returns one of our programs, in this home's directory.
    package func command(
        _ name: String, _ arguments: [String], environment extra: [String: String] = [:]
    ) -> Command {
        Command(
            path: Programs.path(name), arguments,
            environment: environment.merging(extra) { $1 }, directory: files.path)
    }

    /// Returns a system program, in this home's directory.
    package func other(_ path: String, _ arguments: [String]) -> Command {
        Command(path: path, arguments, environment: environment, directory: files.path)
    }

    /// Runs one of our programs to its end.
    @discardableResult
    package func run(
        _ name: String, _ arguments: [String], stdin: Feed = .whole([]),
        environment extra: [String: String] = [:]
    ) throws -> Run {
        try command(name, arguments, environment: extra).run(stdin: stdin)
    }

    /// Runs a program like ``run(_:_:stdin:environment:)-feed``, with text on stdin.
    @discardableResult
    package func run(_ name: String, _ arguments: [String], text: String) throws -> Run {
        try run(name, arguments, stdin: .whole(Array(text.utf8)))
    }

    /// Creates `name`.key and `name`.card.
    package func makePerson(_ name: String) throws {
        let made = try run("keygen", ["--name", name, "-o", "\(name).key"])
        let card = try run("keygen", ["public", "\(name).key"])
        guard made.status == 0, card.status == 0 else {
            throw Unexpected(run: made.status != 0 ? made : card)
        }
        files.write("\(name).card", card.stdout)
    }

    /// Creates several people.
    package convenience init(people: String...) throws {
        self.init()
        for person in people { try makePerson(person) }
    }

    /// Returns the output of a program that must succeed.
    package func output(_ name: String, _ arguments: [String], stdin: [UInt8] = []) throws
        -> [UInt8]
    {
        let run = try run(name, arguments, stdin: .whole(stdin))
        guard run.status == 0 else { throw Unexpected(run: run) }
        return run.stdout
    }

    package struct Unexpected: Error, CustomStringConvertible {
        let run: Run
        package var description: String { "exit \(run.status): \(run.stderr)" }
    }
}
