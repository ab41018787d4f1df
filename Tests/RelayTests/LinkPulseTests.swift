import Dispatch
import Glibc
import NIOCore
import SottoWire
import Synchronization
import TestSupport
import Testing

@testable import SottoClient

/// When a client asks a relay for a sign of life, and when it gives a connection up.
@Suite struct LinkPulseTests {
    private func at(_ seconds: Int64) -> NIODeadline {
        .uptimeNanoseconds(1_000_000_000) + .seconds(seconds)
    }

    @Test func aFrozenLinkIsLostAfter30Seconds() {
        var pulse = LinkPulse(at: at(0))
        #expect(pulse.step(at: at(0)) == .wait(until: at(20)))
        #expect(pulse.step(at: at(20)) == .ping(until: at(30)))
        #expect(pulse.step(at: at(29)) == .wait(until: at(30)))
        #expect(pulse.step(at: at(30)) == .lost)
    }

    @Test func anAnswerToThePingBeginsAnew() {
        var pulse = LinkPulse(at: at(0))
        #expect(pulse.step(at: at(20)) == .ping(until: at(30)))
        pulse.heard(at: at(21))
        #expect(pulse.step(at: at(30)) == .wait(until: at(41)))
        #expect(pulse.step(at: at(41)) == .ping(until: at(51)))
        #expect(pulse.step(at: at(51)) == .lost)
    }

    @Test func aBusyLinkSendsNoPing() {
        var pulse = LinkPulse(at: at(0))
        for second in Int64(1)...1_000 {
            if second % 19 == 0 { pulse.heard(at: at(second)) }
            guard case .wait(let until) = pulse.step(at: at(second)) else {
                Issue.record("a ping after \(second) s")
                return
            }
            #expect(until > at(second))
        }
    }

    /// The connection is open, and nothing passes any more. WebSocket had no ping at all.
    @Test(arguments: ["tcp", "ws", "tls", "wss"])
    func aLinkThatPassesNothingIsClosed(_ scheme: String) throws {
        let scratch = TemporaryDirectory()
        let running = try #require(
            RelayProcess(
                scratch,
                [
                    "--tls-cert", scratch("cert.pem"), "--tls-key", scratch("key.pem"),
                    "--tls-self-signed",
                ]))
        defer { running.end() }
        let proxy = FreezingProxy(to: running.address)
        let relay = try RelayURL("\(scheme)://\(proxy.address)").acceptingAnyCertificate
        let events = EventQueue<RelayLink.Event>()
        let connected = EventQueue<Result<RelayLink, ClientError>>()
        RelayLink.connect(
            to: relay, group: RelayLink.makeGroup(), quiet: .milliseconds(50),
            patience: .seconds(3)
        ) {
            events.put($0)
        } isFull: {
            false
        } done: {
            connected.put($0)
        }
        let link = try #require(connected.take(timeout: 30).first).get()
        // Some pings and their answers pass, and nothing else does.
        proxy.awaitPassing(8)
        proxy.freeze()
        guard case .closed(.lost)? = events.take(timeout: 60).first else {
            Issue.record("the link is still open")
            return
        }
        link.close()
    }
}

/// A proxy that can stop to pass bytes while its connections stay open.
private final class FreezingProxy: Sendable {
    private let server: HostileRelay
    private let state: State

    /// The state that the threads share.
    private final class State: Sendable {
        let isFrozen = Atomic(false)
        let passed = EventQueue<Int>()
    }

    var address: String { server.address }

    /// Waits until it has passed bytes on this many times from now, for at most a minute each.
    func awaitPassing(_ count: Int) {
        _ = state.passed.take(timeout: 0)
        var seen = 0
        while seen < count {
            let passed = state.passed.take(timeout: 60)
            guard !passed.isEmpty else {
                Issue.record("nothing passes")
                return
            }
            seen += passed.count
        }
    }

    init(to address: String) {
        let state = State()
        self.state = state
        let port = UInt16(address.split(separator: ":").last ?? "") ?? 0
        server = HostileRelay { connection in
            let upstream = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            defer { close(upstream) }
            var name = HTTP.loopback(port)
            let size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isConnected = withUnsafeMutablePointer(to: &name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(upstream, $0, size) == 0
                }
            }
            guard isConnected else { return }
            let ended = DispatchSemaphore(value: 0)
            DispatchQueue(label: "proxy back").async {
                Self.pass(from: upstream, to: connection.descriptor, state)
                shutdown(connection.descriptor, Int32(SHUT_RDWR))
                ended.signal()
            }
            Self.pass(from: connection.descriptor, to: upstream, state)
            shutdown(upstream, Int32(SHUT_RDWR))
            ended.wait()
        }
    }

    /// Drops all later bytes.
    func freeze() { state.isFrozen.store(true, ordering: .relaxed) }

    private static func pass(from source: Int32, to target: Int32, _ state: State) {
        var block = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = read(source, &block, block.count)
            guard count > 0 else { return }
            if state.isFrozen.load(ordering: .relaxed) { continue }
            state.passed.put(count)
            guard HostileRelay.Connection(descriptor: target).write(Array(block[..<count])) else {
                return
            }
        }
    }
}
