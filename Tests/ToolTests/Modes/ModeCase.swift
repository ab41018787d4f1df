import Foundation
import TestSupport
import Testing

/// Arguments that select a mode of a tool, and the options that can be added to them. All other options of the tool must
/// be refused.
struct ModeCase: Sendable, CustomTestStringConvertible {
    /// The tool, and the subcommand if it has one.
    let command: [String]
    /// The arguments that select the mode.
    let selector: [String]
    /// Further arguments before the option under test.
    let more: [String]
    /// The long names of the options that have an effect, or that select another mode together with these arguments.
    let takes: Set<String>

    var testDescription: String { (command + selector).joined(separator: " ") }

    init(_ command: String, _ selector: String, _ more: String = "", takes: String) {
        func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }
        self.command = words(command)
        self.selector = words(selector)
        self.more = words(more)
        self.takes = Set(words(takes))
    }

    /// Values of options that do not take any word.
    private static let values = [
        "--suite": "phrase", "--trust": "any", "--lock-timeout": "1", "--passphrase": "@FILE:none",
        "--identity-passphrase": "@FILE:none", "--since": "1", "--max-skew": "1",
        "--whisper-id": "WSP-ABCD-EFGH-IJKL", "--password": "@FILE:none", "--phrase": "@FILE:none",
        "--form": "web", "--bits": "3072", "--rsa": "3072", "--relay": "tcp://localhost:1",
        "--timeout": "1", "--wait": "1", "--poll-every": "5", "--kind": "message", "--max": "1",
        "--words": "24", "--protocol": "message-flow",
        "--language": "english",
        "--ttl": "60",
    ]

    /// Options that no mode has: the common ones.
    private static let common: Set<String> = ["--help", "--version"]

    /// Runs the command once for each of its options. Expects that it refuses every option without an effect by its
    /// name, with status 64, and no other.
    func expectRefusals(in home: Home) throws {
        let options = try options(home)
        let unknown = takes.subtracting(options.map(\.name))
        #expect(unknown.isEmpty, "the command does not have these options")
        for option in options where !Self.common.contains(option.name) {
            var words = selector
            if !selector.contains(where: option.names.contains) {
                words += [option.name] + (option.hasValue ? [Self.values[option.name] ?? "x"] : [])
            }
            let run = try home.run(command[0], command.dropFirst() + words + more)
            let isRefused = run.stderr.split(separator: "\n").contains { line in
                option.names.contains { line.contains($0) }
                    && (line.contains(" cannot be combined") || line.contains(" only for "))
            }
            if takes.contains(option.name) {
                #expect(!isRefused, "\(words) \(run.stderr)")
            } else {
                #expect(isRefused && run.status == 64, "\(words): \(run.status) \(run.stderr)")
                #expect(run.stdout.isEmpty)
            }
        }
    }

    private struct Dump: Decodable {
        struct Argument: Decodable {
            let names: [String]
            let value: String?
        }
        let name: String
        let arguments: [Argument]
        let commands: [Dump]
    }

    private func options(_ home: Home) throws -> [(name: String, names: [String], hasValue: Bool)] {
        let run = try home.run(command[0], ["--dump-help"])
        var dump = try JSONDecoder().decode(Dump.self, from: Data(run.stdout))
        for name in command.dropFirst() {
            dump = try #require(dump.commands.first { $0.name == name })
        }
        return dump.arguments.filter { !$0.names.isEmpty }.map { argument in
            let name = argument.names.first { $0.hasPrefix("--") } ?? argument.names[0]
            return (name, argument.names, argument.value != nil)
        }
    }
}
