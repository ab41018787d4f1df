import NIOCore
import NIOHTTP1
import Sotto
import SottoWire

/// Lines over HTTP/1.1: each is the body of a `POST`, one after the other on one connection, and each response is a
/// line. A subscription is played by polling: mail is fetched again and again, and handed on as if it were pushed.
///
/// Belongs to its event loop, which is why it may call itself Sendable.
final class HTTPLines: ChannelDuplexHandler, @unchecked Sendable {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = HTTPClientRequestPart

    /// The id of requests that are our own.
    private static let ownID = "poll"
    /// Seconds between two looks into a mailbox that was empty.
    private static let pollSeconds: Int64 = 2
    /// The most envelopes that are handed on and not acknowledged.
    private static let window = 256

    private let relay: RelayURL
    private var context: ChannelHandlerContext?
    private var rest = ByteBuffer()
    private var queue: [[UInt8]] = []
    private var isAsking = false
    private var body = ByteBuffer()

    private var isSubscribed = false
    private var isPolling = false
    private var hasSaidEmpty = false
    private var sequence: Int64 = 0
    private var unacknowledged = 0

    init(relay: RelayURL) { self.relay = relay }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    // MARK: Out

    func write(
        context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
    ) {
        var lines = unwrapOutboundIn(data)
        rest.writeBuffer(&lines)
        while let feed = rest.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
            let line = rest.readBytes(length: feed - rest.readerIndex) ?? []
            rest.moveReaderIndex(forwardBy: 1)
            take(line, context)
        }
        rest.discardReadBytes()
        promise?.succeed()
    }

    func flush(context: ChannelHandlerContext) { ask(context) }

    private func take(_ line: [UInt8], _ context: ChannelHandlerContext) {
        if Frame.begins(line, type: "subscribe") {
            isSubscribed = true
            let id = (try? Frame(parsing: line))?.requestID
            tell(Response.subscribed.line(requestID: id), context)
            return poll(context)
        }
        if Frame.begins(line, type: "ack"), let frame = try? Frame(parsing: line) {
            unacknowledged -= frame.payload["ids"]?.array?.count ?? 0
            poll(context)
        }
        queue.append(line)
    }

    private func ask(_ context: ChannelHandlerContext) {
        guard !isAsking, !queue.isEmpty, context.channel.isActive else { return }
        isAsking = true
        let line = queue.removeFirst()
        let path = relay.path.hasSuffix("/") ? relay.path : relay.path + "/"
        let head = HTTPRequestHead(
            version: .http1_1, method: .POST, uri: path + "api/frames",
            headers: [
                "host": relay.hostHeader, "content-type": "application/json",
                "content-length": String(line.count),
            ])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: line)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    // MARK: In

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: body.clear()
        case .body(var part):
            body.writeBuffer(&part)
            if body.readableBytes > WireLimits.responseBytes { context.close(promise: nil) }
        case .end:
            isAsking = false
            answer(Array(body.readableBytesView), context)
            ask(context)
        }
    }

    private func answer(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        let line = bytes.last == UInt8(ascii: "\n") ? bytes : bytes + [UInt8(ascii: "\n")]
        guard isPolling, let frame = try? Frame(parsing: Array(line.dropLast())),
            frame.requestID == Self.ownID
        else { return tell(line, context) }
        isPolling = false
        guard case .messages(let messages, let hasMore) = Response(frame) else {
            return context.close(promise: nil)
        }
        for message in messages {
            sequence = max(sequence, message.sequence)
            unacknowledged += 1
            tell(Response.newMessage(message).line(), context)
        }
        if hasMore { return poll(context) }
        if !hasSaidEmpty {
            hasSaidEmpty = true
            tell(Response.empty.line(), context)
        }
        context.eventLoop.scheduleTask(in: .seconds(Self.pollSeconds)) {
            guard let context = self.context else { return }
            self.poll(context)
            self.ask(context)
        }
    }

    /// Has the mailbox looked into, unless that is under way, or too much waits to be acknowledged.
    private func poll(_ context: ChannelHandlerContext) {
        guard isSubscribed, !isPolling, unacknowledged < Self.window else { return }
        isPolling = true
        let request = Request.fetch(max: WireLimits.fetchCount, after: sequence, dead: false)
        queue.append(Array(request.line(requestID: Self.ownID).dropLast()))
    }

    private func tell(_ line: [UInt8], _ context: ChannelHandlerContext) {
        context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: line)))
    }
}
