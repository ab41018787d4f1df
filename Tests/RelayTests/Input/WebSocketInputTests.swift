import Sotto
import TestSupport
import Testing

@testable import SottoServer
@testable import SottoWire

/// Valid and invalid WebSocket frames (RFC 6455), plain and over TLS.
@Suite(.timeLimit(.minutes(60))) struct WebSocketInputTests {
    typealias Scheme = RelayURL.Scheme

    static let schemes = [Scheme.ws, .wss]
    static let ping = #"{"type":"ping"}"#
    static let parts = [String(ping.prefix(6)), String(ping.dropFirst(6))]

    static func frame(
        _ opcode: WebSocketBytes.Opcode, _ text: String, isFinal: Bool = true
    ) -> [UInt8] { WebSocketBytes.frame(opcode, text, isFinal: isFinal) }

    /// Violations of the protocol, and the code of the close frame.
    static let wrong: [(name: String, bytes: [UInt8], code: UInt16)] = [
        ("not masked", WebSocketBytes.frame(.text, Array(ping.utf8), isMasked: false), 1002),
        ("a reserved bit", WebSocketBytes.frame(.text, Array(ping.utf8), reserved: 4), 1002),
        ("a reserved opcode", frame(.reserved, ping), 1002),
        ("a reserved control opcode", frame(.reservedControl, ping), 1002),
        ("a control frame in parts", frame(.ping, "a", isFinal: false), 1002),
        ("a long control frame", frame(.ping, String(repeating: "a", count: 126)), 1002),
        (
            "a long close frame", frame(.closeFrame, "\u{3}z" + String(repeating: "a", count: 200)),
            1002
        ),
        ("a continuation of nothing", frame(.continuation, ping), 1002),
        (
            "a message in a message", frame(.text, parts[0], isFinal: false) + frame(.text, ping),
            1002
        ),
        ("half a code", frame(.closeFrame, "x"), 1002),
        ("a code that must not be sent", WebSocketBytes.frame(.closeFrame, [0x03, 0xED]), 1002),
        ("an undefined code", WebSocketBytes.frame(.closeFrame, [0, 1]), 1002),
        ("a length of 2^62", WebSocketBytes.frame(.text, [], length: 1 << 62), 1009),
        ("a length of 2^63", [0x81, 0xFF, 0x80] + [UInt8](repeating: 0, count: 7), 1009),
        (
            "a long message", WebSocketBytes.frame(.text, [UInt8](repeating: 0x20, count: 1 << 20)),
            1009
        ),
        (
            "a long message in parts",
            frame(.text, String(repeating: " ", count: 60_000), isFinal: false)
                + frame(.continuation, String(repeating: " ", count: 60_000), isFinal: false), 1009
        ),
        (
            "many parts",
            frame(.text, "{", isFinal: false)
                + (0..<300).flatMap { _ in frame(.continuation, " ", isFinal: false) }, 1009
        ),
    ]

    @Test(arguments: schemes) func protocolViolationsCloseWithTheirCode(_ scheme: Scheme) throws {
        let running = try BadFrameTests.relay()
        for (name, bytes, code) in Self.wrong {
            let client = TransportClient(scheme, running.relay.address)
            // Frames behind the violation are not read.
            client.send(bytes + Self.frame(.text, Self.ping))
            #expect(client.receive() == .closeFrame(code), "\(name)")
            #expect(client.receive() == .end, "\(name)")
        }
    }

    @Test(arguments: schemes) func validInputIsServed(_ scheme: Scheme) throws {
        let running = try BadFrameTests.relay()
        let client = TransportClient(scheme, running.relay.address)
        let pong = BadFrameTests.pong(scheme)
        // In parts, with a ping between them.
        client.send(Self.frame(.text, Self.parts[0], isFinal: false))
        client.send(Self.frame(.ping, "between"))
        #expect(client.receive() == .pong(Array("between".utf8)))
        client.send(Self.frame(.continuation, Self.parts[1]))
        #expect(client.receive() == pong)
        // An empty part, an empty ping, and a ping of the maximum length.
        client.send(
            Self.frame(.text, "", isFinal: false) + Self.frame(.continuation, Self.ping))
        #expect(client.receive() == pong)
        for data in ["", String(repeating: "p", count: 125)] {
            client.send(Self.frame(.ping, data))
            #expect(client.receive() == .pong(Array(data.utf8)))
        }
        // An unsolicited pong, and a message marked as binary.
        client.send(Self.frame(.pong, "unasked") + Self.frame(.binary, Self.ping))
        #expect(client.receive() == pong)
        // Byte by byte.
        for byte in Self.frame(.text, Self.ping) { client.send([byte]) }
        #expect(client.receive() == pong)
        // Many at once.
        client.send((0..<50).flatMap { _ in Self.frame(.text, Self.ping) })
        for _ in 0..<50 { #expect(client.receive() == pong) }
    }

    @Test(
        arguments: schemes, [[], [0x03, 0xE8], [0x03, 0xE9] + Array("bye".utf8), [0x0F, 0xA0]])
    func aCloseFrameIsAnswered(_ scheme: Scheme, _ data: [UInt8]) throws {
        let running = try BadFrameTests.relay()
        let client = TransportClient(scheme, running.relay.address)
        client.send(WebSocketBytes.frame(.closeFrame, data))
        #expect(client.receive() == .closeFrame(data.prefix(2).reduce(0) { $0 << 8 | UInt16($1) }))
        #expect(client.receive() == .end)
    }

    /// An invalid handshake is an ordinary request.
    @Test(arguments: [
        ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", ""),
        ("dGhlIHNhbXBsZSBub25jZQ==", "x"), ("dGhlIHNhbXBsZSBub25jZQ==", "AAAA"),
        ("Version: 13", "Version: 8"), ("Sec-WebSocket-Version: 13\r\n", ""),
        ("Upgrade: websocket", "Upgrade: h2c"), ("Connection: Upgrade\r\n", ""),
        ("GET / ", "POST / "), ("HTTP/1.1", "HTTP/1.0"),
    ])
    func anInvalidHandshakeIsARequest(_ part: String, _ other: String) throws {
        let running = try BadFrameTests.relay()
        for scheme in Self.schemes {
            let client = TransportClient(scheme, running.relay.address, raw: true)
            client.send(TransportClient.handshake.replacing(part, with: other))
            let line = client.line() ?? ""
            #expect(line.hasPrefix("HTTP/1.1 404 "), "\(line)")
        }
    }
}
