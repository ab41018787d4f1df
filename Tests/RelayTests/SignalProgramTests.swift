import Glibc
import Sotto
import SottoDatabase
import SottoWire
import TestSupport
import Testing

@testable import SottoState

/// Envelopes with a time to live of 0 through the built `send` and `recv`.
@Suite(.timeLimit(.minutes(60))) struct SignalProgramTests {
    /// Writes a file of envelopes with these times to live to Bob. Returns their ids.
    func write(_ world: World, _ name: String, _ lives: [Int64?]) -> [String] {
        let ids = lives.map { _ in Envelope.newID() }
        let lines = zip(ids, lives).map {
            Sample.record($0, to: world.bob.id, ttl: $1).serialized() + [0x0A]
        }
        _ = world.scratch.write(name, Array(lines.joined()))
        return ids
    }

    /// Whether a text is in a file of the state directory, or in the log of a database there.
    func stateHas(_ text: String, _ world: World) -> Bool {
        let path = world.scratch("state")
        return ChildProcess.run("/bin/sh", ["-c", "grep -rqa \(text) \(path)"]) == 0
    }

    /// Waits until Bob's `recv` has subscribed: mail that was sent before reaches it.
    func awaitSubscription(_ world: World, _ output: String) {
        let first = write(world, "first", [nil])
        #expect(world.run("send", input: "first", output: "sent-first") == 0)
        world.await { world.ids(output) == first }
    }

    static let pushing = ["tcp", "tls", "ws", "wss"]

    @Test(arguments: TransportTests.schemes)
    func aSignalReachesAFollowingRecv(_ scheme: String) throws {
        let relay = try TransportTests.SecureRelay()
        let world = relay.world
        let url = relay.url(scheme)
        // HTTP has no pushes: the recipient listens over another transport.
        let listening = relay.url(Self.pushing.contains(scheme) ? scheme : "tcp")
        let listener = world.command("recv", ["--follow"], output: "got", relay: listening)
        awaitSubscription(world, "got")
        let ids = write(world, "in", [0, 0, 3_600, 0])
        #expect(world.run("send", input: "in", output: "sent", relay: url) == 0, "\(world.errors)")
        #expect(
            world.statuses("sent").sorted() == ["accepted", "accepted", "accepted", "stored"])
        world.await { world.ids("got").count == 5 }
        #expect(Set(world.ids("got")[1...]) == Set(ids))
        listener.kill(SIGTERM)
        listener.wait()
        // Only the stored one is in the inbox.
        #expect(world.run("recv", ["--again"], output: "again", relay: url) == 0)
        #expect(world.ids("again").suffix(1) == [ids[2]])
        for id in [ids[0], ids[1], ids[3]] { #expect(!stateHas(id, world)) }
        #expect(stateHas(ids[2], world))
        relay.stop()
    }

    @Test func withoutARelaySignalsAreDroppedAndMailIsQueued() throws {
        let scratch = TemporaryDirectory()
        let relay = try #require(RelayProcess(scratch))
        let world = World(address: relay.address)
        #expect(relay.end() == 0)
        let signals = write(world, "signals", [0, 0])
        #expect(world.run("send", input: "signals", output: "sent") == 15)
        #expect(world.statuses("sent") == ["dropped", "dropped"])
        #expect(world.ids("sent") == signals)
        #expect(world.errors.contains("2 with a time to live of 0 not sent"))
        #expect(world.run("send", ["--list"], output: "list") == 1)
        let both = write(world, "both", [0, nil])
        #expect(world.run("send", input: "both", output: "sent2") == 75)
        #expect(world.statuses("sent2").sorted() == ["dropped", "queued"])
        for id in signals + [both[0]] { #expect(!stateHas(id, world)) }
        #expect(stateHas(both[1], world))
        // Later only the mail is delivered.
        let again = try #require(RelayProcess(scratch, listen: relay.address))
        #expect(world.run("send", output: "rest") == 0)
        #expect(world.ids("rest") == [both[1]])
        #expect(again.end() == 0)
    }

    /// An envelope waits in the outbox until its time to live ends.
    @Test func anEnvelopeIsNotSentAfterItsTimeToLive() throws {
        let scratch = TemporaryDirectory()
        let relay = try #require(RelayProcess(scratch))
        let world = World(address: relay.address)
        #expect(relay.end() == 0)
        let ids = write(world, "in", [60, 3_600, nil])
        #expect(world.run("send", input: "in", output: "sent") == 75)
        #expect(world.statuses("sent") == ["queued", "queued", "queued"])
        let database = try DurableDatabase(
            path: world.scratch("state/outbox.db"),
            migrations: [], lockTimeout: 20)
        try database.transaction { connection throws(StateError) in
            try connection.run("UPDATE outbox SET expires = expires - 60 WHERE id = ?", ids[0])
        }
        try database.close()
        let again = try #require(RelayProcess(scratch, listen: relay.address))
        #expect(world.run("send", output: "rest") == 15)
        #expect(world.errors.contains("the time to live of 1 ended in the outbox"))
        let statuses = Dictionary(
            uniqueKeysWithValues: zip(world.ids("rest"), world.statuses("rest")))
        #expect(statuses == [ids[0]: "expired", ids[1]: "stored", ids[2]: "stored"])
        #expect(world.run("send", ["--list"], output: "list") == 1)
        #expect(world.run("recv", output: "got") == 0)
        #expect(world.ids("got") == Array(ids[1...]))
        #expect(again.end() == 0)
    }

    @Test func manySignalsAreAllAnswered() throws {
        let relay = try #require(RelayProcess(TemporaryDirectory(), ["--connection-rate", "0"]))
        let world = World(address: relay.address)
        let ids = write(world, "in", [Int64?](repeating: 0, count: 5_000))
        #expect(world.run("send", input: "in", output: "sent") == 0)
        #expect(world.ids("sent") == ids)
        #expect(Set(world.statuses("sent")) == ["accepted"])
        #expect(relay.end() == 0)
    }

    /// A failed command is not run again, and the envelope does not become a dead letter.
    @Test func aCommandGetsASignalOnce() throws {
        let relay = try #require(RelayProcess(TemporaryDirectory()))
        let world = World(address: relay.address)
        let log = world.scratch("log")
        let command =
            "read -r line; echo \"$line\" >> \(log); case $line in *'\"ttl\":0'*) exit 3;; esac"
        let listener = world.command(
            "recv", ["--follow", "--max", "3", "--exec", command], output: "none")
        awaitSubscription(world, "log")
        let signal = write(world, "signal", [0])
        #expect(world.run("send", input: "signal", output: "sent") == 0)
        world.await { world.ids("log").count == 2 }
        let mail = write(world, "mail", [nil])
        #expect(world.run("send", input: "mail", output: "sent") == 0)
        #expect(listener.wait() == 0)
        #expect(world.ids("log").suffix(2) == signal + mail)
        #expect(world.run("recv", ["--dead"], output: "dead") == 1)
        #expect(!stateHas(signal[0], world))
        #expect(relay.end() == 0)
    }

    @Test func withoutAnInboxASignalIsPrintedToo() throws {
        let relay = try #require(RelayProcess(TemporaryDirectory()))
        let world = World(address: relay.address)
        let listener = world.command(
            "recv", ["--follow", "--stateless", "--max", "2"], output: "got")
        awaitSubscription(world, "got")
        let signal = write(world, "signal", [0])
        #expect(world.run("send", input: "signal", output: "sent") == 0)
        #expect(listener.wait() == 0)
        #expect(world.ids("got").suffix(1) == signal)
        #expect(relay.end() == 0)
    }
}
