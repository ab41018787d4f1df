import Glibc
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import Synchronization
import TestSupport
import Testing

@testable import SottoServer

/// The monitor of a relay.
@Suite struct MonitorTests {
    let scratch = TemporaryDirectory()
    let bob = Sample.identity()

    /// Returns the value of a metric.
    func metric(_ name: String, in text: String) -> String? {
        text.split(separator: "\n").first { $0.hasPrefix("sotto_relay_\(name) ") }
            .flatMap { $0.split(separator: " ").last.map(String.init) }
    }

    @Test func theMetricsCountEvents() throws {
        let relay = try #require(RelayProcess(scratch, ["--monitor", "127.0.0.1:0"]))
        let monitor = try #require(relay.monitor(scratch))
        #expect(HTTP.get(monitor, "/healthz")?.status == 200)
        #expect(HTTP.get(monitor, "/healthz")?.body == "ok\n")
        let client = RawClient(relay.address)
        let envelope = Sample.envelope(to: bob.id)
        #expect(client.ask(.send(envelope)) == .stored)
        #expect(client.ask(.send(envelope)) == .duplicate)
        #expect(client.ask(.fetch(max: 1, after: 0, dead: false)) != nil)
        #expect(client.ask(.login(Login(key: bob.signingKey, nonce: [0], relay: "x"))) != nil)
        let consumer = RawClient(relay.address)
        guard case .session = consumer.login(bob) else {
            Issue.record("no session")
            return
        }
        #expect(consumer.ask(.subscribe()) == .subscribed)
        let text = try #require(HTTP.get(monitor, "/metrics")).body
        for (name, value) in [
            ("connections_total", "2"), ("stored_total", "1"), ("duplicates_total", "1"),
            ("refused_total", "2"), ("logins_failed_total", "1"), ("connections_open", "2"),
            ("consumers", "1"), ("queue_length", "0"), ("healthy", "1"),
            ("stored_bytes_total", "\(envelope.bytes.count)"),
            ("commit_seconds_count", "2"), ("commit_seconds_bucket{le=\"+Inf\"}", "2"),
        ] {
            #expect(metric(name, in: text) == value, "\(name)")
        }
        #expect(metric("store_free_bytes", in: text).flatMap { Int($0) } ?? 0 > 0)
        #expect(!text.contains(bob.id.description) && !text.contains(envelope.id))
        #expect(!text.contains("127.0.0.1"))
        #expect(relay.end() == 0)
    }

    @Test func theMetricsAreInPrometheusFormat() throws {
        let relay = try #require(RelayProcess(scratch, ["--monitor", "127.0.0.1:0"]))
        let monitor = try #require(relay.monitor(scratch))
        let text = try #require(HTTP.get(monitor, "/metrics")).body
        #expect(text.hasSuffix("\n"))
        var declared: Set<String> = []
        for line in text.split(separator: "\n") {
            if let match = line.firstMatch(
                of: #/^# TYPE (sotto_relay_[a-z_]+) (counter|gauge|histogram)$/#)
            {
                #expect(declared.insert(String(match.1)).inserted, "\(line)")
            } else if !line.hasPrefix("# HELP sotto_relay_") {
                let match = line.wholeMatch(
                    of:
                        #/(sotto_relay_[a-z_]+?)(_bucket\{le="[0-9.+Inf]+"\}|_sum|_count)? [0-9.e-]+/#
                )
                #expect(match.map { declared.contains(String($0.1)) } == true, "\(line)")
            }
        }
        #expect(declared.count >= 15)
        #expect(relay.end() == 0)
    }

    @Test func otherPathsAndMethodsAreRefused() throws {
        let relay = try #require(RelayProcess(scratch, ["--monitor", "127.0.0.1:0"]))
        let monitor = try #require(relay.monitor(scratch))
        #expect(HTTP.get(monitor, "/")?.status == 404)
        #expect(HTTP.get(monitor, "/metrics?x=1")?.status == 200)
        #expect(HTTP.get(monitor, "/metrics", method: "POST")?.status == 405)
        #expect(HTTP.get(monitor, "/healthz", method: "HEAD")?.body == "")
        #expect(HTTP.get(monitor, "\u{1}\u{2}")?.status ?? 400 == 400)
        #expect(HTTP.get(monitor, "/healthz")?.status == 200)
        #expect(relay.end() == 0)
    }

    @Test func aFullRelayStillAnswersItsMonitor() throws {
        let relay = try #require(
            RelayProcess(scratch, ["--monitor", "127.0.0.1:0", "--max-connections", "1"]))
        let monitor = try #require(relay.monitor(scratch))
        let client = RawClient(relay.address)
        #expect(client.ask(.ping) == .pong)
        #expect(HTTP.get(monitor, "/healthz")?.status == 200)
        #expect(relay.end() == 0)
    }

    @Test func monitorConnectionsAreLimited() throws {
        let relay = try #require(RelayProcess(scratch, ["--monitor", "127.0.0.1:0"]))
        let monitor = try #require(relay.monitor(scratch))
        do {
            let idle = (0..<Monitor.connectionLimit).map { _ in RawClient(monitor) }
            // One connection too many is closed without an answer.
            #expect(RawClient(monitor).line() == nil)
            withExtendedLifetime(idle) {}
        }
        let deadline = Monotonic.seconds() + 20
        while HTTP.get(monitor, "/healthz") == nil, Monotonic.seconds() < deadline {}
        #expect(HTTP.get(monitor, "/healthz")?.status == 200)
        #expect(relay.end() == 0)
    }

