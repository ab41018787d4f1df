import NIOCore
import NIOEmbedded
import NIOHTTP1
import Sotto
import SottoWire
import TestSupport
import Testing

@testable import SottoClient

/// The time between two polls of a relay over HTTP.
@Suite struct PollTests {
    /// Returns the number of requests that a client sent since the last call.
    private func requests(_ channel: EmbeddedChannel) throws -> Int {
        var count = 0
        while let part = try channel.readOutbound(as: HTTPClientRequestPart.self) {
            if case .head = part { count += 1 }
        }
        return count
    }

    private func answer(_ response: Response, _ channel: EmbeddedChannel) throws {
        let line = response.line(requestID: "poll")
        try channel.writeInbound(
            HTTPClientResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
        try channel.writeInbound(HTTPClientResponsePart.body(ByteBuffer(bytes: line)))
        try channel.writeInbound(HTTPClientResponsePart.end(nil))
    }

    @Test(arguments: [Int64(2), 30])
    func anEmptyMailboxIsPolledAfterTheGivenTime(_ seconds: Int64) throws {
        var relay = try RelayURL("http://relay.example.org")
        if seconds != 2 { relay.pollSeconds = seconds }
        let channel = EmbeddedChannel(handler: HTTPLines(relay: relay))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        let mailbox = Sample.identity().id
        let subscribe = Request.subscribe(of: mailbox).line(requestID: "1")
        try channel.writeOutbound(ByteBuffer(bytes: subscribe))
        #expect(try requests(channel) == 1)
        for _ in 0..<3 {
            try answer(.messages([], more: false), channel)
            channel.embeddedEventLoop.advanceTime(by: .milliseconds(seconds * 1_000 - 1))
            #expect(try requests(channel) == 0)
            channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
            #expect(try requests(channel) == 1)
        }
        _ = try? channel.finish()
    }

    @Test func onlyHTTPIsPolled() throws {
        let they = try Correspondence()
        for (options, status) in [
            ("--poll-every 0", Int32(64)), ("--poll-every 86401", 64), ("--poll-every 5", 64),
            ("--poll-every 5 --relay http://\(they.relay.address)", 1),
        ] {
            let run = they.shell("alice", "recv -q \(options)")
            #expect(run.status == status, "\(options): \(they.errors)")
        }
    }
}
