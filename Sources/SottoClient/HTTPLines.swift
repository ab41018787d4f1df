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

    /// The ids of requests that are our own.
    private static let pollID = "poll"
    private static let renewalID = "renewal"
    /// Seconds after which a token is exchanged for a new one; it serves for 15 minutes.
    private static let tokenSeconds: Int64 = 300
    /// Seconds between two looks into a mailbox that was empty.
    private static let pollSeconds: Int64 = 2
    /// The most envelopes that are handed on and not acknowledged.
    private static let window = 256

    /// A request that is to be made.
    private struct Question {
        let line: [UInt8]
        /// The mailbox that it is about, or logs in to.
        var mailbox: SessionID?
        var isLogin = false
        var isRenewal = false
    }

    /// A mailbox that is polled.
    private struct Poll {
        var sequence: Int64 = 0
        var unacknowledged = 0
        var isUnderWay = false
        var hasSaidEmpty = false
    }

    private let relay: RelayURL
    private var context: ChannelHandlerContext?
    private var rest = ByteBuffer()
    private var queue: [Question] = []
    private var asked: Question?
    private var body = ByteBuffer()

    private var first: SessionID?
    private var tokens: [SessionID: (text: String, renewal: NIODeadline)] = [:]
    private var polls: [SessionID: Poll] = [:]

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
        // What is about a mailbox is short.
        guard
            let type = ["login", "subscribe", "ack", "fetch"].first(where: {
                Frame.begins(line, type: $0)
            }), let frame = try? Frame(parsing: line)
        else { return queue.append(Question(line: line)) }
        let mailbox = frame.payload["id"]?.string.flatMap { SessionID($0) } ?? first
        switch (type, mailbox) {
        case ("subscribe", let mailbox?):
            polls[mailbox] = Poll()
            tell(Response.subscribed.line(requestID: frame.requestID), context)
            return poll(mailbox)
        case ("ack", let mailbox?):
            polls[mailbox]?.unacknowledged -= frame.payload["ids"]?.array?.count ?? 0
            poll(mailbox)
        default: break
        }
        queue.append(Question(line: line, mailbox: mailbox, isLogin: type == "login"))
    }

    private func ask(_ context: ChannelHandlerContext) {
        guard asked == nil, !queue.isEmpty, context.channel.isActive else { return }
        var question = queue.removeFirst()
        // Who is in may be let in to an address of theirs.
        let token = (question.isLogin ? first : question.mailbox).flatMap { tokens[$0] }
        if let token, token.renewal < .now(), !question.isRenewal {
            queue.insert(question, at: 0)
            let renewal = Request.resume(token: token.text).line(requestID: Self.renewalID)
            question = Question(
                line: Array(renewal.dropLast()),
                mailbox: question.isLogin ? first : question.mailbox, isRenewal: true)
        }
        asked = question
        let path = relay.path.hasSuffix("/") ? relay.path : relay.path + "/"
        var head = HTTPRequestHead(
            version: .http1_1, method: .POST, uri: path + "api/frames",
            headers: [
                "host": relay.hostHeader, "content-type": "application/json",
                "content-length": String(question.line.count),
            ])
        if let token, !question.isRenewal {
            head.headers.add(name: "authorization", value: "Bearer \(token.text)")
        }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(
            wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: question.line)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    // MARK: In

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            body.clear()
            // A relay has the path; whoever answers so is none, or a proxy that leads elsewhere.
            if head.status == .notFound,
                head.headers.first(name: "content-type") != "application/json"
                    || relay.path != "/"
            {
                return context.fireErrorCaught(ClientError.notARelay(relay: relay.description))
            }
        case .body(var part):
            body.writeBuffer(&part)
            if body.readableBytes > WireLimits.responseBytes { context.close(promise: nil) }
        case .end:
            let question = asked
            asked = nil
            answer(Array(body.readableBytesView), to: question, context)
            ask(context)
        }
    }

    private func answer(
        _ bytes: [UInt8], to question: Question?, _ context: ChannelHandlerContext
    ) {
        let line = bytes.last == UInt8(ascii: "\n") ? bytes : bytes + [UInt8(ascii: "\n")]
        guard let mailbox = question?.mailbox,
            let frame = try? Frame(parsing: Array(line.dropLast()))
        else { return tell(line, context) }
        let opens = question?.isLogin == true || question?.isRenewal == true
        if opens, case .session(_, let token?) = Response(frame) {
            first = first ?? mailbox
            tokens[mailbox] = (token, .now() + .seconds(Self.tokenSeconds))
        }
        switch frame.requestID {
        case Self.renewalID:
            // The session is over; the next connection logs in anew.
            guard case .session = Response(frame) else { return context.close(promise: nil) }
        case Self.pollID: handOn(frame, of: mailbox, context)
        default: tell(line, context)
        }
    }

    /// Hands on what a poll brought, as if it were pushed, and polls again.
    private func handOn(
        _ frame: Frame, of mailbox: SessionID, _ context: ChannelHandlerContext
    ) {
        polls[mailbox]?.isUnderWay = false
        guard case .messages(let messages, let hasMore) = Response(frame) else {
            return context.close(promise: nil)
        }
        for message in messages {
            polls[mailbox]?.sequence = message.sequence
            polls[mailbox]?.unacknowledged += 1
            tell(Response.newMessage(message).line(), context)
        }
        if hasMore { return poll(mailbox) }
        if polls[mailbox]?.hasSaidEmpty == false {
            polls[mailbox]?.hasSaidEmpty = true
            tell(Response.empty.line(), context)
        }
        context.eventLoop.scheduleTask(in: .seconds(Self.pollSeconds)) {
            guard let context = self.context else { return }
            self.poll(mailbox)
            self.ask(context)
        }
    }

    /// Has a mailbox looked into, unless that is under way, or too much waits to be acknowledged.
    private func poll(_ mailbox: SessionID) {
        guard let poll = polls[mailbox], !poll.isUnderWay, poll.unacknowledged < Self.window else {
            return
        }
        polls[mailbox]?.isUnderWay = true
        let request = Request.fetch(
            max: WireLimits.fetchCount, after: poll.sequence, dead: false, of: mailbox)
        queue.append(
            Question(
                line: Array(request.line(requestID: Self.pollID).dropLast()), mailbox: mailbox))
    }

    private func tell(_ line: [UInt8], _ context: ChannelHandlerContext) {
        context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: line)))
    }
}
