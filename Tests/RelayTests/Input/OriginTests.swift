import Sotto
import SottoState
import SottoWire
import TestSupport
import Testing

@testable import SottoServer

/// Web pages of other hosts cannot use a relay.
@Suite(.timeLimit(.minutes(60))) struct OriginTests {
    static let foreign = [
        "http://evil.example", "https://evil.example:7667", "null", "http://127.0.0.1", "",
        "http://127.0.0.1:1", "file://", "http://evil.example/127.0.0.1", "ws://127.0.0.1:7667",
    ]

    static func post(_ path: String, _ origins: [String], _ body: [UInt8]) -> [UInt8] {
        let headers = origins.map { "Origin: \($0)\r\n" }.joined()
        let head =
            "POST \(path) HTTP/1.1\r\nHost: x\r\n\(headers)Content-Type: text/plain\r\n"
            + "Content-Length: \(body.count)\r\n\r\n"
        return Array(head.utf8) + body
    }

    static func handshake(_ origin: String) -> String {
        let (head, rest) = ("GET / HTTP/1.1\r\n", TransportClient.handshake.dropFirst(16))
        return head + "Origin: \(origin)\r\n" + rest
    }

    @Test func aForeignPageStoresNothing() throws {
        let running = try RunningRelay()
        let bob = Sample.identity()
        let envelope = Sample.envelope(to: bob.id)
        let own = "http://" + running.relay.address
        for origins in Self.foreign.map({ [$0] }) + [[own, "http://evil.example"]] {
            let client = TransportClient(.http, running.relay.address)
            client.send(Self.post("/api/messages", origins, envelope.bytes))
            let refused = BadFrameTests.refusal(.foreignOrigin, by: .http)
            #expect(client.receive() == refused, "\(origins)")
            #expect(client.receive() == .end)
        }
        let reader = running.client()
        #expect(reader.login(bob)?.isSession == true)
        #expect(reader.ask(.fetch(max: 9, after: 0, dead: false)) == .messages([], more: false))
    }

    @Test func aForeignPageOpensNoWebSocket() throws {
        let running = try RunningRelay()
        for origin in Self.foreign {
            let client = TransportClient(.ws, running.relay.address, raw: true)
            client.send(Self.handshake(origin))
            #expect(client.line()?.hasPrefix("HTTP/1.1 403") == true, "\(origin)")
        }
    }

    @Test func pagesOfTheRelayAndAllowedOnesAreServed() throws {
        let running = try RunningRelay {
            $0.names = ["relay.example.org:443"]
            $0.allowedOrigins = ["https://chat.example.org"]
        }
        let origins = [
            "http://" + running.relay.address, "https://relay.example.org",
            "https://chat.example.org", "HTTPS://Chat.Example.org",
        ]
        for origin in origins {
            let client = TransportClient(.http, running.relay.address)
            client.send(Self.post("/api/frames", [origin], Array(#"{"type":"ping"}"#.utf8)))
            #expect(client.receive() == BadFrameTests.pong(.http), "\(origin)")
            let page = TransportClient(.ws, running.relay.address, raw: true)
            page.send(Self.handshake(origin))
            #expect(page.line()?.hasPrefix("HTTP/1.1 101") == true, "\(origin)")
        }
    }

    @Test func anOriginIsAHostAndAPort() {
        #expect(WebOrigins.name(of: "http://a.example") == "a.example:80")
        #expect(WebOrigins.name(of: "https://a.example") == "a.example:443")
        #expect(WebOrigins.name(of: "https://a.example:7667") == "a.example:7667")
        #expect(WebOrigins.name(of: "http://[::1]") == "[::1]:80")
        #expect(WebOrigins.name(of: "http://[::1]:7667") == "[::1]:7667")
        for origin in ["null", "", "https://", "file://a", "http://a/b"] {
            #expect(WebOrigins.name(of: origin) == nil, "\(origin)")
        }
    }

    @Test func theOptionAcceptsOnlyOrigins() {
        let scratch = TemporaryDirectory()
        for origin in ["chat.example.org", "https://chat.example.org/", "*"] {
            let status = ChildProcess.run(
                "relay", ["--store", scratch("r.db"), "--allow-origin", origin])
            #expect(status == 64, "\(origin)")
        }
    }
}
