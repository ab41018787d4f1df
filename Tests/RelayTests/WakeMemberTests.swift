import Glibc
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// The mailboxes that are announced while a sender floods the relay.
@Suite(.timeLimit(.minutes(60))) struct WakeMemberTests {
    let scratch = TemporaryDirectory()
    let bob = Sample.identity()

    func until(_ condition: () -> Bool) {
        let deadline = Monotonic.seconds() + 60
        while !condition() {
            guard Monotonic.seconds() < deadline else {
                Issue.record("timed out")
                return
            }
            usleep(2_000)
        }
    }

    func metric(_ name: String, _ monitor: String) -> Int {
        let line = (HTTP.get(monitor, "/metrics")?.body ?? "").split(separator: "\n")
            .first { $0.hasPrefix("sotto_relay_\(name) ") }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? -1
    }

    /// Sends one envelope each to `count` random ids.
    func flood(_ client: RawClient, _ count: Int) {
        for _ in 0..<count {
            client.send(
                Request.send(Sample.envelope(to: Sample.identityID())).line(requestID: "f"))
        }
        for _ in 0..<count { #expect(client.response() == .stored) }
    }

    @Test func aRelayForMembersWakesOnlyMembers() throws {
        let note = "sh -c 'echo $SOTTO_MAILBOX $SOTTO_COUNT >> \(scratch("woken"))'"
        let relay = try #require(
            RelayProcess(scratch, ["--invited", "--monitor", "127.0.0.1:0", "--wake", note]))
        let monitor = try #require(relay.monitor(scratch))
        let (removed, address) = (Sample.identity(), Sample.identity())
        let store = scratch("relay.db")
        for (id, options) in [(bob.id, []), (removed.id, []), (removed.id, ["--remove"])] {
            let status = ChildProcess.run(
                "relay", ["admit", "--store", store] + options + [id.description])
            #expect(status == 0)
        }
        // An address of Bob's is admitted on a connection on which he is logged in.
        let member = RawClient(relay.address)
        #expect(member.login(bob)?.isSession == true)
        #expect(member.login(address)?.isSession == true)
        let sender = RawClient(relay.address)
        flood(sender, 300)
        #expect(sender.ask(.send(Sample.envelope(to: removed.id))) == .stored)
        #expect(sender.ask(.send(Sample.envelope(to: address.id))) == .stored)
        until { scratch.lines("woken") == ["\(address.id) 1"] }
        #expect(sender.ask(.send(Sample.envelope(to: bob.id))) == .stored)
        until { metric("wakeups_total", monitor) == 2 }
        #expect(metric("wakeups_failed_total", monitor) == 0)
        #expect(relay.end() == 0)
        #expect(scratch.lines("woken") == ["\(address.id) 1", "\(bob.id) 1"])
    }

    /// On an open relay, ids that have published come before unknown ones.
    @Test func aKnownMailboxWaitsOnceAndIsNeverDropped() throws {
        let (woken, gate, fifo) = (
            scratch("woken"), scratch("open"), scratch("fifo")
        )
        #expect(mkfifo(fifo, 0o600) == 0)
        let slow =
            "sh -c 'echo $SOTTO_MAILBOX $SOTTO_COUNT >> \(woken); test -e \(gate) || exec cat \(fifo)'"
        let relay = try #require(
            RelayProcess(scratch, ["--monitor", "127.0.0.1:0", "--wake", slow]))
        let monitor = try #require(relay.monitor(scratch))
        let client = RawClient(relay.address)
        #expect(client.publish(Sample.preKeys(of: bob, oneTime: 1..<2)) == .stored)
        flood(client, 1_200)
        until { scratch.lines("woken").count == 8 }
        // Eight are running, 1,000 wait, and the others are dropped.
        until { metric("wakeups_failed_total", monitor) == 192 }
        for _ in 0..<5 { #expect(client.ask(.send(Sample.envelope(to: bob.id))) == .stored) }
        #expect(metric("wakeups_failed_total", monitor) == 192)
        scratch.write("open", [])
        close(open(fifo, O_WRONLY))
        until { scratch.lines("woken").contains("\(bob.id) 5") }
        let place = scratch.lines("woken").firstIndex { $0.hasPrefix("\(bob.id)") }
        #expect(place.map { $0 < 24 } == true)
        until { metric("wakeups_total", monitor) == 1_009 }
        #expect(relay.end() == 0)
        #expect(scratch.lines("woken").filter { $0.hasPrefix("\(bob.id)") } == ["\(bob.id) 5"])
    }
}
