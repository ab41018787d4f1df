import TestSupport
import Testing

/// What a relay says about its addresses when it starts.
struct RelayAddressTests {
    private func log(_ options: String...) throws -> [String] {
        let scratch = TemporaryDirectory()
        let relay = try #require(RelayProcess(scratch, options))
        relay.end()
        return scratch.lines("relay.log")
    }

    @Test func theWholeAddressIsPrinted() throws {
        let local = try log()
        #expect(local.contains { $0.hasPrefix("relay: address for its users: tcp://127.0.0.1:") })
        #expect(!local.contains { $0.contains("no TLS") }, "\(local)")
        let plain = try log("--name", "relay.example.org:7667")
        #expect(plain.contains("relay: address for its users: tcp://relay.example.org:7667"))
        #expect(
            plain.contains { $0.hasPrefix("relay: warning: relay.example.org:7667 has no TLS: ") })
        let files = TemporaryDirectory()
        let safe = try log(
            "--name", "relay.example.org:7667", "--tls-cert", files("cert.pem"), "--tls-key",
            files("key.pem"), "--tls-self-signed")
        let start = "relay: address for its users: tls://relay.example.org:7667#sha256="
        #expect(safe.contains { $0.hasPrefix(start) && $0.utf8.count == start.utf8.count + 64 })
        #expect(!safe.contains { $0.contains("warning: ") }, "\(safe)")
        let both = try log(
            "--name", "relay.example.org:7667", "--tls-cert", files("cert.pem"), "--tls-key",
            files("key.pem"), "--allow-plain")
        #expect(
            both.contains {
                $0.hasPrefix(
                    "relay: warning: relay.example.org:7667 accepts connections without TLS: ")
            }, "\(both)")
    }
}
