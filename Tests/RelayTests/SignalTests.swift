import Dispatch
import Glibc
import Sotto
import SottoDatabase
import SottoState
import TestSupport
import Testing

@testable import SottoServer
@testable import SottoWire

/// Envelopes with a time to live of 0 at the relay: pushed or dropped, never stored, always answered alike.
@Suite(.timeLimit(.minutes(60))) struct SignalTests {
    let bob = Sample.identity()

    /// Logs in and subscribes.
    func consumer(_ client: RawClient, _ identity: Identity) throws -> RawClient {
        try #require(client.login(identity)?.isSession == true)
        #expect(client.ask(.subscribe()) == .subscribed)
        while let response = client.response(), response != .empty {}
        return client
    }

    /// Sends an envelope under a fixed request id. Returns the line of the answer.
    func answer(_ client: RawClient, _ envelope: AddressedEnvelope) -> String? {
        client.send(Request.send(envelope).line(requestID: "r"))
        return client.line()
    }

    static let accepted = #"{"type":"accepted","request_id":"r","payload":{}}"#

    @Test func everyRecipientIsAnsweredAlike() throws {
        let running = try RunningRelay {
            $0.mailboxMessages = 1
            $0.mailboxRate = 5
        }
        let sender = running.client()
        let (full, away, busy) = (Sample.identity(), Sample.identity(), Sample.identity())
        #expect(sender.ask(.send(Sample.envelope(to: full.id))) == .stored)
        #expect(
            sender.ask(.send(Sample.envelope(to: full.id))) == .deferred(Refusal(.mailboxFull)))
        // Away: the owner was subscribed and is not any more.
        do { _ = try consumer(running.client(), away) }
        for _ in 0..<5 { _ = answer(sender, Sample.envelope(to: busy.id, ttl: 0)) }
        #expect(sender.ask(.send(Sample.envelope(to: busy.id))) == .deferred(Refusal(.tooMany)))
        let present = try consumer(running.client(), bob)
        for recipient in [bob.id, away.id, Sample.identity().id, full.id, busy.id] {
            #expect(answer(sender, Sample.envelope(to: recipient, ttl: 0)) == Self.accepted)
        }
        #expect(present.frame()?.type == "signal")
    }

    /// A relay for members answers alike for members, addresses, removed members and others.
    @Test func aRelayForMembersAnswersAlike() throws {
        let running = try RunningRelay { $0.admission.list = [bob.id] }
        let present = try consumer(running.client(), bob)
        let sender = running.client()
        for recipient in [bob.id, Sample.identity().id] {
            #expect(answer(sender, Sample.envelope(to: recipient, ttl: 0)) == Self.accepted)
        }
        running.relay.replaceMembers([])
        #expect(answer(sender, Sample.envelope(to: bob.id, ttl: 0)) == Self.accepted)
        #expect(present.frame()?.type == "signal")
    }

    @Test func aSignalIsPushedWithoutANumber() throws {
        let running = try RunningRelay()
        let present = try consumer(running.client(), bob)
        let sender = running.client()
        let signal = Sample.envelope(to: bob.id, ttl: 0)
        #expect(answer(sender, signal) == Self.accepted)
        #expect(present.response() == .signal(signal.bytes))
        // The same id again is another signal: no id is remembered.
        #expect(answer(sender, signal) == Self.accepted)
        #expect(present.response() == .signal(signal.bytes))
        let stored = Sample.envelope(to: bob.id, ttl: 3_600)
        #expect(sender.ask(.send(stored)) == .stored)
        #expect(present.response() == .newMessage(Delivered(sequence: 1, envelope: stored.bytes)))
        // Nothing waits for an acknowledgement.
        #expect(present.ask(.ack(ids: [stored.id], .delivered)) == .acked)
        let next = running.client()
        #expect(next.login(bob)?.isSession == true)
        #expect(next.ask(.fetch(max: 9, after: 0, dead: false)) == .messages([], more: false))
    }

    /// The store is not asked: each of its commits would fail, and end the relay.
    @Test func aSignalIsNoCommit() throws {
        let relay = try Relay(
            RelayConfiguration(listen: RelayURL(host: "127.0.0.1", port: 0), store: ""),
            store: StubStore(failure: StubStore.diskError)
        ) { Issue.record("the store was used: \($0)") }
        let sender = RawClient(relay.address)
        for _ in 0..<100 {
            #expect(answer(sender, Sample.envelope(to: bob.id, ttl: 0)) == Self.accepted)
        }
        try relay.stop()
    }

    @Test(arguments: StoreKind.available) func nothingOfASignalIsOnDisk(_ kind: StoreKind) throws {
        let place = StoreFixture()
        let location = try place.location(kind)
        let relay = try #require(RelayProcess(place.scratch, store: location))
        let present = try consumer(RawClient(relay.address), bob)
        let sender = RawClient(relay.address)
        let secret = "SIGNAL" + hex(randomBytes(16))
        let stored = "STORED" + hex(randomBytes(16))
        for recipient in [bob.id, Sample.identity().id] {
            for _ in 0..<50 {
                let signal = Sample.envelope(to: recipient, text: secret, ttl: 0)
                #expect(answer(sender, signal) == Self.accepted)
            }
        }
        for _ in 0..<50 { #expect(present.frame()?.type == "signal") }
        #expect(sender.ask(.send(Sample.envelope(to: bob.id, text: stored))) == .stored)
        guard kind == .sqlite else {
            let cluster = try #require(PostgresCluster.shared)
            cluster.sql("CHECKPOINT")
            #expect(!cluster.hasOnDisk(secret) && cluster.hasOnDisk(stored))
            #expect(relay.end() == 0)
            return
        }
        let files = ["relay.db", "relay.db-wal", "relay.db-shm"].map { place.scratch($0) }
        func isFound(_ text: String) -> Bool {
            files.contains {
                TemporaryDirectory.contents($0).firstRange(of: Array(text.utf8)) != nil
            }
        }
        #expect(!isFound(secret) && isFound(stored))
        #expect(relay.end() == 0)
        #expect(!isFound(secret) && isFound(stored))
    }

    @Test func theMetricsCountSignals() throws {
        let scratch = TemporaryDirectory()
        let relay = try #require(RelayProcess(scratch, ["--monitor", "127.0.0.1:0"]))
        let monitor = try #require(relay.monitor(scratch))
        let present = try consumer(RawClient(relay.address), bob)
        let sender = RawClient(relay.address)
        for recipient in [bob.id, Sample.identity().id, Sample.identity().id] {
            #expect(answer(sender, Sample.envelope(to: recipient, ttl: 0)) == Self.accepted)
        }
        #expect(present.frame()?.type == "signal")
        let text = try #require(HTTP.get(monitor, "/metrics")).body
        for line in [
            "sotto_relay_signals_total 3", "sotto_relay_signals_pushed_total 1",
            "sotto_relay_commit_seconds_count 0", "sotto_relay_stored_total 0",
        ] {
            #expect(text.contains(line + "\n"), "\(line)")
        }
        #expect(relay.end() == 0)
    }

    /// A consumer that reads nothing costs little memory, and does not delay others.
    @Test func aConsumerThatReadsNothingGetsNoMore() throws {
        let scratch = TemporaryDirectory()
        let relay = try #require(
            RelayProcess(scratch, ["--monitor", "127.0.0.1:0", "--connection-rate", "0"]))
        let monitor = try #require(relay.monitor(scratch))
        let carol = Sample.identity()
        let idle = try consumer(RawClient(relay.address), bob)
        let present = try consumer(RawClient(relay.address), carol)
        let sender = RawClient(relay.address)
        let long = String(repeating: "A", count: 60_000)
        for _ in 0..<1_000 {
            #expect(
                answer(sender, Sample.envelope(to: bob.id, text: long, ttl: 0)) == Self.accepted)
        }
        #expect(answer(sender, Sample.envelope(to: carol.id, ttl: 0)) == Self.accepted)
        #expect(present.frame()?.type == "signal")
        let text = try #require(HTTP.get(monitor, "/metrics")).body
        let pushed = text.split(separator: "\n").first {
            $0.hasPrefix("sotto_relay_signals_pushed_total ")
        }
        // The sockets take some megabytes.
        #expect(pushed.flatMap { Int($0.split(separator: " ")[1]) } ?? .max < 400)
        #expect(relay.end() == 0)
        withExtendedLifetime(idle) {}
    }

    @Test func httpAnswersAlike() throws {
        let running = try RunningRelay()
        let present = try consumer(running.client(), bob)
        for recipient in [bob.id, Sample.identity().id] {
            let body = Sample.envelope(to: recipient, ttl: 0).bytes
            let client = running.client()
            let head =
                "POST /api/messages HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.count)\r\n\r\n"
            client.send(Array(head.utf8) + body)
            var lines: [String] = []
            while let line = client.line() {
                lines.append(line)
                if line.hasPrefix("{") { break }
            }
            #expect(lines.first?.contains(" 200 ") == true)
            #expect(lines.last == #"{"type":"accepted","request_id":"http","payload":{}}"#)
        }
        #expect(present.frame()?.type == "signal")
    }
}
