import Glibc
import Sotto
import SottoDatabase
import TestHarness

/// A sender and a recipient. The recipient's handler makes a directory for each message id, its only effect.
private final class Mail {
    let scratch = TemporaryDirectory()
    private let relay: RelayProcess
    private let store = TemporaryDirectory()
    private var sent: [String] = []
    private var chunks = 0
    private var generator = SystemRandomNumberGenerator()
    /// The estimated lifetime of each program, in milliseconds, so that kills hit it while it works.
    private var lifetimes: [String: Double] = [:]

    /// The handler of `recv --exec`. It and its children may be killed at any point; `mkdir` is atomic.
    private static let handler = """
        #!/bin/sh
        decrypt -q > said.$$ || exit 1
        id=$(sed 's/.*"type":"message","id":"\\([^"]*\\)".*/\\1/' said.$$) || exit 1
        [ -n "$id" ] || exit 1
        rm -f said.$$
        mkdir "effects/$id" 2>/dev/null || [ -d "effects/$id" ]
        """

    init?() {
        guard let relay = RelayProcess(store) else { return nil }
        self.relay = relay
        for name in ["alice", "bob"] {
            let identity = Sample.identity()
            scratch.write("\(name).key", identity.record.serialized())
            scratch.write("\(name).card", identity.card().record?.serialized() ?? [])
        }
        chmod(scratch.write("handler", Array(Self.handler.utf8)), 0o700)
        mkdir(scratch("effects"), 0o700)
    }

    deinit { relay.end() }

    private func command(_ who: String, _ line: String) -> ChildProcess {
        ChildProcess(
            "/bin/sh", ["-c", "cd \"$HOME\" && exec \(line)"],
            environment: [
                "SOTTO_HOME": scratch("state-\(who)"), "HOME": scratch.path,
                "SOTTO_IDENTITY": scratch("\(who).key"),
                "SOTTO_RELAY": "tcp://\(relay.address)",
                "PATH": "\(Programs.directory):/usr/bin:/bin",
            ], output: scratch("output"), errors: scratch("errors"))
    }

    private func run(_ who: String, _ line: String) -> Int32 { command(who, line).wait() }

    /// Encrypts messages into a file. Returns the file's name, or `nil`.
    func write(_ count: Int) -> String? {
        chunks += 1
        let name = "envelopes\(chunks)"
        scratch.write(
            "texts", Array(String(repeating: "{\"text\":\"x\"}\n", count: count).utf8))
        guard run("alice", "encrypt -q --to bob.card --jsonl --suite sealed texts -o \(name)") == 0
        else { return nil }
        sent += scratch.lines(name).map(Sample.id)
        return name
    }

    func send(_ name: String) -> Bool { run("alice", "send -q < \(name)") == 0 }

    /// Starts `recv` or `send`, and kills a process with this name after a random time: itself, or the first, second
    /// or third that it starts. Returns whether a process was killed.
    func kill(_ name: String, of line: String, _ who: String) -> Bool {
        let command = command(who, line)
        defer { command.wait() }
        let turn = line.hasPrefix(name) ? 1 : Int.random(in: 1...3, using: &generator)
        var seen: [pid_t] = []
        while seen.count < turn {
            guard Self.isAlive(command.process) else { return false }
            seen += Self.family(of: command.process).filter {
                !seen.contains($0) && Self.name(of: $0).hasPrefix(name)
            }.prefix(1)
            usleep(200)
        }
        let lifetime = lifetimes[name, default: 10]
        anyMoment(upTo: lifetime, &generator)
        let isThere = Self.isAlive(seen[turn - 1]) && Self.name(of: seen[turn - 1]).hasPrefix(name)
        if isThere { Glibc.kill(seen[turn - 1], SIGKILL) }
        lifetimes[name] = min(2_000, max(1, lifetime * (isThere ? 1.05 : 0.93)))
        return isThere
    }

