import NIOCore
import NIOHTTP1
import Sotto
import SottoNetwork
import SottoWire

/// Lines over HTTP/1.1: each line is the body of a `POST`, one at a time on one connection, and each response is a
/// line. A subscription is emulated by polling: fetched envelopes are passed on as if they were pushed.
///
/// Used only on its event loop, so it may be Sendable.
final class HTTPLines: ChannelDuplexHandler, @unchecked Sendable {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = HTTPClientRequestPart

    /// The ids of requests that this handler makes itself.
    private static let pollID = "poll"
    private static let renewalID = "renewal"
    /// Seconds after which a token is exchanged for a new one; it is valid for 15 minutes.
    private static let tokenSeconds: Int64 = 300
    /// The maximum number of delivered envelopes without an acknowledgement.
    private static let window = 256

    /// A request that waits or is in flight.
    private struct PendingRequest {
        let line: [UInt8]
        /// The mailbox of the request, or of the login.
        var mailbox: KeyID?
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
    private var outgoing = OutgoingLines()
    private var queue: [PendingRequest] = []
    private var inFlight: PendingRequest?
    private var body = ByteBuffer()
    private var status = HTTPResponseStatus.ok

    private var first: KeyID?
    private var tokens: [KeyID: (text: String, renewal: NIODeadline)] = [:]
    private var polls: [KeyID: Poll] = [:]

    init(relay: RelayURL) { self.relay = relay }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    // MARK: Outgoing

    func write(
        context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
    ) {
        for line in outgoing.take(unwrapOutboundIn(data)) {
            take(Array(line.readableBytesView), context)
        }
        promise?.succeed()
    }

    func flush(context: ChannelHandlerContext) { ask(context) }

    /// The types of requests about a mailbox, which need its token.
    private static let ownersTypes = [
        "login", "subscribe", "ack", "fetch", "turn", "wake_register", "wake_unregister", "invite",
    ]

    private func take(_ line: [UInt8], _ context: ChannelHandlerContext) {
        // Requests about a mailbox are short.
        guard
            let type = Self.ownersTypes.first(where: { Frame.begins(line, type: $0) }),
            let frame = try? Frame(parsing: line)
        else { return queue.append(PendingRequest(line: line)) }
        let mailbox = frame.payload["id"]?.string.flatMap { KeyID($0) } ?? first
        switch (type, mailbox) {
        case ("subscribe", let mailbox?):
            polls[mailbox] = Poll()
            emit(Response.subscribed.line(requestID: frame.requestID), context)
            return poll(mailbox)
        case ("ack", let mailbox?):
            polls[mailbox]?.unacknowledged -= frame.payload["ids"]?.array?.count ?? 0
            poll(mailbox)
        default: break
        }
        queue.append(PendingRequest(line: line, mailbox: mailbox, isLogin: type == "login"))
    }

    private func ask(_ context: ChannelHandlerContext) {
        guard inFlight == nil, !queue.isEmpty, context.channel.isActive else { return }
        var pending = queue.removeFirst()
        // A connection that is logged in may open an address of the same owner.
        let token = (pending.isLogin ? first : pending.mailbox).flatMap { tokens[$0] }
        if let token, token.renewal < .now(), !pending.isRenewal {
            queue.insert(pending, at: 0)
            let renewal = Request.resume(token: token.text).line(requestID: Self.renewalID)
            pending = PendingRequest(
                line: Array(renewal.dropLast()),
                mailbox: pending.isLogin ? first : pending.mailbox, isRenewal: true)
        }
        inFlight = pending
        let path = relay.path.hasSuffix("/") ? relay.path : relay.path + "/"
        var headers = HTTPHeaders()
        if let token, !pending.isRenewal {
            headers.add(name: "authorization", value: "Bearer \(token.text)")
        }
        let parts = HTTPMessage.post(
            to: path + "api/frames", host: relay.hostHeader, type: "application/json",
            ByteBuffer(bytes: pending.line), headers: headers)
        for part in parts { context.write(wrapOutboundOut(part), promise: nil) }
        context.flush()
    }

