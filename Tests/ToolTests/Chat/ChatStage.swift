import Foundation
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
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        try FileManager.default.createSymbolicLink(
            atPath: scratch("sotto-chat"),
            withDestinationPath: root.appendingPathComponent("share/chat/sotto-chat").path)
    }

    deinit {
        for terminal in terminals { terminal.end() }
        relay.end()
    }

    func environment(_ party: Party) -> [String: String] {
        home.environment.merging(party.environment) { $1 }.merging([
            "PATH": "\(scratch.path):/usr/bin:/bin", "SOTTO_RELAY": "tcp://\(relay.address)",
            "LC_ALL": "C.UTF-8",
        ]) { $1 }
    }

    /// Starts `sotto chat` in a terminal.
    func chat(_ party: Party, with who: String, columns: Int = 60) throws -> TerminalEmulator {
        let terminal = try TerminalEmulator(
            "\(Programs.path("sotto")) chat \(who)", columns: columns,
            environment: environment(party))
        terminals.append(terminal)
        return terminal
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
        _ party: Party, _ arguments: [String], _ text: String = "", path: String? = nil
    ) throws -> Run {
        try Command(
            path: Programs.path("sotto"), arguments,
            environment: environment(party).merging(
                ["PATH": path ?? "\(scratch.path):/usr/bin:/bin"]) { $1 },
            directory: home.files.path
        ).run(stdin: .whole(Array(text.utf8)))
    }
}
