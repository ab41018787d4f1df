import Glibc
import Sotto
import SottoDatabase
import TestSupport
import Testing

/// `kill -9` of `send`, of the relay and of `recv` during the transfer of one file.
@Suite(.serialized, .timeLimit(.minutes(60))) struct BlobKillTests {
    private static let kills = 20
    private static let size = 20_000_000

    private func moment(_ generator: inout SeededGenerator, upTo milliseconds: UInt32) {
        usleep(UInt32.random(in: 0...(milliseconds * 1000), using: &generator))
    }

    /// Returns the size of the only file in a folder whose name has the suffix, or `nil`.
    private func have(_ folder: String, _ suffix: String) -> Int? {
        guard let directory = opendir(folder) else { return nil }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            var status = stat()
            if !name.hasPrefix("."), name.hasSuffix(suffix), stat(folder + "/" + name, &status) == 0
            {
                return Int(status.st_size)
            }
        }
        return nil
    }

    @Test func aFileArrivesThroughKills() throws {
        var generator = SeededGenerator(state: 7)
        let world = try Correspondence()
        let folder = world.storePath + "-blobs"
        let file = randomBytes(Self.size)
        world.scratch.write("file", file)
        let line = "encrypt --to bob.card --attach file -q < /dev/null > lines"
        try world.expect("alice", line)
        func send(_ input: String) -> ChildProcess {
            world.command(
                "alice", "/bin/sh", ["-c", "cd \"$CARDS\" && exec send -q < \(input)"],
                output: "results")
        }
        // The relay never loses a byte of the file.
        var last = 0
        for run in 0..<Self.kills {
            let command = send(run == 0 ? "lines" : "/dev/null")
            moment(&generator, upTo: 30)
            command.kill(SIGKILL)
            command.wait()
            let now = have(folder, ".part") ?? have(folder, "") ?? 0
            #expect(now >= last)
            last = now
        }
        // The relay may still store the last pieces of the killed program.
        #expect(send("lines").wait() == 0, "\(world.errors)")
        #expect(send("/dev/null").wait() == 0, "\(world.errors)")
        let got = try world.expect("bob", "recv -q | decrypt -q | tee message")
        // Sent twice at most: the record in `lines` is the same.
        #expect(got.filter { $0.contains("\"file\"") }.count == 1)
        for _ in 0..<Self.kills {
            let command = world.command(
                "bob", "/bin/sh", ["-c", "cd \"$CARDS\" && exec recv --blob message > part"],
                output: "results")
            moment(&generator, upTo: 30)
            command.kill(SIGKILL)
            command.wait()
        }
        try world.expect("bob", "recv --blob message | decrypt --attachment message -o got")
        #expect(TemporaryDirectory.contents(world.scratch("got")) == file)
        world.stop()
    }

    @Test func theRelayIsKilled() throws {
        var generator = SeededGenerator(state: 8)
        let place = TemporaryDirectory()
        var relay = try #require(RelayProcess(place))
        let address = relay.address
        let world = try Correspondence()
        let file = randomBytes(Self.size)
        world.scratch.write("file", file)
        let url = "export SOTTO_RELAY=tcp://\(address)"
        try world.expect(
            "alice", "\(url); encrypt --to bob.card --attach file -q < /dev/null > lines")
        // The outbox has the lines before the first kill, however slow the machine is.
        relay.end()
        #expect(world.shell("alice", "\(url); send -q < lines").status == 75)
        relay = try #require(RelayProcess(place, listen: address))
        for _ in 0..<Self.kills {
            let command = world.command(
                "alice", "/bin/sh", ["-c", "cd \"$CARDS\" && \(url) && exec send -q < /dev/null"],
                output: "results")
            moment(&generator, upTo: 40)
            relay.command.kill(SIGKILL)
            relay.command.wait()
            // It would wait for the relay.
            command.kill(SIGTERM)
            command.wait()
            relay = try #require(RelayProcess(place, listen: address))
        }
        try world.expect("alice", "\(url); send -q < /dev/null")
        try world.expect("bob", "\(url); recv -q | decrypt -q > message")
        for _ in 0..<Self.kills {
            let command = world.command(
                "bob", "/bin/sh",
                ["-c", "cd \"$CARDS\" && \(url) && exec recv --blob message --keep"],
                output: "results")
            moment(&generator, upTo: 40)
            relay.command.kill(SIGKILL)
            relay.command.wait()
            relay = try #require(RelayProcess(place, listen: address))
            // It fails if the relay refused its first connection.
            let status = command.wait()
            #expect([0, 69].contains(status), "\(world.errors)")
            if status == 69 { try world.expect("bob", "\(url); recv --blob message --keep") }
            // Fetched again from the beginning in every second run.
            if Bool.random(using: &generator) {
                try world.expect("bob", "rm -f $SOTTO_HOME/blobs/in-*")
            }
        }
        try world.expect("bob", "\(url); recv --blob message | decrypt --attachment message -o got")
        #expect(TemporaryDirectory.contents(world.scratch("got")) == file)
        relay.end()
        world.stop()
    }

    /// `send` waits for a relay that restarts during an upload, also after the end of its input.
    @Test func aRelayThatRestartsEndsNoUpload() throws {
        let place = TemporaryDirectory()
        let relay = try #require(RelayProcess(place))
        let address = relay.address
        let world = try Correspondence()
        world.scratch.write("file", randomBytes(4 * Self.size))
        let url = "export SOTTO_RELAY=tcp://\(address)"
        try world.expect(
            "alice", "\(url); encrypt --to bob.card --attach file -q < /dev/null > lines")
        let command = world.command(
            "alice", "/bin/sh", ["-c", "cd \"$CARDS\" && \(url) && exec send -q < lines"],
            output: "results")
        // With 1 MiB at the relay the upload is known to have progressed.
        while (have(place("relay.db-blobs"), "") ?? 0) < 1 << 20 { usleep(1_000) }
        relay.command.kill(SIGKILL)
        relay.command.wait()
        let next = try #require(RelayProcess(place, listen: address))
        #expect(command.wait() == 0, "\(world.errors)")
        try world.expect("bob", "\(url); recv -q | decrypt -q > message")
        try world.expect("bob", "\(url); recv --blob message | decrypt --attachment message -o got")
        #expect(
            TemporaryDirectory.contents(world.scratch("got"))
                == TemporaryDirectory.contents(world.scratch("file")))
        next.end()
        world.stop()
    }
}
