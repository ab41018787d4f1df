import Glibc
import Sotto
import SottoDatabase
import TestSupport
import Testing

/// `kill -9` of `send`, of the relay and of `recv` during the transfer of one file.
@Suite(.serialized, .timeLimit(.minutes(60))) struct BlobKillTests {
    private static let kills = 20
    private static let size = 20_000_000

    /// Waits until the file in a folder has a random share of its rest, or until the program has ended. Returns whether the
    /// program was transferring it then: bytes arrived, and others are missing.
    ///
    /// With `left` kills to come, the shares are such that the last kill comes near the end of the file.
    private func isTransferring(
        _ command: ChildProcess, to folder: String, left: Int,
        _ generator: inout SeededGenerator
    ) -> Bool {
        let before = have(folder)
        let share = max(1, 2 * (Self.size - before) / (left + 1))
        let goal = before + Int.random(in: 1...share, using: &generator)
        while have(folder) < goal, !command.hasEnded { usleep(100) }
        return have(folder) > before && have(folder) < Self.size
    }

    /// Returns the size of the largest file in a folder, or 0.
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
        var uploads = 0
        for run in 0..<Self.kills {
            let command = send(run == 0 ? "lines" : "/dev/null")
            let isTransferring = isTransferring(
                command, to: folder, left: Self.kills - run, &generator)
            command.kill(SIGKILL)
            if command.wait() == -SIGKILL, isTransferring { uploads += 1 }
            #expect(have(folder) >= last)
            last = have(folder)
        }
        #expect(2 * uploads >= Self.kills)
        // The relay may still store the last pieces of the killed program.
        #expect(send("lines").wait() == 0, "\(world.errors)")
        #expect(send("/dev/null").wait() == 0, "\(world.errors)")
        let got = try world.expect("bob", "recv -q | decrypt -q | tee message")
        // Sent twice at most: the record in `lines` is the same.
        #expect(got.filter { $0.contains("\"file\"") }.count == 1)
        // Nor does the recipient.
        let blobs = world.scratch("state-bob/blobs")
        var downloads = 0
        last = 0
        for run in 0..<Self.kills {
            let command = world.command(
                "bob", "/bin/sh", ["-c", "cd \"$CARDS\" && exec recv --blob message --keep"],
                output: "results")
            let isTransferring = isTransferring(
                command, to: blobs, left: Self.kills - run, &generator)
            command.kill(SIGKILL)
            if command.wait() == -SIGKILL, isTransferring { downloads += 1 }
            #expect(have(blobs) >= last)
            last = have(blobs)
        }
        #expect(2 * downloads >= Self.kills)
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
        let folder = place("relay.db-blobs")
        var uploads = 0
        for run in 0..<Self.kills {
            let command = world.command(
                "alice", "/bin/sh", ["-c", "cd \"$CARDS\" && \(url) && exec send -q < /dev/null"],
                output: "results")
            if isTransferring(command, to: folder, left: Self.kills - run, &generator) {
                uploads += 1
            }
            relay.command.kill(SIGKILL)
            relay.command.wait()
            // It would wait for the relay.
            command.kill(SIGTERM)
            command.wait()
            relay = try #require(RelayProcess(place, listen: address))
        }
        #expect(2 * uploads >= Self.kills)
        try world.expect("alice", "\(url); send -q < /dev/null")
        try world.expect("bob", "\(url); recv -q | decrypt -q > message")
        var downloads = 0
        for _ in 0..<Self.kills {
            // Fetched from the beginning.
            try world.expect("bob", "rm -f $SOTTO_HOME/blobs/in-*")
            let command = world.command(
                "bob", "/bin/sh",
                ["-c", "cd \"$CARDS\" && \(url) && exec recv --blob message --keep"],
                output: "results")
            let blobs = world.scratch("state-bob/blobs")
            if isTransferring(command, to: blobs, left: 2, &generator) { downloads += 1 }
            relay.command.kill(SIGKILL)
            relay.command.wait()
            relay = try #require(RelayProcess(place, listen: address))
            // It fails if the relay refused its first connection.
            let status = command.wait()
            #expect([0, 69].contains(status), "\(world.errors)")
            if status == 69 { try world.expect("bob", "\(url); recv --blob message --keep") }
        }
        #expect(2 * downloads >= Self.kills)
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
        while have(place("relay.db-blobs")) < 1 << 20 { usleep(1_000) }
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
