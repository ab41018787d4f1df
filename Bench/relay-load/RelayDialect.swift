import NIOCore
import Sotto
import SottoWire

/// A relay's frames, logged in with a new key. Sends go to 16 random mailboxes; as signals they have a time to live of
/// 0.
struct RelayDialect: Dialect {
    private let relay: RelayURL
    private let framing: Framing
    private let templates: [Template]
    private var isUpgraded: Bool
    private let answer: [UInt8]
    private var count: UInt32 = 0

    init(_ relay: RelayURL, sendsSignals: Bool) {
        self.relay = relay
        answer = Array("{\"type\":\"\(sendsSignals ? "accepted" : "stored")\"".utf8)
        let framing = Framing(relay.scheme)
        self.framing = framing
        isUpgraded = framing != .webSocket
        let run = hex(randomBytes(6))
        templates = (0..<16).map { _ in
            Template(
                framing.wrap(
                    Self.send(
                        to: KeyID(publicKey: randomBytes(32)), run: run,
                        ttl: sendsSignals ? "\"ttl\":0," : "")))
        }
    }

    /// Returns a send of an envelope of 1,024 bytes, without a line feed.
    private static func send(to recipient: KeyID, run: String, ttl: String) -> [UInt8] {
        func envelope(_ padding: Int) -> String {
            "{\"v\":1,\"type\":\"envelope\",\"id\":\"\(Template.mark)-\(run.prefix(4))-4000-8000-\(run)\","
                + "\"suite\":\"sealed\",\"to\":\"\(recipient)\",\"time\":\"2026-01-01T00:00:00Z\","
                + ttl + "\"payload\":{\"age\":\"\(String(repeating: "A", count: padding))\"}}"
        }
        let padding = 1024 - envelope(0).utf8.count
        return Array(
            ("{\"type\":\"send\",\"request_id\":\"\(Template.mark)\","
                + "\"payload\":{\"envelope\":\(envelope(padding))}}").utf8)
    }

    mutating func opening() -> [UInt8] {
        isUpgraded ? framing.wrap(Request.challenge) : Framing.upgrade
    }

    mutating func message(from received: inout ByteBuffer) throws -> ByteBuffer? {
        try isUpgraded ? framing.message(from: &received) : Framing.head(from: &received)
    }

    mutating func answer(toOpening message: ByteBuffer) throws -> [UInt8]? {
        guard isUpgraded else {
            guard message.readableBytesView.starts(with: "HTTP/1.1 101".utf8) else {
                throw LoadError.unexpected(String(buffer: message))
            }
            isUpgraded = true
            return framing.wrap(Request.challenge)
        }
        guard let frame = try? Frame(parsing: Array(message.readableBytesView)) else {
            throw LoadError.unexpected(String(buffer: message))
        }
        switch Response(frame) {
        case .challenge(let nonce, _):
            let key = SigningKey(seed: SecretBytes(randomCount: 32))
            return framing.wrap(.login(Login(key: key, nonce: nonce, relay: relay.name)))
        case .session: return nil
        default: throw LoadError.unexpected(String(buffer: message))
        }
    }

    mutating func writeSend(to out: inout ByteBuffer) {
        templates[Int(count % 16)].write(count, to: &out)
        count += 1
    }

    func isStored(_ message: ByteBuffer) -> Bool {
        message.readableBytesView.starts(with: answer)
    }
}

/// The framing of each transport, as cheap as possible, so that the relay does the work.
enum Framing {
    case lines, webSocket, http

    init(_ scheme: RelayURL.Scheme) {
        switch scheme {
        case .tcp, .tls: self = .lines
        case .ws, .wss: self = .webSocket
        case .http, .https: self = .http
        }
    }

    /// The request that upgrades HTTP to WebSocket (RFC 6455 §4.1).
    static let upgrade = Array(
        ("GET / HTTP/1.1\r\nhost: relay\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
            + "sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
            .utf8)

    func wrap(_ request: Request) -> [UInt8] { wrap(request.line(requestID: "0").dropLast()) }

    /// Returns a client's frame with a payload of at most 64 KB.
    func wrap(_ payload: some Collection<UInt8>) -> [UInt8] {
        switch self {
        case .lines: return payload + [UInt8(ascii: "\n")]
        case .webSocket:
            // A text with a 16-bit length (§5.2), masked with zeros.
            return [0x81, 0xFE, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF), 0, 0, 0, 0]
                + payload
        case .http:
            let head =
                "POST /api/frames HTTP/1.1\r\nhost: relay\r\ncontent-length: \(payload.count)"
            return Array((head + "\r\n\r\n").utf8) + payload
        }
    }

    /// Returns the payload of the relay's next frame, or `nil`.
    func message(from received: inout ByteBuffer) throws -> ByteBuffer? {
        switch self {
        case .lines:
            guard let feed = received.readableBytesView.firstIndex(of: 0x0A) else { return nil }
            let line = received.readSlice(length: feed - received.readerIndex)
            received.moveReaderIndex(forwardBy: 1)
            return line
        case .webSocket: return Self.text(from: &received)
        case .http: return try Self.response(from: &received)
        }
    }

    /// Returns the message in a frame of at most 64 KB, or `nil`.
    private static func text(from received: inout ByteBuffer) -> ByteBuffer? {
        let start = received.readerIndex
        guard let first: UInt8 = received.getInteger(at: start + 1) else { return nil }
        var (head, length) = (2, Int(first))
        if first == 126 {
            guard let long: UInt16 = received.getInteger(at: start + 2) else { return nil }
            (head, length) = (4, Int(long))
        }
        guard received.readableBytes >= head + length else { return nil }
        received.moveReaderIndex(forwardBy: head)
        return received.readSlice(length: length)
    }

    /// Returns the head of an HTTP response, or `nil`.
    static func head(from received: inout ByteBuffer) -> ByteBuffer? {
        guard let end = received.readableBytesView.firstRange(of: Array("\r\n\r\n".utf8)) else {
            return nil
        }
        return received.readSlice(length: end.upperBound - received.readerIndex)
    }

    /// Returns the body of an HTTP response with a content length, or `nil`.
    private static func response(from received: inout ByteBuffer) throws -> ByteBuffer? {
        var rest = received
        guard let head = head(from: &rest) else { return nil }
        let name = Array("content-length: ".utf8)
        guard let field = head.readableBytesView.firstRange(of: name),
            let length = Int(
                String(
                    decoding: head.readableBytesView[field.upperBound...].prefix { $0 != 0x0D },
                    as: UTF8.self))
        else { throw LoadError.unexpected(String(buffer: head)) }
        guard let body = rest.readSlice(length: length) else { return nil }
        received = rest
        return body
    }
}
