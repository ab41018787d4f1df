import Glibc
import Sotto
import SottoState
import TestSupport
import Testing

@testable import SottoClient

/// `recv --follow`: its notes on the connection, and its retries of commands.
@Suite struct FollowTests {
    let relay: RelayProcess
    let world: World
    let store: TemporaryDirectory

    init() throws {
        store = TemporaryDirectory()
        relay = try #require(RelayProcess(store))
        world = World(address: relay.address)
    }

    func count(_ note: String) -> Int { world.errors.ranges(of: note).count }

    @Test func aLostRelayIsReportedOnce() throws {
        relay.end()
        let following = world.command("recv", ["--follow"], output: "received")
        world.await { count("trying again") == 1 }
        #expect(world.errors.contains("recv: note: cannot reach tcp://\(relay.address)"))
        let again = try #require(RelayProcess(store, listen: relay.address))
        world.await { count("reconnected to") == 1 }
        let ids = world.envelopes("in", 1)
        #expect(world.run("send", input: "in") == 0)
        world.await { world.ids("received") == ids }
        again.end()
        world.await { count("trying again") == 2 }
        following.kill(SIGTERM)
        #expect(following.wait() == -SIGTERM)
        // The number of attempts does not matter.
        #expect(count("trying again") == 2 && count("reconnected to") == 1)
    }

    @Test(arguments: [[], ["--stateless"]])
    func aCommandThatFailsIsRunAgain(_ options: [String]) throws {
        defer { relay.end() }
        let ids = world.envelopes("in", 3)
        #expect(world.run("send", input: "in") == 0)
        let (log, flag) = (world.scratch("log"), world.scratch("flag"))
        // The command fails for the second envelope until the flag exists; the others are not delayed.
        let command =
            "read -r line; case $line in *\(ids[1])*) [ -e \(flag) ] || exit 3;; esac; "
            + "echo \"$line\" >> \(log)"
        let following = world.command(
            "recv", options + ["--follow", "--max", "3", "--exec", command], output: "none")
        world.await { world.ids("log") == [ids[0], ids[2]] }
        world.await { count("exited with 3") >= 2 }
        world.scratch.write("flag", [])
        #expect(following.wait() == 0)
        #expect(world.ids("log") == [ids[0], ids[2], ids[1]])
        #expect(world.run("recv", options, output: "rest") == 1)
    }
}

/// The times at which a command is retried.
@Suite struct CommandRetryTests {
    @Test func delaysGrowToAMinute() {
        for _ in 0..<20 {
            var delay = RetryDelay()
            let delays = (0..<10).map { _ in delay.next() }
            for (place, most) in [2.0, 4, 8, 16, 32, 60, 60, 60, 60, 60].enumerated() {
                #expect((most / 2...most).contains(delays[place]))
            }
        }
    }

    @Test func aFailureCountsOnlyIfTheCommandWorksForOthers() throws {
        var retries = ReceptionCommandRetries()
        func fail(_ id: String, _ successes: Int, _ now: Double) -> Bool {
            retries.noteFailure(id, [0x41], origin: nil, successes: successes, at: now)
        }
        // The command has succeeded for no envelope: the command is at fault.
        #expect(!fail("a", 0, 0) && !fail("b", 0, 0) && !fail("a", 0, 10))
        // The command has handled another envelope since: this envelope is at fault.
        #expect(fail("a", 1, 20) && !fail("a", 1, 30) && fail("a", 3, 40))
        #expect(retries.countedFailures(of: "a") == 2 && retries.countedFailures(of: "b") == 0)
        #expect(retries.due(at: 0.9).isEmpty)
        #expect(retries.due(at: 39).map(\.id) == ["b"])
        #expect(retries.due(at: 1_000).map(\.id) == ["b", "a"])
        #expect(try #require(retries.next) <= 2)
        retries.remove("b")
        #expect(retries.count == 1 && retries.contains("a") && !retries.contains("b"))
        for number in 1..<ReceptionCommandRetries.limit { #expect(!fail("\(number)", 0, 0)) }
        // The table is full: the failure counts as it does without --follow.
        #expect(fail("one more", 0, 0) && !retries.contains("one more"))
    }
}
