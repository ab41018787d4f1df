import Dispatch
import Glibc
import Sotto
import SottoDatabase
import SottoWire
import Synchronization
import TestSupport
import Testing

/// The time between two polls of a relay over HTTP.
@Suite struct PollTests {
    let they: Correspondence

    init() throws { they = try Correspondence() }

    @Test func mailArrivesWithTheNextPoll() throws {
        try they.expect("alice", "contact add bob.card 2>/dev/null")
        try they.expect("bob", "contact add alice.card 2>/dev/null")
        // The second message is sent when the first one was printed, after the first poll.
        let line = """
            echo one | encrypt -q --to bob.card | send -q >/dev/null && \
            SOTTO_IDENTITY=bob.key SOTTO_HOME=state-bob \
            recv -q --follow --poll-every 1 --max 2 --relay http://\(they.relay.address) \
            | while read -r envelope; do printf '%s\\n' "$envelope"; \
            [ -e sent ] || { touch sent; echo two | encrypt -q --to bob.card | send -q >/dev/null; }; done
            """
        let run = they.shell("alice", line)
        #expect(run.status == 0 && run.lines.count == 2, "\(run.lines) \(they.errors)")
    }

    @Test func onlyHTTPIsPolled() throws {
        for (options, status) in [
            ("--poll-every 0", Int32(64)), ("--poll-every 86401", 64), ("--poll-every 5", 64),
            ("--poll-every 5 --relay http://\(they.relay.address)", 1),
        ] {
            let run = they.shell("alice", "recv -q \(options)")
            #expect(run.status == status, "\(options): \(they.errors)")
        }
    }

    /// An acknowledgement causes a poll at once. The polls of the empty mailbox after it stay one
    /// for each interval.
    @Test func acknowledgementsAddNoPolls() throws {
        let messages = 20
        let name = Mutex("")
        let polls = Mutex<[Double]>([])
        let enough = DispatchSemaphore(value: 0)
        let bob = they.bob.id
        let relay = HostileRelay { connection in
            var sent = 0
            connection.answerHTTP { request in
                switch request {
                case .challenge:
                    return (
                        200,
                        .challenge(
                            nonce: [UInt8](repeating: 0, count: WireLimits.nonceBytes),
                            names: [name.withLock { $0 }])
                    )
                case .login: return (200, .session(nil, token: "token"))
                case .ack: return (200, .acked)
                case .fetch:
                    let count = polls.withLock { polls in
                        polls.append(Monotonic.seconds())
                        return polls.count
                    }
                    if count == messages + 8 { enough.signal() }
                    guard sent < messages else { return (200, .messages([], more: false)) }
                    sent += 1
                    let delivered = Delivered(
                        sequence: Int64(sent), envelope: Sample.record(to: bob).serialized())
                    return (200, .messages([delivered], more: false))
                default: return (200, .stored)
                }
            }
        }
        name.withLock { $0 = relay.address }
        let recv = they.command(
            "bob", "recv",
            ["-q", "--follow", "--poll-every", "1", "--relay", "http://\(relay.address)"],
            output: "got")
        #expect(enough.wait(timeout: .now() + 60) == .success, "\(they.errors)")
        recv.kill(SIGTERM)
        recv.wait()
        let times = polls.withLock { $0 }
        #expect(they.scratch.lines("got").count == messages)
        #expect(times[messages + 7] - times[messages + 4] > 2)
    }
}
