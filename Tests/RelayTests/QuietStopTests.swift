import Dispatch
import Glibc
import Sotto
import SottoState
import SottoWire
import Synchronization
import TestSupport
import Testing

/// The log of a relay at its end.
@Suite(.timeLimit(.minutes(60))) struct QuietStopTests {
    /// NIO prints an error if work arrives for an event loop that has ended.
    @Test func aStopUnderLoadLogsOneLine() throws {
        for _ in 0..<12 {
            let scratch = TemporaryDirectory()
            let relay = try #require(RelayProcess(scratch, ["--monitor", "127.0.0.1:0"]))
            let monitor = try #require(relay.monitor(scratch))
            let owner = Sample.identity()
            let isOver = Atomic(false)
            let stored = Atomic(0)
            let clients = DispatchGroup()
            for number in 0..<6 {
                DispatchQueue(label: "load").async(group: clients) {
                    while !isOver.load(ordering: .relaxed) {
                        guard let client = RawClient(reaching: relay.address) else { return }
                        if number == 0 { _ = HTTP.get(monitor, "/metrics") }
                        if number == 1 {
                            guard client.login(owner)?.isSession == true else { return }
                            client.send(Request.subscribe().line(requestID: "s"))
                        }
                        for _ in 0..<64 {
                            let envelope = Sample.envelope(to: owner.id)
                            client.send(Request.send(envelope).line(requestID: "e"))
                        }
                        for _ in 0..<64 where client.line() != nil {
                            stored.add(1, ordering: .relaxed)
                        }
                    }
                }
            }
            while stored.load(ordering: .relaxed) < 500 { usleep(1_000) }
            #expect(relay.end() == 0)
            isOver.store(true, ordering: .relaxed)
            clients.wait()
            let foreign = scratch.lines("relay.log").filter { !$0.hasPrefix("relay: ") }
            #expect(foreign == [])
        }
    }
}
