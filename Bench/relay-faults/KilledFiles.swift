import Glibc
import Sotto
import TestHarness

/// One file from a sender to a recipient, through a proxy that counts.
private struct FileTransfer {
    let scratch = TemporaryDirectory()
    let proxy: CountingProxy
    private(set) var subject: RelayUnderTest
    private let size: Int
    private var generator = SystemRandomNumberGenerator()

    /// The most bytes that one kill repeated.
    private(set) var mostRepeated = 0
    /// The peak memory of each program, in bytes.
    private(set) var peaks: [String: Int] = [:]
    /// What failed.
    private(set) var failure = ""

    init?(size: Int) {
        // The recipient logs in by the address of the proxy, which needs that of the relay.
        guard let first = RelayUnderTest(), let proxy = CountingProxy(before: first.address) else {
            return nil
        }
        first.relay.end()
        let options = ["--name", proxy.address, "--blob-network-bytes", "10000000000"]
        guard let subject = RelayUnderTest(listen: first.address, options: options) else {
            return nil
        }
        (self.subject, self.proxy, self.size) = (subject, proxy, size)
        for name in ["alice", "bob"] {
            let identity = Sample.identity()
            scratch.write("\(name).key", identity.record.serialized())
            scratch.write("\(name).card", identity.card().record?.serialized() ?? [])
        }
        scratch.write("file", randomBytes(size))
    }

    func start(_ who: String, _ line: String) -> ChildProcess {
        ChildProcess(
            "/bin/sh", ["-c", "cd \"$HOME\" && \(line)"],
            environment: [
                "SOTTO_HOME": scratch("state-\(who)"), "HOME": scratch.path,
                "SOTTO_IDENTITY": scratch("\(who).key"), "SOTTO_RELAY": "tcp://\(proxy.address)",
                "PATH": "\(Programs.directory):/usr/bin:/bin",
            ], output: scratch("output"), errors: scratch("errors"))
    }

    /// Runs a line and returns whether it ended with one of the statuses.
    mutating func run(_ who: String, _ line: String, _ statuses: Set<Int32> = [0]) -> Bool {
        isGood(start(who, line).wait(), statuses, line)
    }

    private mutating func isGood(_ status: Int32, _ statuses: Set<Int32>, _ line: String) -> Bool {
        guard !statuses.contains(status) else { return true }
        let errors = String(decoding: TemporaryDirectory.contents(scratch("errors")), as: UTF8.self)
        failure = "\(line): \(status): \(errors.split(separator: "\n").last ?? "no error")"
        return false
    }

