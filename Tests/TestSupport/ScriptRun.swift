import Foundation

/// Plays a ``TestScript`` with the built programs.
package final class ScriptRun {
    /// A step that went otherwise than the script says, with the output of the last command.
    package struct Failure: Error, CustomStringConvertible {
        package let line: Int
        package let description: String
    }

    private let script: TestScript
    private let work = TemporaryDirectory()
    private let relayFiles = TemporaryDirectory()
    private var relay: RelayProcess?
    private var address = "127.0.0.1:0"
    private var shells: [String: ScriptShell] = [:]
    private var last = Run(status: 0, stdout: [], stderr: "")

    package init(_ script: TestScript) { self.script = script }

    deinit { relay?.end() }

    /// Plays all steps, until one fails.
    package func play() throws(Failure) {
        for step in script.steps {
            let reason: String?
            do {
                if step.line == script.steps[0].line { try writeFiles() }
                reason = try play(step.action)
            } catch {
                reason = "\(error)"
            }
            guard let reason else { continue }
            throw Failure(
                line: step.line,
                description: """
                    \(step.text): \(reason)
                    status \(last.status)
                    \(last.text)\(last.stderr)
                    """)
        }
    }

    private func writeFiles() throws {
        for (name, content) in script.files {
            try FileManager.default.createDirectory(
                atPath: (work(name) as NSString).deletingLastPathComponent,
                withIntermediateDirectories: true)
            work.write(name, Array(content.utf8))
        }
    }

    /// Returns the reason why a step failed, or `nil`.
    private func play(_ action: TestScript.Action) throws -> String? {
        switch action {
        case .startRelay: return try startRelay()
        case .stopRelay:
            defer { relay = nil }
            return relay?.end() == 0 ? nil : "the relay did not end cleanly"
        case .command(let person, let line, let ending):
            last = try shell(of: person).run(line)
            switch ending {
            case .failure: return last.status == 0 ? "it did not fail" : nil
            case .status(let status): return last.status == status ? nil : "not status \(status)"
            }
        case .matches(let stream, let pattern, let isExpected):
            let text = stream == .stdout ? last.text : last.stderr
            let expression = try Regex(pattern).anchorsMatchLineEndings()
            guard (text.firstMatch(of: expression) != nil) != isExpected else { return nil }
            return isExpected ? "not found" : "found"
        case .printed(let line):
            let lines = (last.text + "\n" + last.stderr).split(separator: "\n")
            return lines.contains(line[...]) ? nil : "not printed"
        case .equal(let one, let other):
            return try content(one) == content(other) ? nil : "they differ"
        }
    }

    private func startRelay() throws -> String? {
        guard relay == nil else { return "the relay is running" }
        relay = RelayProcess(relayFiles, listen: address)
        guard let relay else { return "the relay does not start" }
        address = relay.address
        for shell in shells.values { _ = try shell.run("export SOTTO_RELAY=tcp://\(address)") }
        return nil
    }

    /// The content of a file, or an output of the last command.
    private func content(_ name: String) throws -> [UInt8] {
        switch TestScript.Stream(rawValue: name) {
        case .stdout: last.stdout
        case .stderr: Array(last.stderr.utf8)
        case nil: try work.read(name)
        }
    }

    /// The shell of a person, in a directory with this name.
    private func shell(of person: String) throws -> ScriptShell {
        if let shell = shells[person] { return shell }
        let home = person.isEmpty ? work.path : work(person)
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
        var environment = Home.environment(of: home)
        environment["PATH"] = "\(Programs.directory):\(Examples.directory):/usr/bin:/bin"
        if relay != nil { environment["SOTTO_RELAY"] = "tcp://\(address)" }
        let shell = try ScriptShell(in: home, environment: environment)
        shells[person] = shell
        return shell
    }
}
