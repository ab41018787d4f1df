import Foundation
import Glibc
import TestSupport
import Testing

struct NotOnTheScreen: Error {}

/// Programs in a terminal emulator, which shows what a user sees: `tmux`, with a server of its own.
struct TerminalEmulator {
    /// The working directory of the programs.
    let scratch = TemporaryDirectory()
    private let environment: [String: String]

    /// Starts a shell command in a terminal. `environment` is complete but for tmux's own variables.
    init(_ line: String, columns: Int, rows: Int = 24, environment: [String: String]) throws {
        self.environment = ["NO_COLOR": "1"].merging(environment) { $1 }.merging([
            "TMUX_TMPDIR": scratch.path, "TERM": "xterm", "LC_ALL": "C.UTF-8",
        ]) { $1 }
        // The line of the end stays on the screen until the server is ended.
        try run([
            "-f", "/dev/null", "new-session", "-d", "-s", "test", "-x", "\(columns)", "-y",
            "\(rows)", "\(line); echo \"ended $?\"; exec sleep 3600",
        ])
    }

    func end() { _ = try? run(["kill-server"]) }

    @discardableResult
    private func run(_ arguments: [String]) throws -> [UInt8] {
        let run = try Command(
            path: Peer.tmux.path, ["-L", "test"] + arguments, environment: environment,
            directory: scratch.path
        ).run()
        guard run.status == 0 else { throw Unexpected(run) }
        return run.stdout
    }

    /// Types keys by their names in tmux, such as `Enter` and `C-c`.
    func press(_ keys: String...) throws { try run(["send-keys", "-t", "test"] + keys) }

    /// Types a text without Enter.
    func type(_ text: String) throws { try run(["send-keys", "-t", "test", "-l", text]) }

    /// Types a text and Enter.
    func enter(_ text: String) throws {
        try type(text)
        try press("Enter")
    }

    /// Pastes a text, as a terminal does with bracketed paste.
    func paste(_ text: String) throws {
        try run(["set-buffer", "-b", "test", "--", text])
        try run(["paste-buffer", "-p", "-r", "-b", "test", "-t", "test"])
    }

    /// Answers the question that is shown, with Ctrl-Y or Ctrl-N. A question that has just appeared takes no answer, so the key is
    /// pressed until the screen has `text`.
    func answer(_ key: String, until text: String) throws {
        for _ in 0..<200 {
            try press(key)
            for _ in 0..<10 {
                if try lines().contains(where: { $0.contains(text) }) { return }
                usleep(50_000)
            }
        }
        try waitFor(text)
    }

    func resize(columns: Int) throws {
        try run(["resize-window", "-t", "test", "-x", "\(columns)"])
    }

    /// The lines on the screen, without spaces at their ends.
    func lines() throws -> [String] {
        let text = String(decoding: try run(["capture-pane", "-p", "-t", "test"]), as: UTF8.self)
        return text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in
                String(line.reversed().drop { $0 == " " }.reversed())
            }
    }

    /// Waits until the screen has a line with `text`, and returns the last such line.
    @discardableResult
    func waitFor(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> String
    {
        let shown = try wait("no \"\(text)\"", sourceLocation) { lines in
            lines.contains { $0.contains(text) }
        }
        return shown.last { $0.contains(text) }!
    }

    /// Waits until no line of the screen has `text`.
    func waitForEnd(of text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try wait("\"\(text)\" stays", sourceLocation) { lines in
            !lines.contains { $0.contains(text) }
        }
    }

    /// Waits until the screen meets a condition, and returns its lines. Otherwise it fails with `problem`.
    @discardableResult
    func wait(
        _ problem: String, _ sourceLocation: SourceLocation = #_sourceLocation,
        until isMet: ([String]) -> Bool
    ) throws -> [String] {
        var shown: [String] = []
        for _ in 0..<2_000 {
            shown = try lines()
            if isMet(shown) { return shown }
            usleep(50_000)
        }
        Issue.record(
            "\(problem) in:\n\(shown.joined(separator: "\n"))", sourceLocation: sourceLocation)
        throw NotOnTheScreen()
    }
}