    /// The bytes of the blob in a folder.
    private func have(_ folder: String) -> Int {
        guard let directory = opendir(folder) else { return 0 }
        defer { closedir(directory) }
        var most = 0
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            var status = stat()
            if !name.hasPrefix("."), stat(folder + "/" + name, &status) == 0 {
                most = max(most, Int(status.st_size))
            }
        }
        return most
    }

    private mutating func note(_ name: String, _ process: pid_t) {
        let status = TemporaryDirectory.contents("/proc/\(process)/status")
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix("VmHWM:") }
        let words = line?.split(whereSeparator: \.isWhitespace) ?? []
        guard words.count > 1, let size = Int(words[1]) else { return }
        peaks[name] = max(peaks[name] ?? 0, size << 10)
    }

    /// The statuses of a client: the file has arrived, the relay cannot be reached, or the file waits in the outbox.
    private static let ends: Set<Int32> = [0, 69, 75]

    /// Kills the client `kills` times and the relay half as often, each after a random share of the rest of the file.
    /// `passed` returns the bytes that the proxy passed on in the direction of the file, and `folder` has the file.
    /// Returns the number of kills. A file that arrives before half of them is a failure.
    mutating func kill(
        _ name: String, _ kills: Int, folder: String,
        of start: (FileTransfer, Bool) -> ChildProcess,
        passed: (CountingProxy) -> Int
    ) -> Int? {
        var turns = [Bool](repeating: true, count: kills)
        turns += [Bool](repeating: false, count: kills / 2)
        turns.shuffle(using: &generator)
        var client: ChildProcess?
        var done = 0
        for (index, isClient) in turns.enumerated() {
            var running = client ?? start(self, index == 0)
            client = running
            let (before, had) = (passed(proxy), have(folder))
            let share = (size - had) * 2 / (turns.count - index + 1)
            let goal = before + Int.random(in: 0...max(share, 1), using: &generator)
            for _ in 0..<100_000 where passed(proxy) < goal {
                if running.hasEnded {
                    let status = running.wait()
                    guard isGood(status, Self.ends, name) else { return nil }
                    let isDone = status == 0
                    // Bytes that were on the way at the last kill can complete the file below the goal.
                    if isDone, have(folder) >= size {
                        if 2 * done >= turns.count { return done }
                        failure = "\(name): only \(done) kills"
                        return nil
                    }
                    // If the relay was killed, the client ends and its queue stays. A client that was killed before it
                    // had a queue begins again.
                    running = start(self, isDone)
                    client = running
                }
                usleep(100)
            }
            guard passed(proxy) >= goal else {
                failure = "\(name): \(passed(proxy) - before) of \(goal - before) bytes"
                return nil
            }
            note(name, running.process)
            note("relay", subject.relay.command.process)
            if isClient {
                running.kill(SIGKILL)
                running.wait()
                client = nil
            } else {
                subject.kill()
                guard subject.restart() else {
                    failure = "the relay did not start"
                    return nil
                }
            }
            // The bytes that were on the way arrive or are lost.
            usleep(5_000)
            let bytes = passed(proxy) - before
            // Without the heads of requests and replies.
            let heads = 512 * (bytes >> 16 + 4)
            mostRepeated = max(mostRepeated, bytes - heads - (have(folder) - had))
            done += 1
        }
        guard let client else { return done }
        return isGood(client.wait(), Self.ends, name) ? done : nil
    }
}

extension Row {
    /// `kill -9` of `send`, `recv` and the relay while one file travels.
    static let filesKilled = Row(
        name: "kill-files",
        fault: "kill -9 of send, recv and the relay during one file of 100 MiB, each",
        goal: "the file arrives, 64 KiB repeated at most, 32 MiB of memory"
    ) { scale in
        let kills = scale.pick(small: 6, full: 200)
        let size = scale.pick(small: 10 << 20, full: 100 << 20)
        guard var transfer = FileTransfer(size: size),
            transfer.run("alice", "encrypt -q --to bob.card --attach file </dev/null >lines")
        else { return .broken("no relay") }
        let sent = transfer.kill(
            "send", kills, folder: transfer.subject.scratch("relay.db-blobs"),
            of: { $0.start("alice", "exec send -q <\($1 ? "lines" : "/dev/null")") },
            passed: \.sent)
        guard let sent, transfer.run("alice", "send -q <lines", [0, 75]),
            transfer.run("alice", "send -q </dev/null"),
            transfer.run("bob", "recv -q | decrypt -q >message")
        else { return .broken("the upload failed: \(transfer.failure)") }
        let overhead = transfer.proxy.sent - size
        let before = transfer.proxy.received
        let received = transfer.kill(
            "recv", kills, folder: transfer.scratch("state-bob/blobs"),
            of: { transfer, _ in transfer.start("bob", "exec recv --blob message --keep") },
            passed: \.received)
        guard let received,
            transfer.run("bob", "recv --blob message | decrypt --attachment message -o got"),
            transfer.run("bob", "cmp -s file got")
        else { return .broken("the download failed: \(transfer.failure)", after: sent) }
        let again = transfer.proxy.received - before - size
        let memory = ["send", "recv", "relay"].map {
            "\($0) \(text(Double(transfer.peaks[$0] ?? 0) / 1_048_576)) MiB"
        }
        transfer.proxy.stop()
        transfer.subject.relay.end()
        return Outcome(
            sent + received,
            "at most \(transfer.mostRepeated >> 10) KiB repeated, on average \((overhead / sent) >> 10) and "
                + "\((again / received) >> 10) KiB; \(memory.joined(separator: ", "))",
            isGood: true,
            isWithin: transfer.mostRepeated <= 64 << 10
                && transfer.peaks.values.allSatisfy { $0 <= 32 << 20 })
    }
}
