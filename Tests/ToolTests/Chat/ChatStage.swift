import Foundation
import Glibc
import Sotto
import TestSupport
import Testing

/// A relay, and terminals with `sotto chat`.
final class ChatStage {
    let scratch = TemporaryDirectory()
    var relay: RelayProcess
    private let home: Home
    private var terminals: [TerminalEmulator] = []

    init(_ home: Home) throws {
        self.home = home
        relay = try #require(RelayProcess(scratch))
    }

    deinit {
        for terminal in terminals { terminal.end() }
        relay.end()
    }

    func environment(_ party: Party) -> [String: String] {
        home.environment.merging(party.environment) { $1 }.merging([
            "PATH": "/usr/bin:/bin", "SOTTO_RELAY": "tcp://\(relay.address)",
            "LC_ALL": "C.UTF-8",
        ]) { $1 }
    }

    /// Starts `sotto chat` in a terminal. `words` are its arguments as a shell reads them; without any, it shows the list.
    func chat(
        _ party: Party, with words: String = "", columns: Int = 60, rows: Int = 24,
        environment more: [String: String] = [:]
    ) throws -> TerminalEmulator {
        try terminal(
            party, "\(Programs.path("sotto")) chat \(words)", columns: columns, rows: rows,
            environment: more)
    }

    /// Starts a shell command in a terminal.
    func terminal(
        _ party: Party, _ line: String, columns: Int = 60, rows: Int = 24,
        environment more: [String: String] = [:]
    ) throws -> TerminalEmulator {
        let terminal = try TerminalEmulator(
            line, columns: columns, rows: rows,
            environment: environment(party).merging(more) { $1 })
        terminals.append(terminal)
        return terminal
    }

    /// Stops the relay while a body runs.
    func withoutRelay(_ body: () throws -> Void) throws {
        let address = relay.address
        relay.end()
        try body()
        relay = try #require(RelayProcess(scratch, listen: address))
    }

    /// The processes of a person: their environment names the identity.
    func processes(of party: Party) throws -> [pid_t] {
        let variable = "SOTTO_IDENTITY=\(party.environment["SOTTO_IDENTITY"]!)"
        return try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap(pid_t.init)
            .filter {
                String(decoding: TemporaryDirectory.contents("/proc/\($0)/environ"), as: UTF8.self)
                    .contains(variable)
            }
    }

    /// The process of `chat` itself.
    func chatProcess(of party: Party) throws -> pid_t { try process("chat", of: party) }

    /// The process of a tool.
    func process(_ tool: String, of party: Party) throws -> pid_t {
        try #require(
            try processes(of: party).first {
                let path = try? FileManager.default.destinationOfSymbolicLink(
                    atPath: "/proc/\($0)/exe")
                return path?.hasSuffix("/\(tool)") == true
            })
    }

    /// Waits until no process of a person is left.
    func areEnded(_ party: Party) throws -> Bool {
        for _ in 0..<3_000 {
            if try processes(of: party).isEmpty { return true }
            usleep(10_000)
        }
        return false
    }

    /// Runs a pipe of the other tools, which must succeed. `$0` is the text.
    @discardableResult
    func must(_ party: Party, _ line: String, _ text: String = "") throws -> Run {
        let path = "\(Programs.directory):\(environment(party)["PATH"]!)"
        let run = try Command(
            path: Peer.bash.path, ["-o", "pipefail", "-c", line, text],
            environment: environment(party).merging(["PATH": path]) { $1 },
            directory: home.files.path
        ).run()
        guard run.status == 0 else { throw Unexpected(run) }
        return run
    }

    /// Runs `sotto` with its input.
    func sotto(
        _ party: Party, _ arguments: [String], _ text: String = ""
    ) throws -> Run {
        try Command(
            path: Programs.path("sotto"), arguments, environment: environment(party),
            directory: home.files.path
        ).run(stdin: .whole(Array(text.utf8)))
    }
}
