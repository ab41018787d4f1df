import Glibc

/// A home of its own for one test: files, state and environment that no other test sees, and the programs
/// run in it.
package final class Home: Sendable {
    package let files: TemporaryDirectory

    package init() throws {
        files = try TemporaryDirectory()
    }

    /// The environment of every program: nothing but what is said here.
    package var environment: [String: String] {
        [
            "HOME": files.path, "SOTTO_HOME": files("state"), "XDG_CONFIG_HOME": files("config"),
            "XDG_STATE_HOME": files("xdg-state"), "TMPDIR": files.path, "PATH": "/usr/bin:/bin",
            "LC_ALL": "C", "SWIFT_BACKTRACE": "enable=no", "TERM": "dumb",
        ]
    }

    /// One of our programs, in this home's directory.
    package func command(
        _ name: String, _ arguments: [String], environment extra: [String: String] = [:]
    ) -> Command {
        Command(
            path: Programs.path(name), arguments,
            environment: environment.merging(extra) { $1 }, directory: files.path)
    }

    /// A program of the system, in this home's directory.
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

    /// As ``run(_:_:stdin:environment:)-feed``, with text on stdin.
    @discardableResult
    package func run(_ name: String, _ arguments: [String], text: String) throws -> Run {
        try run(name, arguments, stdin: .whole(Array(text.utf8)))
    }

    /// Makes `name`.key and `name`.card.
    package func makePerson(_ name: String) throws {
        let made = try run("keygen", ["--name", name, "-o", "\(name).key"])
        let card = try run("keygen", ["public", "\(name).key"])
        guard made.status == 0, card.status == 0 else {
            throw Unexpected(run: made.status != 0 ? made : card)
        }
        try files.write("\(name).card", card.stdout)
    }

    /// Makes several.
    package convenience init(people: String...) throws {
        try self.init()
        for person in people { try makePerson(person) }
    }

    /// The output of a program that must succeed.
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
