import Glibc
import Sotto
import SottoDatabase
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// One network cannot use all connections.
@Suite(.timeLimit(.minutes(60))) struct NetworkLimitTests {
    /// The counts of invented addresses.
    final class Networks {
        private var counted: NetworkConnections
        /// Seconds, which pass only when a test says so.
        var now = 0.0

        init(limit: Int, rate: Double = 1) {
            counted = NetworkConnections(limit: limit, rate: rate)
        }

        /// The number of networks with counted connections.
        var count: Int { counted.counts.count }

        func admits(_ address: String?) -> Bool { counted.admit(address, at: now) }

        func release(_ address: String) { counted.release(address) }
    }

    @Test func aNetworkIsA24OrA64() {
        let networks = Networks(limit: 2)
        #expect(networks.admits("192.0.2.1"))
        #expect(networks.admits("192.0.2.200"))
        #expect(!networks.admits("192.0.2.7"))
        // The same network, mapped into IPv6, and other networks.
        #expect(!networks.admits("::ffff:192.0.2.9"))
        #expect(networks.admits("192.0.3.1"))
        #expect(networks.admits("2001:db8:1:1::1"))
        #expect(networks.admits("2001:db8:1:1:ffff::1"))
        #expect(!networks.admits("2001:db8:1:1::2"))
        #expect(networks.admits("2001:db8:1:2::1"))
    }

    @Test func anEndedConnectionFreesItsPlace() {
        let networks = Networks(limit: 1)
        let (one, other) = ("198.51.100.1", "198.51.100.2")
        #expect(networks.admits(one))
        #expect(!networks.admits(other))
        networks.release(one)
        #expect(networks.count == 0)
        networks.now = 1
        #expect(networks.admits(other))
        networks.release(other)
        networks.now = 2
        // A release without a connection changes nothing.
        networks.release(other)
        #expect(networks.admits(one))
        #expect(!networks.admits(other))
    }

    @Test func loopbackIsExempt() {
        let networks = Networks(limit: 1)
        for text in ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"] {
            for _ in 0..<3 { #expect(networks.admits(text), "\(text)") }
        }
        #expect(networks.count == 0)
    }

    @Test func newConnectionsOfANetworkAreLimitedInRate() {
        let networks = Networks(limit: 3, rate: 2)
        let address = "198.51.100.1"
        func reconnects() -> Bool {
            guard networks.admits(address) else { return false }
            networks.release(address)
            return true
        }
        for _ in 0..<3 { #expect(reconnects()) }
        #expect(!reconnects())
        #expect(networks.admits("203.0.113.1"))
        networks.now = 0.5
        #expect(reconnects() && !reconnects())
        // Time gives back no more than the network's share.
        networks.now = 100
        for _ in 0..<3 { #expect(reconnects()) }
        #expect(!reconnects())
    }

    @Test func aNetworkThatReconnectsTooOftenIsBusy() throws {
        let running = try RunningRelay {
            $0.maximumConnections = 16
            $0.networkRate = 0.001
            $0.limitsLoopback = true
        }
        for _ in 0..<4 { #expect(running.client().ask(.ping) == .pong) }
        let fifth = running.client()
        #expect(fifth.response() == .error(Refusal(.busy)))
        #expect(fifth.line() == nil)
    }

    /// A connection over the limit gets `busy`; an ended one frees its place.
    @Test func aNetworkKeepsToItsShare() throws {
        let running = try RunningRelay {
            $0.maximumConnections = 8
            $0.limitsLoopback = true
        }
        var first: RawClient? = running.client()
        let second = running.client()
        #expect(first?.ask(.ping) == .pong && second.ask(.ping) == .pong)
        let busy = Response.error(Refusal(.busy))
        let third = running.client()
        #expect(third.response() == busy)
        #expect(third.line() == nil)
        first = nil
        // The relay notices the end of the first a moment later.
        let deadline = Monotonic.seconds() + 20
        var answer: Response?
        repeat {
            answer = running.client().ask(.ping)
        } while answer != .pong
            && Monotonic.seconds() < deadline
        #expect(answer == .pong)
    }

    @Test func anExemptMachineMayUseAllConnections() throws {
        let running = try RunningRelay { $0.maximumConnections = 8 }
        let clients = (0..<8).map { _ in running.client() }
        for client in clients { #expect(client.ask(.ping) == .pong) }
        #expect(running.client().response() == .error(Refusal(.busy)))
    }
}
