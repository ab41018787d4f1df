import Glibc
import Sotto
import SottoState
import TestSupport
import Testing

/// `kill -9` at random moments: no acknowledged mail is lost, and each id counts once.
@Suite(.serialized) struct KillTests {
    static let kills = 50

    /// Sleeps for a random time; it waits for nothing.
    private func moment(_ generator: inout SeededGenerator, upTo milliseconds: UInt32) {
        usleep(UInt32.random(in: 0...(milliseconds * 1000), using: &generator))
    }

    @Test func recv() throws {
        var generator = SeededGenerator(state: 1)
        let store = TemporaryDirectory()
        let relay = try #require(RelayProcess(store))
        let world = World(address: relay.address)
        let ids = world.envelopes("in", 600)
        #expect(world.run("send", input: "in") == 0)
        for run in 0..<Self.kills {
            let command = world.command("recv", ["--max", "20"], output: "out\(run)")
            moment(&generator, upTo: 40)
            command.kill(SIGKILL)
            command.wait()
        }
        #expect([0, 1].contains(world.run("recv", output: "out\(Self.kills)")))
        // A killed run may end within a line; each envelope came complete at least once.
        let received = (0...Self.kills).flatMap { world.ids("out\($0)") }
        #expect(Set(received) == Set(ids))
        #expect(world.run("recv", output: "none") == 1)
        relay.command.kill(SIGTERM)
        #expect(relay.command.wait() == 0)
    }

    @Test func send() throws {
        var generator = SeededGenerator(state: 2)
        let store = TemporaryDirectory()
        let relay = try #require(RelayProcess(store))
        let world = World(address: relay.address)
        var all: [String] = []
        for run in 0..<Self.kills {
            all += world.envelopes("in\(run)", 20)
            let command = world.command("send", input: "in\(run)", output: "results\(run)")
            moment(&generator, upTo: 40)
            command.kill(SIGKILL)
            command.wait()
        }
        // An envelope with a result was stored in the outbox; the next send delivers the rest.
        let taken = (0..<Self.kills).flatMap { world.ids("results\($0)") }
        #expect(world.run("send") == 0)
        // On a loaded machine every run may be killed before it has taken anything.
        #expect([0, 1].contains(world.run("recv", output: "first")))
        let first = world.ids("first")
        #expect(Set(taken).isSubset(of: first))
        // A sender in doubt sends again: nothing is delivered twice.
        for run in 0..<Self.kills { #expect(world.run("send", input: "in\(run)") == 0) }
        _ = world.run("recv", output: "second")
        let received = first + world.ids("second")
        #expect(Set(received) == Set(all))
        #expect(received.count == all.count)
        relay.command.kill(SIGTERM)
        #expect(relay.command.wait() == 0)
    }

    @Test func relay() throws {
        var generator = SeededGenerator(state: 3)
        let store = TemporaryDirectory()
        var relay = try #require(RelayProcess(store))
        let world = World(address: relay.address)
        var all: [String] = []
        for run in 0..<Self.kills {
            all += world.envelopes("in\(run)", 20)
            let command = world.command("send", input: "in\(run)", output: "results")
            moment(&generator, upTo: 60)
            relay.command.kill(SIGKILL)
            relay.command.wait()
            #expect([0, 75].contains(command.wait()))
            relay = try #require(RelayProcess(store, listen: world.address))
        }
        #expect(world.run("send") == 0)
        #expect(world.run("recv", output: "received") == 0)
        #expect(world.ids("received") == all)
        relay.command.kill(SIGTERM)
        #expect(relay.command.wait() == 0)
    }
}