    @Test func aPublicMonitorAddressIsRefused() {
        for address in ["0.0.0.0:0", "[::]:0", "relay.example.org:1", "127.example.org:1"] {
            #expect(run(["--monitor", address]) == 78, "\(address)")
        }
        #expect(run(["--monitor", "nonsense"]) == 64)
        #expect(run(["--monitor-anywhere"]) == 64)
    }

    @Test func anAddressInUseIsAFailure() throws {
        let relay = try #require(RelayProcess(scratch))
        let other = TemporaryDirectory()
        let status = ChildProcess.run(
            "relay",
            [
                "--listen", "127.0.0.1:0", "--store", other("relay.db"), "--monitor",
                relay.address,
            ], errors: other("errors"))
        #expect(status == 78)
        #expect(other.lines("errors").first?.contains("it is in use") == true)
        #expect(relay.end() == 0)
    }

    private func run(_ options: [String]) -> Int32 {
        ChildProcess.run(
            "relay", ["--listen", "127.0.0.1:0", "--store", scratch("relay.db")] + options)
    }

    // MARK: Health

    @Test func aFullStoreIsUnhealthyUntilItStoresAgain() throws {
        var configuration = RelayConfiguration(
            listen: RelayURL(host: "127.0.0.1", port: 0), store: scratch("relay.db"))
        configuration.operations.monitor = RelayURL(host: "127.0.0.1", port: 0)
        let store = StubStore()
        let relay = try Relay(configuration, store: store) { Issue.record("failed: \($0)") }
        defer { try? relay.stop() }
        let monitor = try #require(relay.monitorAddress)
        let client = RawClient(relay.address)
        #expect(HTTP.get(monitor, "/healthz")?.status == 200)
        store.outcome.withLock { $0 = .diskFull }
        #expect(client.ask(.send(Sample.envelope(to: bob.id))) == .deferred(Refusal(.diskFull)))
        #expect(HTTP.get(monitor, "/healthz")?.status == 503)
        let text = HTTP.get(monitor, "/metrics")?.body ?? ""
        #expect(metric("healthy", in: text) == "0")
        #expect(metric("deferred_total", in: text) == "1")
        store.outcome.withLock { $0 = .stored }
        #expect(client.ask(.send(Sample.envelope(to: bob.id))) == .stored)
        #expect(HTTP.get(monitor, "/healthz")?.status == 200)
    }

    @Test func aSlowCommitIsUnhealthy() throws {
        let times = CommitTimes()
        let now = Monotonic.seconds()
        try times.measure { () throws(StoreError) in
            #expect(times.health(at: now + 5) == .good)
            #expect(times.health(at: now + 60) == .slow)
        }
        #expect(times.health(at: now + 60) == .good)
        times.note([.acknowledged(removed: 1), .diskFull])
        #expect(times.health(at: now + 5) == .full)
        // An acknowledgement does not show whether there is space for messages.
        times.note([.acknowledged(removed: 1)])
        #expect(times.health(at: now + 5) == .full)
        #expect(times.health(at: now + 600) == .good)
        times.noteFailure()
        #expect(times.health(at: now + 600) == .failed)
        #expect(times.histogram.counts.reduce(0, +) == 1)
    }

    /// The operator is told once that the store is full, and once that it has space again.
    @Test func aFullStoreIsToldOnce() {
        let times = CommitTimes()
        #expect(times.note([.stored], at: 1_000) == nil)
        #expect(times.note([.stored, .diskFull], at: 1_001) == .storeFull)
        // On a disk that is nearly full, short messages are stored in between.
        for second in 0..<100 {
            #expect(times.note([.stored], at: 1_002 + Double(second)) == nil)
            #expect(times.note([.diskFull], at: 1_002.5 + Double(second)) == nil)
        }
        #expect(times.note([.acknowledged(removed: 9)], at: 1_900) == nil)
        #expect(times.note([.stored], at: 1_901) == .storeUsable)
        #expect(times.note([.stored], at: 1_902) == nil)
        #expect(times.note([.diskFull], at: 1_903) == .storeFull)
    }

    /// A read that fails because the server of the database has no space ended the relay.
    @Test func aReadWithoutSpaceEndsNothing() throws {
        let relay = try Relay(
            RelayConfiguration(listen: RelayURL(host: "127.0.0.1", port: 0), store: ""),
            store: StubStore(readFailure: .full(name: "database"))
        ) { Issue.record("failed: \($0)") }
        defer { try? relay.stop() }
        let client = RawClient(relay.address)
        #expect(client.ask(.lookup(bob.id)) == .deferred(Refusal(.diskFull)))
        #expect(client.ask(.room(bob.id)) == .deferred(Refusal(.diskFull)))
        #expect(client.ask(.send(Sample.envelope(to: bob.id))) == .stored)
    }

    @Test func theHistogramCountsEachTimeOnce() {
        var histogram = CommitTimes.Histogram()
        for seconds in [0, 0.0005, 0.0006, 9.9, 10, 11] { histogram.add(seconds) }
        #expect(histogram.counts.first == 2 && histogram.counts[1] == 1)
        #expect(histogram.counts.suffix(2) == [2, 1])
    }
}
