import Glibc
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// Alice and Bob, each with their own installation, and a relay, all as built programs.
final class Correspondence: Sendable {
    let scratch = TemporaryDirectory()
    let alice = Sample.identity()
    let bob = Sample.identity()
    let relay: RelayProcess
    private let store = TemporaryDirectory()

    /// The path of the relay's store.
    var storePath: String { store("relay.db") }

    init(_ options: [String] = []) throws {
        relay = try #require(RelayProcess(store, options))
        for (name, identity) in [("alice", alice), ("bob", bob), ("carol", Sample.identity())] {
            scratch.write("\(name).key", identity.record.serialized())
            scratch.write("\(name).card", identity.card().record?.serialized() ?? [])
        }
    }

    /// Stops the relay, and expects success.
    func stop() {
        relay.command.kill(SIGTERM)
        #expect(relay.command.wait() == 0)
    }

    /// Stops the relay, and starts it at the same address and with the same store, with other options.
    func restarted(_ options: [String]) throws -> RelayProcess {
        stop()
        return try #require(RelayProcess(store, listen: relay.address, options))
    }

    func environment(_ who: String) -> [String: String] {
        [
            "SOTTO_HOME": scratch("state-\(who)"),
            "SOTTO_IDENTITY": scratch("\(who).key"),
            "SOTTO_RELAY": "tcp://\(relay.address)",
            "PATH": "\(Programs.directory):/usr/bin:/bin", "HOME": scratch.path,
            "CARDS": scratch.path, "TMPDIR": scratch.path, "GOOD": "right", "WRONG": "wrong",
        ]
    }

    func command(_ who: String, _ program: String, _ arguments: [String], output: String)
        -> ChildProcess
    {
        ChildProcess(
            program, arguments, environment: environment(who), output: scratch(output),
            errors: scratch("errors"))
    }

    /// Runs a shell command in the directory of all files. Returns its status and output.
    @discardableResult
    func shell(_ who: String, _ line: String) -> (status: Int32, lines: [String]) {
        unlink(scratch("printed"))
        let status = command(
            who, "/bin/sh", ["-c", "cd \"$CARDS\" && \(line)"], output: "printed"
        ).wait()
        return (status, scratch.lines("printed"))
    }

    /// The same as ``shell(_:_:)``, for a command that must succeed.
    @discardableResult
    func expect(_ who: String, _ line: String) throws -> [String] {
        let (status, lines) = shell(who, line)
        try #require(status == 0, "\(line): \(status) \(errors)")
        return lines
    }

    var errors: String {
        String(decoding: TemporaryDirectory.contents(scratch("errors")), as: UTF8.self)
    }

    /// Changes a user's state directly, which only tests do.
    func state<T>(
        _ who: String, _ body: (StateConnection) throws(StateError) -> T
    ) throws -> T {
        let id = who == "alice" ? alice.id : bob.id
        let database = try DurableDatabase(
            path: scratch("state-\(who)/\(id).db"),
            migrations: [], lockTimeout: 20)
        let value = try database.use(body)
        try database.close()
        return value
    }

    /// Returns the state of Bob's prekeys at the relay.
    func published() throws -> PreKeyStatus {
        guard case .session(let status, _, _) = RawClient(relay.address).login(bob) else {
            throw StateError.noHome
        }
        return try #require(status)
    }

    /// Returns the texts of printed messages.
    static func texts(_ lines: [String]) -> [String] {
        lines.compactMap { line in
            (try? JSON.object(parsing: Array(line.utf8)))?["body"]?.object?["text"]?.string
        }
    }
}
