import Glibc
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// The wake-ups of a relay.
@Suite struct WakeTests {
    let scratch = TemporaryDirectory()
    let bob = Sample.identity()

    /// Waits until a condition holds; the test fails after 20 s.
    func until(_ condition: () -> Bool) {
        let deadline = Monotonic.seconds() + 20
        while !condition() {
            guard Monotonic.seconds() < deadline else {
                Issue.record("timed out")
                return
            }
            usleep(2_000)
        }
    }

    /// A command that writes its environment to a file.
    var note: String {
        "sh -c 'echo $SOTTO_MAILBOX $SOTTO_COUNT >> \(scratch("woken"))'"
    }

    func start(_ options: [String]) throws -> (relay: RelayProcess, monitor: String) {
        let relay = try #require(RelayProcess(scratch, ["--monitor", "127.0.0.1:0"] + options))
        return (relay, try #require(relay.monitor(scratch)))
    }

    func metric(_ name: String, _ monitor: String) -> Int {
        let line = (HTTP.get(monitor, "/metrics")?.body ?? "").split(separator: "\n")
            .first { $0.hasPrefix("sotto_relay_\(name) ") }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? -1
    }

    @Test func aCommandGetsTheMailboxAndTheCount() throws {
        let (relay, monitor) = try start(["--wake", note])
        let client = RawClient(relay.address)
        let envelope = Sample.envelope(to: bob.id)
        #expect(client.ask(.send(envelope)) == .stored)
        until { scratch.lines("woken") == ["\(bob.id) 1"] }
        #expect(client.ask(.send(envelope)) == .duplicate)
        until { metric("wakeups_total", monitor) == 1 }
        #expect(relay.end() == 0)
        #expect(scratch.lines("woken").count == 1)
    }

    @Test func laterMessagesAreAnnouncedTogether() throws {
        let (relay, _) = try start(["--wake", note, "--wake-every", "1"])
        let client = RawClient(relay.address)
        let other = Sample.identity()
        #expect(client.ask(.send(Sample.envelope(to: bob.id))) == .stored)
        for _ in 0..<3 { #expect(client.ask(.send(Sample.envelope(to: bob.id))) == .stored) }
        #expect(client.ask(.send(Sample.envelope(to: other.id))) == .stored)
        until { scratch.lines("woken").count == 3 }
        let lines = scratch.lines("woken")
        #expect(Set(lines) == ["\(bob.id) 1", "\(bob.id) 3", "\(other.id) 1"])
        #expect(lines.last == "\(bob.id) 3")
        #expect(relay.end() == 0)
    }

    @Test func aSubscribedMailboxIsNotAnnounced() throws {
        let (relay, monitor) = try start(["--wake", note, "--wake-every", "1"])
        let consumer = RawClient(relay.address)
        guard case .session = consumer.login(bob) else {
            Issue.record("no session")
            return
        }
        #expect(consumer.ask(.subscribe()) == .subscribed)
        let client = RawClient(relay.address)
        #expect(client.ask(.send(Sample.envelope(to: bob.id))) == .stored)
        // The next mailbox is announced, so an announcement of the first would have come before.
        let other = Sample.identity()
        #expect(client.ask(.send(Sample.envelope(to: other.id))) == .stored)
        until { scratch.lines("woken") == ["\(other.id) 1"] }
        #expect(metric("wakeups_failed_total", monitor) == 0)
        #expect(relay.end() == 0)
        #expect(scratch.lines("woken") == ["\(other.id) 1"])
    }

    @Test func fetchedMailIsNotAnnounced() throws {
        let (relay, monitor) = try start(["--wake", note, "--wake-every", "4"])
        let client = RawClient(relay.address)
        for _ in 0..<3 { #expect(client.ask(.send(Sample.envelope(to: bob.id))) == .stored) }
        do {
            let consumer = RawClient(relay.address)
            guard case .session = consumer.login(bob) else {
                Issue.record("no session")
                return
            }
            #expect(consumer.ask(.subscribe()) == .subscribed)
        }
        until { metric("consumers", monitor) == 0 }
        for _ in 0..<4 { #expect(client.ask(.send(Sample.envelope(to: bob.id))) == .stored) }
        until { scratch.lines("woken").count == 2 }
        #expect(scratch.lines("woken") == ["\(bob.id) 1", "\(bob.id) 4"])
        #expect(relay.end() == 0)
    }

    @Test func aCommandThatFailsIsCountedAndNothingWaits() throws {
        let (relay, monitor) = try start(["--wake", "false"])
        let client = RawClient(relay.address)
        for _ in 0..<20 {
            #expect(client.ask(.send(Sample.envelope(to: Sample.identity().id))) == .stored)
        }
        until { metric("wakeups_failed_total", monitor) == 20 }
        #expect(metric("wakeups_total", monitor) == 0)
        #expect(relay.end() == 0)
    }

    @Test func atMostEightRunAtOnceAndTheEndOfTheRelayEndsThem() throws {
        let slow = "sh -c 'echo $$ >> \(scratch("woken")); exec sleep 1000'"
        let (relay, monitor) = try start(["--wake", slow])
        let client = RawClient(relay.address)
        for _ in 0..<20 {
            #expect(client.ask(.send(Sample.envelope(to: Sample.identity().id))) == .stored)
        }
        until { scratch.lines("woken").count == 8 }
        #expect(metric("stored_total", monitor) == 20)
        #expect(relay.end() == 0)
        let processes = scratch.lines("woken").compactMap { pid_t($0) }
        #expect(processes.count == 8)
        until { processes.allSatisfy { kill($0, 0) != 0 } }
    }

    @Test func aSlowWakeUpIsAborted() throws {
        let silent = HTTPListener()
        let running = try RunningRelay { plan in
            var wake = WakePlan(
                methods: [
                    .command(["sh", "-c", "echo $$ >> \(scratch("woken")); sleep 1000; :"]),
                    .post(try! WakeAddress("http://127.0.0.1:\(silent.port)")),
                ], every: 60)
            wake.timeout = 0.5
            plan.operations.wake = wake
            plan.operations.monitor = RelayURL(host: "127.0.0.1", port: 0)
        }
        let monitor = try #require(running.relay.monitorAddress)
        #expect(running.client().ask(.send(Sample.envelope(to: bob.id))) == .stored)
        until { metric("wakeups_failed_total", monitor) == 2 }
        let process = try #require(scratch.lines("woken").first.flatMap { pid_t($0) })
        until { kill(process, 0) != 0 }
    }

    @Test func aCommandInheritsNoDescriptors() throws {
        let look =
            "sh -c 'cat; ls -l /proc/self/fd > \(scratch("open")); echo >> \(scratch("woken"))'"
        let (relay, _) = try start(["--wake", look])
        #expect(RawClient(relay.address).ask(.send(Sample.envelope(to: bob.id))) == .stored)
        until { scratch.lines("woken").count == 1 }
        let open = scratch.lines("open").joined(separator: "\n")
        #expect(!open.contains("relay.db") && !open.contains("socket:"), "\(open)")
        // The links are 0 to 2, and 3 for the folder that `ls` reads.
        #expect(scratch.lines("open").count { $0.contains("->") } <= 4, "\(open)")
        #expect(relay.end() == 0)
    }

    @Test func aWakeUpIsPosted() throws {
        let listener = HTTPListener()
        let (relay, monitor) = try start([
            "--wake-url", "http://127.0.0.1:\(listener.port)/wake?key=1",
        ])
        let client = RawClient(relay.address)
        #expect(client.ask(.send(Sample.envelope(to: bob.id))) == .stored)
        let request = try #require(listener.request())
        #expect(request.line == "POST /wake?key=1 HTTP/1.1")
        #expect(request.body == #"{"mailbox":"\#(bob.id)","count":1}"#)
        until { metric("wakeups_total", monitor) == 1 }
        let other = Sample.identity()
        #expect(client.ask(.send(Sample.envelope(to: other.id))) == .stored)
        _ = listener.request(answering: 500)
        until { metric("wakeups_failed_total", monitor) == 1 }
        #expect(relay.end() == 0)
    }

    @Test func ntfyGetsItsTopicAndAText() throws {
        let listener = HTTPListener()
        let (relay, _) = try start([
            "--wake-url", "ntfy+http://127.0.0.1:\(listener.port)/secret",
        ])
        #expect(RawClient(relay.address).ask(.send(Sample.envelope(to: bob.id))) == .stored)
        let request = try #require(listener.request())
        #expect(request.line == "POST /secret-\(bob.id.description.prefix(16)) HTTP/1.1")
        #expect(request.body == "1 new message")
        #expect(relay.end() == 0)
    }

    @Test func anUnreachableAddressIsCounted() throws {
        let port = HTTPListener().port
        let (relay, monitor) = try start(["--wake-url", "http://127.0.0.1:\(port)"])
        #expect(RawClient(relay.address).ask(.send(Sample.envelope(to: bob.id))) == .stored)
        until { metric("wakeups_failed_total", monitor) == 1 }
        #expect(relay.end() == 0)
    }

    @Test func invalidOptionsAreRefused() {
        for options in [
            ["--wake", ""], ["--wake", "sh -c 'open"], ["--wake-every", "0"],
            ["--wake-url", "ftp://a/b"], ["--wake-url", "http://a b/"],
            ["--wake-url", "http://a:0/"], ["--wake-url", "ntfy+http://a/"],
            ["--wake-url", "http://a/\r\nX: y"],
        ] {
            let status = ChildProcess.run(
                "relay", ["--listen", "127.0.0.1:0", "--store", scratch("r.db")] + options)
            #expect(status == 64, "\(options)")
        }
    }

    @Test func wordsAreSplitLikeAShell() {
        for (line, words) in [
            ("a b", ["a", "b"]), ("  a  'b c' ", ["a", "b c"]),
            (#"a "b \"c\" \d""#, ["a", #"b "c" \d"#]),
            (#"a\ b $c;d"#, ["a b", "$c;d"]), ("a ''", ["a", ""]),
            ("sh -c 'x \"$Y\"'", ["sh", "-c", "x \"$Y\""]),
        ] {
            #expect(WakePlan.words(of: line) == words, "\(line)")
        }
        for line in ["", " ", "'a", "a\\", "''"] { #expect(WakePlan.words(of: line) == nil) }
    }
}