    // MARK: Incoming

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            body.clear()
            status = head.status
            // A relay serves this path; another server answered, or a proxy that uses a different path.
            if head.status == .notFound,
                head.headers.first(name: "content-type") != "application/json"
                    || relay.path != "/"
            {
                return refuse(context)
            }
        case .body(var part):
            body.writeBuffer(&part)
            if body.readableBytes > WireLimits.responseBytes { context.close(promise: nil) }
        case .end:
            let pending = inFlight
            inFlight = nil
            answer(Array(body.readableBytesView), to: pending, context)
            ask(context)
        }
    }

    private func answer(
        _ bytes: [UInt8], to pending: PendingRequest?, _ context: ChannelHandlerContext
    ) {
        let line = bytes.last == UInt8(ascii: "\n") ? bytes : bytes + [UInt8(ascii: "\n")]
        // The client parses the other lines.
        guard status != .ok || pending?.mailbox != nil else { return emit(line, context) }
        let frame = try? Frame(parsing: Array(line.dropLast()))
        guard status == .ok || frame.flatMap({ Response($0) })?.isRefusal == true else {
            return refuse(context)
        }
        guard let mailbox = pending?.mailbox, let frame else { return emit(line, context) }
        let opens = pending?.isLogin == true || pending?.isRenewal == true
        if opens, case .session(_, let token?, _) = Response(frame) {
            first = first ?? mailbox
            tokens[mailbox] = (token, .now() + .seconds(Self.tokenSeconds))
        }
        switch frame.requestID {
        case Self.renewalID:
            // The session has expired; the next connection logs in again.
            guard case .session = Response(frame) else { return context.close(promise: nil) }
        case Self.pollID: deliverPolled(frame, of: mailbox, context)
        default: emit(line, context)
        }
    }

    /// Delivers the envelopes of a poll as if they were pushed, and polls again.
    private func deliverPolled(
        _ frame: Frame, of mailbox: KeyID, _ context: ChannelHandlerContext
    ) {
        polls[mailbox]?.isUnderWay = false
        guard case .messages(let messages, let hasMore) = Response(frame) else {
            return context.close(promise: nil)
        }
        let before = polls[mailbox]?.sequence ?? 0
        // Repeated envelopes are no progress: with them a relay would keep the client for ever.
        guard messages.isInOrder(after: before), !hasMore || !messages.isEmpty else {
            return refuse(context)
        }
        for message in messages {
            polls[mailbox]?.sequence = message.sequence
            polls[mailbox]?.unacknowledged += 1
            emit(Response.newMessage(message).line(), context)
        }
        if hasMore { return poll(mailbox) }
        if polls[mailbox]?.hasSaidEmpty == false {
            polls[mailbox]?.hasSaidEmpty = true
            emit(Response.empty.line(), context)
        }
        context.eventLoop.scheduleTask(in: .seconds(relay.pollSeconds)) {
            guard let context = self.context else { return }
            self.poll(mailbox)
            self.ask(context)
        }
    }

    /// Ends the connection to a peer that does not answer as a relay.
    private func refuse(_ context: ChannelHandlerContext) {
        context.fireErrorCaught(ClientError.notARelay(relay: relay.description))
    }

    /// Polls a mailbox, unless a poll is running or too many envelopes wait for an acknowledgement.
    private func poll(_ mailbox: KeyID) {
        guard let poll = polls[mailbox], !poll.isUnderWay, poll.unacknowledged < Self.window else {
            return
        }
        polls[mailbox]?.isUnderWay = true
        let request = Request.fetch(
            max: WireLimits.fetchCount, after: poll.sequence, dead: false, of: mailbox)
        queue.append(
            PendingRequest(
                line: Array(request.line(requestID: Self.pollID).dropLast()), mailbox: mailbox))
    }

    private func emit(_ line: [UInt8], _ context: ChannelHandlerContext) {
        context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: line)))
    }
}
