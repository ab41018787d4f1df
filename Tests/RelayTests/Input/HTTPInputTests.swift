import Sotto
import TestSupport
import Testing

@testable import SottoServer
@testable import SottoWire

/// Valid and invalid HTTP, plain and over TLS.
@Suite(.timeLimit(.minutes(60))) struct HTTPInputTests {
    typealias Scheme = RelayURL.Scheme

    static let schemes = [Scheme.http, .https]
    static let ping = #"{"type":"ping"}"#
    static let good = TransportClient.post("/api/frames", ping.utf8.count) + ping

    static func post(_ headers: String, _ body: String = ping) -> String {
        "POST /api/frames HTTP/1.1\r\nHost: x\r\n\(headers)\r\n\(body)"
    }

    /// Invalid HTTP, or HTTP that the relay does not serve: refused, and the connection closes.
    static let wrong: [(name: String, request: String, status: Int)] = [
        ("an invalid chunk size", post("Transfer-Encoding: chunked\r\n", "zz\r\n"), 400),
        (
            "two kinds of length",
            post("Content-Length: 15\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400
        ),
        ("a negative length", post("Content-Length: -1\r\n"), 400),
        ("a length in words", post("Content-Length: many\r\n"), 400),
        ("a length beyond numbers", post("Content-Length: 99999999999999999999999\r\n"), 400),
        ("two lengths", post("Content-Length: 15\r\nContent-Length: 16\r\n"), 400),
        // The relay does not wait for the body.
        ("a length over the limit", post("Content-Length: 98305\r\n", ""), 413),
        ("a terabyte", post("Content-Length: 1000000000000\r\n", ""), 413),
        (
            "a terabyte, with Expect",
            post("Content-Length: 1000000000000\r\nExpect: 100-continue\r\n", ""), 413
        ),
        (
            "chunks over the limit",
            post(
                "Transfer-Encoding: chunked\r\n",
                String(
                    repeating: "4000\r\n" + String(repeating: " ", count: 16_384) + "\r\n", count: 7
                )
                    + "0\r\n\r\n"), 413
        ),
        ("a long header", "GET / HTTP/1.1\r\nX: \(String(repeating: "a", count: 200_000))", 400),
        ("many headers", "GET / HTTP/1.1\r\n" + String(repeating: "X: a\r\n", count: 40_000), 400),
        ("a long address", "GET /\(String(repeating: "a", count: 200_000)) HTTP/1.1\r\n", 400),
        ("NUL in a header", "GET / HTTP/1.1\r\nA: \0\r\n\r\n", 400),
        ("no words", "A\r\n\r\n", 400), ("unknown words", "GARBAGE\r\n\r\n", 400),
        ("an unknown method", "BREW /api/messages HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        ("HTTP/3.1", "GET / HTTP/3.1\r\n\r\n", 400), ("HTTP/0.9", "GET /\r\n\r\n", 400),
    ]

    static func status(_ received: TransportClient.Received) -> Int? {
        if case .frame(_, let status) = received { status } else { nil }
    }

    @Test(arguments: schemes) func invalidHTTPIsRefusedAndCloses(_ scheme: Scheme) throws {
        let running = try BadFrameTests.relay()
        for (name, request, status) in Self.wrong {
            // As the first request, and as a later one.
            for isFirst in [true, false] {
                let client = TransportClient(scheme, running.relay.address)
                if !isFirst { #expect(client.ask(Self.ping) == BadFrameTests.pong(scheme)) }
                client.send(request)
                let received = client.receive()
                #expect(Self.status(received) == status, "\(name), \(isFirst): \(received)")
                // Input behind the first error may be refused as well; then the connection ends.
                var next = client.receive()
                if next != .end { next = client.receive() }
                #expect(next == .end, "\(name), \(isFirst): \(next)")
            }
        }
    }

    /// The request is refused, and the next request on the connection is served.
    @Test(arguments: schemes) func unknownPathsKeepTheConnectionOpen(_ scheme: Scheme) throws {
        let running = try BadFrameTests.relay()
        let client = TransportClient(scheme, running.relay.address)
        for (line, status) in [
            ("GET /", 404), ("GET /api", 404), ("GET /api/messages/poll/", 404),
            ("POST /api/messages%2Fack", 404), ("OPTIONS *", 404), ("GET /api/messages", 405),
            ("DELETE /api/messages", 405), ("POST /api/messages/poll", 405),
            ("GET /api/messages/ack", 405), ("PUT /api/frames", 405),
            ("GET /api/messages/poll?max=101", 400), ("GET /api/messages/poll?max=-1", 400),
            ("GET /api/messages/poll?max=1&max=1", 400), ("GET /api/messages/poll?id=x", 400),
            ("GET /api/messages/poll?%zz", 400), ("POST /api/messages", 400),
            ("POST /api/frames", 400),
        ] {
            client.send("\(line) HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
            let received = client.receive()
            #expect(Self.status(received) == status, "\(line): \(received)")
            #expect(client.ask(Self.ping) == BadFrameTests.pong(scheme), "\(line)")
        }
        // The answer to HEAD has no body, so the next answer follows directly.
        client.send("HEAD /api/messages/poll HTTP/1.1\r\nHost: x\r\n\r\n" + Self.good)
        #expect(client.line()?.hasPrefix("HTTP/1.1 405 ") == true)
        while let line = client.line(), line != "\r" {}
        #expect(client.receive() == BadFrameTests.pong(scheme))
    }

    @Test(arguments: schemes) func validInputIsServed(_ scheme: Scheme) throws {
        let running = try BadFrameTests.relay()
        let client = TransportClient(scheme, running.relay.address)
        let pong = BadFrameTests.pong(scheme)
        // In chunks, with a trailer; byte by byte; many at once.
        client.send(
            Self.post(
                "Transfer-Encoding: chunked\r\n",
                "6;x=y\r\n\(Self.ping.prefix(6))\r\n9\r\n\(Self.ping.dropFirst(6))\r\n0\r\nA: b\r\n\r\n"
            ))
        #expect(client.receive() == pong)
        for byte in Self.good.utf8 { client.send([byte]) }
        #expect(client.receive() == pong)
        client.send(String(repeating: Self.good, count: 300))
        #expect((0..<300).allSatisfy { _ in client.receive() == pong })
        // Many more than fit into one read; each waits for the disk.
        let envelopes = (0..<400).map { _ in
            Sample.record(to: Sample.identity().id, text: String(repeating: "A", count: 400))
        }
        let bodies = envelopes.map { String(decoding: $0.serialized(), as: UTF8.self) }
        client.send(
            bodies.map { TransportClient.post("/api/messages", $0.utf8.count) + $0 }.joined())
        let stored = TransportClient.Received.frame(
            #"{"type":"stored","request_id":"http","payload":{}}"#, status: 200)
        #expect(envelopes.allSatisfy { _ in client.receive() == stored })
        // The client sends the body only after `100 Continue`.
        client.send(Self.post("Content-Length: 15\r\nExpect: 100-Continue\r\n", ""))
        #expect(client.line() == "HTTP/1.1 100 Continue\r")
        while let line = client.line(), line != "\r" {}
        client.send(Self.ping)
        #expect(client.receive() == pong)
        // HTTP/1.0 ends with the answer, and gets no `100 Continue`.
        client.send(
            "POST /api/frames HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 15\r\n\r\n"
                + Self.ping)
        #expect(client.receive() == pong)
        #expect(client.receive() == .end)
        let last = TransportClient(scheme, running.relay.address)
        last.send(Self.post("Connection: close\r\nContent-Length: 15\r\n") + Self.good)
        #expect(last.receive() == pong)
        #expect(last.receive() == .end)
    }

    /// The relay stores the sends of a read together. Each answer stands in the place of its request all the same, a refused
    /// send refuses no other, and another request or a syntax error waits for the answers before it.
    @Test(arguments: schemes) func requestsAreAnsweredInTheirOrder(_ scheme: Scheme) throws {
        let running = try BadFrameTests.relay()
        func send(_ body: String) -> String {
            TransportClient.post("/api/messages", body.utf8.count) + body
        }
        func envelope(_ text: String, to id: KeyID = Sample.identity().id) -> String {
            String(decoding: Sample.record(to: id, text: text).serialized(), as: UTF8.self)
        }
        let owner = Sample.identity().id
        for last in ["GARBAGE\r\n\r\n", "GET /api HTTP/1.1\r\nConnection: close\r\n\r\n"] {
            let client = TransportClient(scheme, running.relay.address)
            let repeated = envelope("a", to: owner)
            let requests: [(String, Int)] = [
                (send(envelope("b")), 200), (send("{}"), 400), (send(repeated), 200),
                (send(repeated), 200), ("GET /api HTTP/1.1\r\n\r\n", 404),
                (send(envelope("c")), 200), (send(envelope("d")), 200), (Self.good, 200),
                (send(envelope("e")), 200), (send("no JSON"), 400), (send(envelope("f")), 200),
                (last, last.hasPrefix("GET") ? 404 : 400),
            ]
            client.send(requests.map(\.0).joined())
            for (request, status) in requests {
                let received = client.receive()
                #expect(Self.status(received) == status, "\(request): \(received)")
                if request == Self.good { #expect(received == BadFrameTests.pong(scheme)) }
            }
            #expect(client.receive() == .end)
        }
    }
}