    /// Whether a process is running.
    private static func isAlive(_ process: pid_t) -> Bool {
        let stat = String(
            decoding: TemporaryDirectory.contents("/proc/\(process)/stat"), as: UTF8.self)
        let state = stat.split(separator: ")").last?.first { $0 != " " }
        return state != nil && state != "Z"
    }

    /// Returns a process and its descendants.
    private static func family(of process: pid_t) -> [pid_t] {
        let path = "/proc/\(process)/task/\(process)/children"
        var children = String(decoding: TemporaryDirectory.contents(path), as: UTF8.self)
            .split(separator: " ").compactMap { pid_t($0) }
        // Any thread of recv may start its handler.
        if let tasks = opendir("/proc/\(process)/task") {
            defer { closedir(tasks) }
            while let entry = readdir(tasks) {
                let task = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                let more = TemporaryDirectory.contents("/proc/\(process)/task/\(task)/children")
                children += String(decoding: more, as: UTF8.self).split(separator: " ")
                    .compactMap { pid_t($0) }.filter { !children.contains($0) }
            }
        }
        return [process] + children.flatMap(family)
    }

    private static func name(of process: pid_t) -> String {
        String(decoding: TemporaryDirectory.contents("/proc/\(process)/comm"), as: UTF8.self)
    }

    /// Sends and receives everything that is left. Returns the numbers of sent messages, of lost ones, and of effects
    /// without a message.
    func settle() -> (sent: Int, lost: Int, extra: Int) {
        for chunk in 1...max(1, chunks) { _ = send("envelopes\(chunk)") }
        for line in ["recv -q --exec ./handler", "recv -q --dead --exec ./handler"] {
            // Failed messages are tried again until none is left.
            for _ in 0..<10 where run("bob", line) != 1 {}
        }
        _ = run("bob", "recv --again > again")
        for line in scratch.lines("again") {
            scratch.write("line", Array((line + "\n").utf8))
            _ = run("bob", "sh ./handler < line")
        }
        var effects: Set<String> = []
        if let directory = opendir(scratch("effects")) {
            defer { closedir(directory) }
            while let entry = readdir(directory) {
                effects.insert(
                    withUnsafePointer(to: &entry.pointee.d_name) {
                        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                    })
            }
        }
        effects.subtract([".", ".."])
        let all = Set(sent)
        return (sent.count, all.subtracting(effects).count, effects.subtracting(all).count)
    }
}

extension Row {
    /// `kill -9` of every program between a sender and a recipient, at random moments.
    static let clientsKilled = Row(
        name: "kill-clients",
        fault: "kill -9 of recv, decrypt, the handler and send, each",
        goal: "nothing lost end to end, one effect per id"
    ) { scale in
        let kills = scale.pick(small: 5, full: 200)
        guard let mail = Mail() else { return .broken("no relay") }
        var killed: [String: Int] = [:]
        for name in ["send", "recv", "decrypt", "handler"] {
            // A process that ended before its kill is not counted.
            for _ in 0..<kills * 20 where killed[name, default: 0] < kills {
                guard let envelopes = mail.write(3) else { return .broken("encrypt failed") }
                if name == "send" {
                    if mail.kill(name, of: "send -q < \(envelopes)", "alice") {
                        killed[name, default: 0] += 1
                    }
                    continue
                }
                guard mail.send(envelopes) else { return .broken("send failed") }
                if mail.kill(name, of: "recv -q --exec ./handler", "bob") {
                    killed[name, default: 0] += 1
                }
            }
        }
        let counts = mail.settle()
        let fewest = ["send", "recv", "decrypt", "handler"].map { killed[$0] ?? 0 }.min() ?? 0
        return Outcome(
            fewest, "\(counts.lost) of \(counts.sent) lost, \(counts.extra) extra effects",
            isGood: counts.lost == 0 && counts.extra == 0 && fewest == kills)
    }
}
