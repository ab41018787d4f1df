import Glibc
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import TestSupport
import Testing

@Suite struct ProgramTests {
    let relay: RelayProcess
    let world: World
    let store: TemporaryDirectory

    init() throws {
        store = TemporaryDirectory()
        relay = try #require(RelayProcess(store))
        world = World(address: relay.address)
    }

    func stop() {
        relay.command.kill(SIGTERM)
        #expect(relay.command.wait() == 0)
    }

    @Test func mailIsReceivedByteForByteAndOnce() {
        defer { stop() }
        let ids = world.envelopes("in", 300)
        #expect(world.run("send", input: "in", output: "results") == 0)
        #expect(world.statuses("results") == [String](repeating: "stored", count: 300))
        #expect(world.ids("results") == ids)
        #expect(world.run("recv", output: "received") == 0)
        #expect(world.scratch.lines("received") == world.scratch.lines("in"))
        #expect(world.run("recv", output: "nothing") == 1)
        #expect(world.run("send", input: "in", output: "again") == 0)
        #expect(world.statuses("again") == [String](repeating: "duplicate", count: 300))
        #expect(world.run("recv", output: "nothing") == 1)
        #expect(world.scratch.lines("nothing").isEmpty)
    }

    /// A relay on `[::]` accepts the login of a client that names it by any spelling of its address.
    @Test(arguments: [
        "tcp://[::1]", "tcp://127.0.0.1", "http://127.0.0.1", "ws://[0::1]", "tcp://localhost",
        "tcp://[0:0:0:0:0:0:0:1]", "tcp://[::ffff:7f00:1]", "tcp://[::FFFF:127.0.0.1]",
        "TCP://127.1",
    ])
    func aRelayOnAllAddressesIsNamedByEachSpelling(_ beginning: String) throws {
        stop()
        let scratch = TemporaryDirectory()
        let relay = try #require(RelayProcess(scratch, listen: "[::]:0"))
        let port = relay.address.split(separator: ":").last ?? ""
        #expect(
            world.run("recv", relay: "\(beginning):\(port)") == 1, "\(beginning): \(world.errors)")
        #expect(relay.end() == 0)
    }

    @Test func badLinesBecomeErrorRecords() {
        defer { stop() }
        _ = world.envelopes("good", 2)
        let good = TemporaryDirectory.contents(world.scratch("good"))
        let long = "{\"a\":\"" + String(repeating: "A", count: 200_000) + "\"}\n"
        let bad = Array("{nonsense\n{\"a\":1,\"a\":2}\n{}\n\(long)".utf8)
        world.scratch.write("mixed", bad + good)
        #expect(world.run("send", input: "mixed", output: "results") == 15)
        let lines = world.scratch.lines("results").compactMap {
            try? JSON.object(parsing: Array($0.utf8))
        }
        #expect(lines.count == 6)
        let errors = lines.filter { $0["type"]?.string == "error" }
        #expect(errors.map { $0["line"]?.integer } == [1, 2, 3, 4])
        #expect(errors.allSatisfy { $0["status"] == .integer(65) })
        world.scratch.write("bad", bad)
        #expect(world.run("send", input: "bad") == 65)
    }

    @Test func theSameIdWithAnotherEnvelopeIsRejected() {
        defer { stop() }
        let id = Envelope.newID()
        for (name, text) in [("one", "AA=="), ("two", "AQ==")] {
            let record = Sample.record(id, to: world.bob.id, text: text)
            world.scratch.write(name, record.serialized() + [0x0A])
        }
        #expect(world.run("send", input: "one") == 0)
        #expect(world.run("send", input: "two", output: "results") == 15)
        #expect(world.statuses("results") == ["rejected"])
        #expect(world.run("send", output: "results") == 0)
    }

    @Test func withoutARelayEnvelopesAreQueuedAndTheNextSendDeliversThemInOrder() {
        let first = world.envelopes("first", 5)
        let second = world.envelopes("second", 5)
        stop()
        #expect(world.run("send", input: "first", output: "results") == 75)
        #expect(world.statuses("results") == [String](repeating: "queued", count: 5))
        #expect(world.run("send", output: "none") == 75)
        #expect(world.run("recv", output: "none") == 69)
        guard let again = RelayProcess(store, listen: relay.address) else {
            Issue.record("the relay does not start again")
            return
        }
        #expect(world.run("send", input: "second") == 0)
        #expect(world.run("recv", output: "received") == 0)
        #expect(world.ids("received") == first + second)
        again.command.kill(SIGTERM)
        #expect(again.command.wait() == 0)
    }

    @Test func configurationErrorsHaveHints() {
        defer { stop() }
        _ = world.envelopes("in", 1)
        #expect(world.run("send", input: "in", relay: "") == 78)
        #expect(
            world.errors.contains("send: hint: to send it: sotto send --relay tcp://host:port"))
        #expect(world.run("recv", relay: "") == 78)
        #expect(world.run("recv", relay: "udp://127.0.0.1:1") == 78)
        #expect(world.run("recv", relay: "tcp://127.0.0.1:1#sha256=00") == 78)
        #expect(world.run("recv", relay: "tls://127.0.0.1:1") == 69)
        #expect(world.run("recv", relay: "nonsense") == 78)
        let port = world.address.split(separator: ":")[1]
        #expect(world.run("recv", relay: "tcp://127.0.0.2:\(port)") == 69)
        #expect(ChildProcess.run("/bin/chmod", ["755", world.environment["SOTTO_HOME"]!]) == 0)
        #expect(world.run("recv") == 77)
    }

    @Test func oneRecvAtATime() throws {
        defer { stop() }
        let following = world.command("recv", ["--follow"], output: "received")
        let ids = world.envelopes("in", 1)
        #expect(world.run("send", input: "in") == 0)
        world.await { world.ids("received") == ids }
        #expect(world.run("recv", ["--lock-timeout", "0.1"]) == 75)
        #expect(world.errors.contains("another recv is running for this identity"))
        #expect(world.errors.contains("read its messages with sotto history --text"))
        // Without state it is another consumer, and the newest wins.
        #expect(world.run("recv", ["--stateless"], output: "none") == 1)
        #expect(following.wait() == 75)
    }

    @Test func followingOutlivesTheRelay() throws {
        let following = world.command("recv", ["--follow", "--max", "4"], output: "received")
        let first = world.envelopes("first", 2)
        let second = world.envelopes("second", 2)
        #expect(world.run("send", input: "first") == 0)
        world.await { world.ids("received") == first }
        relay.command.kill(SIGKILL)
        relay.command.wait()
        let again = try #require(RelayProcess(store, listen: relay.address))
        #expect(world.run("send", input: "second") == 0)
        #expect(following.wait() == 0)
        #expect(world.ids("received") == first + second)
        again.command.kill(SIGTERM)
        #expect(again.command.wait() == 0)
    }

    @Test func maximumLeavesTheRest() {
        defer { stop() }
        let ids = world.envelopes("in", 5)
        #expect(world.run("send", input: "in") == 0)
        #expect(world.run("recv", ["--max", "2"], output: "a") == 0)
        #expect(world.run("recv", ["--max", "2", "--stateless"], output: "b") == 0)
        #expect(world.run("recv", output: "c") == 0)
        #expect(world.ids("a") == Array(ids[..<2]))
        #expect(world.ids("b") == Array(ids[2..<4]))
        #expect(world.ids("c") == Array(ids[4...]))
    }

    @Test(arguments: [[], ["--stateless"]])
    func aCommandAcknowledgesByItsExitStatus(_ options: [String]) {
        defer { stop() }
        let ids = world.envelopes("in", 3)
        let log = world.scratch("log")
        #expect(world.run("send", input: "in") == 0)
        let failing = "grep -q \(ids[1]) && exit 3; exit 0"
        #expect(world.run("recv", options + ["--exec", failing]) == 15)
        #expect(world.errors.contains("exited with 3"))
        for _ in 0..<4 {
            #expect(world.run("recv", options + ["--exec", "cat >> \(log); false"]) == 75)
        }
        #expect(world.ids("log") == [String](repeating: ids[1], count: 4))
        // It is a dead letter now.
        #expect(world.run("recv", options + ["--exec", "cat >> \(log)"]) == 1)
        #expect(world.run("recv", options, output: "none") == 1)
        #expect(world.scratch.lines("none").isEmpty)
    }

    @Test func sendersShareTheOutbox() {
        defer { stop() }
        var all: Set<String> = []
        var commands: [ChildProcess] = []
        for number in 0..<4 {
            all.formUnion(world.envelopes("in\(number)", 100))
            commands.append(
                world.command("send", input: "in\(number)", output: "results\(number)"))
        }
        #expect(commands.map { $0.wait() } == [0, 0, 0, 0])
        for number in 0..<4 {
            let given = Set(world.ids("in\(number)"))
            #expect(given.isSubset(of: world.ids("results\(number)")))
        }
        #expect(world.run("recv", output: "received") == 0)
        #expect(Set(world.ids("received")) == all)
        #expect(world.ids("received").count == all.count)
    }

    @Test func slowInputIsSentAtOnce() {
        defer { stop() }
        let fifo = world.scratch("fifo")
        mkfifo(fifo, 0o600)
        // Opened for reading and writing before the program starts: each end would wait for the other.
        let descriptor = open(fifo, O_RDWR | O_CLOEXEC)
        let command = world.command("send", input: "fifo", output: "results")
        var ids: [String] = []
        for _ in 0..<3 {
            let record = Sample.record(to: world.bob.id)
            ids.append(record["id"]?.string ?? "")
            let line = record.serialized() + [0x0A]
            #expect(write(descriptor, line, line.count) == line.count)
            world.await { world.ids("results") == ids }
        }
        close(descriptor)
        #expect(command.wait() == 0)
    }

    @Test func theLogNamesNoUser() {
        let ids = world.envelopes("in", 1)
        #expect(world.run("send", input: "in") == 0)
        #expect(world.run("recv") == 0)
        stop()
        let log = String(decoding: TemporaryDirectory.contents(store("relay.log")), as: UTF8.self)
        #expect(log.contains("ended"))
        #expect(!log.contains(ids[0]) && !log.contains(world.bob.id.description))
    }
}

extension World {
    /// Waits until a condition holds; the test fails after 20 s.
    func await(_ condition: () -> Bool) {
        let deadline = Monotonic.seconds() + 20
        while !condition() {
            guard Monotonic.seconds() < deadline else {
                Issue.record("timed out")
                return
            }
            usleep(2_000)
        }
    }
}
