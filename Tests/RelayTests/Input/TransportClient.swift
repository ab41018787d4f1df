import Glibc
import Sotto
import SottoWire
import TestSupport

@testable import SottoServer

/// The certificate of the relays in these tests.
enum TestCertificate {
    private static let scratch = TemporaryDirectory()

    static let files: TLSFiles = {
        let files = TLSFiles(
            certificate: scratch("cert.pem"), key: scratch("key.pem"))
        do { try files.makeSelfSigned(for: ["127.0.0.1"]) } catch {
            preconditionFailure("\(error)")
        }
        return files
    }()
}

/// A client that sends raw bytes over any transport; `openssl s_client` provides TLS.
final class TransportClient {
    /// Input from the relay.
    enum Received: Equatable, Hashable {
        /// A frame, and over HTTP the status.
        case frame(String, status: Int?)
        /// A WebSocket close frame with this code, or 0 without a code.
        case closeFrame(UInt16)
        /// A WebSocket pong.
        case pong([UInt8])
        /// The end of the connection.
        case end
    }

    let scheme: RelayURL.Scheme
    private let descriptor: Int32
    private let openssl: ChildProcess?
    private var buffer: [UInt8] = []

    /// Connects; over WebSocket it also does the handshake unless `raw`.
    init(_ scheme: RelayURL.Scheme, _ address: String, raw: Bool = false) {
        self.scheme = scheme
        if scheme.isSecure {
            var ends: [Int32] = [0, 0]
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends)
            openssl = ChildProcess(
                "/bin/sh",
                ["-c", "exec openssl s_client -quiet -connect \(address) <&3 >&3 3>&-"],
                descriptor: ends[1])
            close(ends[1])
            descriptor = ends[0]
        } else {
            openssl = nil
            descriptor = socket(
                AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var name = HTTP.loopback(UInt16(address.split(separator: ":")[1])!)
            let size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafePointer(to: &name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, size)
                }
            }
            precondition(result == 0, "cannot connect to \(address)")
        }
        HTTP.setTimeout(descriptor)
        guard isWebSocket, !raw else { return }
        send(Array(Self.handshake.utf8))
        while let line = line(), line != "\r" {}
    }

    deinit {
        close(descriptor)
        openssl?.kill(SIGKILL)
        openssl?.wait()
    }

    static let handshake =
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

    var isWebSocket: Bool { scheme == .ws || scheme == .wss }
    var isHTTP: Bool { scheme == .http || scheme == .https }

    // MARK: Bytes

    func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            rest = rest.dropFirst(count)
        }
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    /// Sends a text repeatedly until the relay has read nothing for a second, or up to 64 MiB.
    func flood(_ text: String) {
        var timeout = timeval(tv_sec: 1, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        let bytes = Array(text.utf8)
        for _ in 0..<(64 << 20) / bytes.count {
            let count = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            if count < bytes.count { return }
        }
    }

    private func fill() -> Bool {
        var block = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &block, block.count, 0)
        guard count > 0 else { return false }
        buffer += block[..<count]
        return true
    }

    /// Returns `count` bytes, or `nil` if the connection ends before.
    private func bytes(_ count: Int) -> [UInt8]? {
        while buffer.count < count { guard fill() else { return nil } }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    /// Returns the next line, without its line feed, or `nil` at the end.
    func line() -> String? {
        while true {
            if let feed = buffer.firstIndex(of: 0x0A) {
                defer { buffer.removeFirst(feed + 1) }
                return String(decoding: buffer[..<feed], as: UTF8.self)
            }
            guard fill() else { return nil }
        }
    }

    /// Returns the unread bytes that have arrived, without waiting for more.
    func receivedSoFar() -> [UInt8] {
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = recv(descriptor, &block, block.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { return buffer }
            buffer += block[..<count]
        }
    }

    // MARK: Frames

    /// Sends one frame over the transport.
    func sendFrame(_ frame: [UInt8]) {
        if isHTTP {
            send(Array(Self.post("/api/frames", frame.count).utf8) + frame)
        } else if isWebSocket {
            send(WebSocketBytes.frame(.text, frame))
        } else {
            send(frame + [0x0A])
        }
    }

    func sendFrame(_ frame: String) { sendFrame(Array(frame.utf8)) }

    /// Returns the head of a request with a body of `count` bytes.
    static func post(_ path: String, _ count: Int) -> String {
        "POST \(path) HTTP/1.1\r\nHost: x\r\nContent-Length: \(count)\r\n\r\n"
    }

    /// Returns the next input from the relay.
    func receive() -> Received {
        if isHTTP { return receiveResponse() }
        if isWebSocket { return receiveMessage() }
        return line().map { .frame($0, status: nil) } ?? .end
    }

    /// Sends a frame and returns the next input.
    func ask(_ frame: String) -> Received {
        sendFrame(frame)
        return receive()
    }

    func ask(_ request: Request, id: String = "r") -> Received {
        sendFrame(Array(request.line(requestID: id).dropLast()))
        return receive()
    }

    private func receiveResponse() -> Received {
        guard let first = line() else { return .end }
        var length = 0
        while let header = line(), header != "\r" {
            let parts = header.dropLast().split(separator: ":", maxSplits: 1)
            if parts.first?.lowercased() == "content-length" {
                length = Int(parts[1].drop { $0 == " " }) ?? 0
            }
        }
        guard let body = bytes(length) else { return .end }
        let text = String(decoding: body, as: UTF8.self)
        return .frame(
            text.last == "\n" ? String(text.dropLast()) : text,
            status: Int(first.split(separator: " ")[1]))
    }

    private func receiveMessage() -> Received {
        guard let head = bytes(2) else { return .end }
        var length = Int(head[1] & 0x7F)
        if length >= 126 {
            guard let more = bytes(length == 126 ? 2 : 8) else { return .end }
            length = more.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let data = bytes(length) else { return .end }
        switch head[0] & 0x0F {
        case 8: return .closeFrame(data.prefix(2).reduce(0) { $0 << 8 | UInt16($1) })
        case 10: return .pong(data)
        default: return .frame(String(decoding: data, as: UTF8.self), status: nil)
        }
    }

    /// Whether the relay ends the connection without further input, over WebSocket with a close frame of this code.
    func endsSilently(_ code: UInt16 = 1000) -> Bool {
        var received = receive()
        if isWebSocket, received == .closeFrame(code) { received = receive() }
        return received == .end
    }
}

/// WebSocket frames (RFC 6455 §5.2), valid and invalid.
enum WebSocketBytes {
    enum Opcode: UInt8 {
        case continuation = 0
        case text = 1
        case binary = 2
        case reserved = 3
        case closeFrame = 8
        case ping = 9
        case pong = 10
        case reservedControl = 11
    }

    /// Returns a frame; `length` replaces the true length in its header.
    static func frame(
        _ opcode: Opcode, _ data: [UInt8], isFinal: Bool = true, isMasked: Bool = true,
        reserved: UInt8 = 0, length: Int? = nil
    ) -> [UInt8] {
        let count = length ?? data.count
        let mark: UInt8 = isMasked ? 0x80 : 0
        var bytes = [(isFinal ? 0x80 : 0) | reserved << 4 | opcode.rawValue]
        switch count {
        case ..<126: bytes.append(mark | UInt8(count))
        case ..<65_536: bytes += [mark | 126, UInt8(count >> 8), UInt8(count & 0xFF)]
        default:
            bytes.append(mark | 127)
            bytes += stride(from: 56, through: 0, by: -8).map { UInt8(count >> $0 & 0xFF) }
        }
        guard isMasked else { return bytes + data }
        let key: [UInt8] = [1, 2, 3, 4]
        return bytes + key + data.enumerated().map { $1 ^ key[$0 % 4] }
    }

    static func frame(_ opcode: Opcode, _ text: String, isFinal: Bool = true) -> [UInt8] {
        frame(opcode, Array(text.utf8), isFinal: isFinal)
    }
}
