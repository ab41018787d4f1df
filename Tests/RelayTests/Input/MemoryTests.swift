import Glibc
import Sotto
import TestSupport
import Testing

@testable import SottoServer
@testable import SottoWire

/// A line over the limit is refused and not buffered: a relay's memory does not grow by it.
@Suite(.timeLimit(.minutes(60))) struct MemoryTests {
    typealias Scheme = RelayURL.Scheme

    /// Returns the peak memory of a process, in bytes.
    static func peak(_ process: pid_t) -> Int {
        let status = String(
            decoding: TemporaryDirectory.contents("/proc/\(process)/status"), as: UTF8.self)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }

    /// 64 MiB over each transport: one line, one message, one in a thousand parts, one body with its length or in
    /// chunks.
    static func floods(_ scheme: Scheme) -> [(head: [UInt8], block: [UInt8])] {
        let block = [UInt8](repeating: 0x20, count: 64 << 10)
        switch scheme {
        case .tcp, .tls: return [([], block)]
        case .ws, .wss:
            return [
                (WebSocketBytes.frame(.text, [], length: 64 << 20), block),
                (
                    WebSocketBytes.frame(.text, "{", isFinal: false),
                    WebSocketBytes.frame(.continuation, block, isFinal: false)
                ),
            ]
        case .http, .https:
            let chunks =
                "POST /api/frames HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            return [
                (Array(TransportClient.post("/api/frames", 64 << 20).utf8), block),
                (Array(chunks.utf8), Array("10000\r\n".utf8) + block + Array("\r\n".utf8)),
                (Array("GET / HTTP/1.1\r\nX: ".utf8), block),
                (Array(("GET / HTTP/1.1\r\nX: ").utf8), [UInt8](repeating: 0x61, count: 64 << 10)),
            ]
        }
    }

    @Test func tooLongInputIsNotBuffered() throws {
        let scratch = TemporaryDirectory()
        let files = TestCertificate.files
        let relay = try #require(
            RelayProcess(scratch, ["--tls-cert", files.certificate, "--tls-key", files.key]))
        // Use each transport once before measuring.
        for scheme in Scheme.allCases {
            let client = TransportClient(scheme, relay.address)
            #expect(client.ask(#"{"type":"ping"}"#) == BadFrameTests.pong(scheme))
        }
        let before = Self.peak(relay.command.process)
        #expect(before > 0)
        for scheme in Scheme.allCases {
            for flood in Self.floods(scheme) {
                let client = TransportClient(scheme, relay.address)
                client.send(flood.head)
                for _ in 0..<1024 { client.send(flood.block) }
                var received = client.receive()
                #expect(received != .end, "\(scheme)")
                while received != .end { received = client.receive() }
            }
        }
        let grown = Self.peak(relay.command.process) - before
        #expect(grown < 8 << 20, "\(grown) bytes more")
        #expect(relay.end() == 0)
    }

    /// Each request is refused at once, but the client reads no refusals: they are not all buffered.
    @Test(arguments: [Scheme.http, .https]) func unreadRefusalsAreLimited(_ scheme: Scheme) throws {
        let scratch = TemporaryDirectory()
        let files = TestCertificate.files
        let relay = try #require(
            RelayProcess(scratch, ["--tls-cert", files.certificate, "--tls-key", files.key]))
        let client = TransportClient(scheme, relay.address)
        #expect(client.ask(#"{"type":"ping"}"#) == BadFrameTests.pong(scheme))
        let before = Self.peak(relay.command.process)
        client.flood(String(repeating: "GET / HTTP/1.1\r\n\r\n", count: 4_000))
        let grown = Self.peak(relay.command.process) - before
        #expect(grown < 24 << 20, "\(grown) bytes more")
        #expect(relay.end() == 0)
    }
}
