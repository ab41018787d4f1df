import NIOCore
import NIOHTTP1
import Sotto
import SottoNetwork
import SottoWire

/// Lines over HTTP/1.1: each line is the body of a `POST`, one at a time on one connection, and each response is a
/// line. A subscription is emulated by polling: fetched envelopes are passed on as if they were pushed.
///
/// With ``RelayProtocol/flow``, polls, acknowledgements and messages are requests of that protocol. Its polls have no
/// sequence number: an envelope is in each answer until it is acknowledged.
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
        /// The request of ``RelayProtocol/flow`` whose body ``line`` is, or `nil` for a frame.
        var step: FlowStep?
    }

    /// A request of ``RelayProtocol/flow``. The answer to the last one for a request of the client answers that one.
    private enum FlowStep {
        case poll
        case acknowledgement(id: String, requestID: String, isLast: Bool)
        case message(requestID: String)

        var path: String {
            switch self {
            case .poll: FlowWire.poll
            case .acknowledgement: FlowWire.acknowledgements
            case .message: FlowWire.messages
            }
        }
    }

    /// A mailbox that is polled.
    private struct Poll {
        var sequence: Int64 = 0
        var unacknowledged = 0
        var isUnderWay = false
        var hasSaidEmpty = false
        /// The next poll of an empty mailbox.
        var next: Scheduled<Void>?
        /// With ``RelayProtocol/flow``, the ids in the last answer.
        var known: Set<String> = []
        /// With ``RelayProtocol/flow``, the ids of delivered envelopes whose acknowledgement has no answer yet.
        var open: Set<String> = []
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
        if relay.form == .flow, take(records: line) { return }
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

    /// Takes a line as requests of ``RelayProtocol/flow``. Returns false for a line without such requests.
    private func take(records line: [UInt8]) -> Bool {
        guard FlowRequest.mayBegin(line), let frame = try? Frame(parsing: line),
            let requestID = frame.requestID, let requests = FlowRequest.all(of: frame)
        else { return false }
        let mailbox = frame.payload["id"]?.string.flatMap { KeyID($0) } ?? first
        for (number, request) in requests.enumerated() {
            switch request {
            case .message(_, let message):
                queue.append(
                    PendingRequest(
                        line: FlowWire.push(message, http: true),
                        step: .message(requestID: requestID)))
            case .acknowledgement(let id, let handled):
                if let mailbox { polls[mailbox]?.unacknowledged -= 1 }
                queue.append(
                    PendingRequest(
                        line: FlowWire.acknowledgement(of: id, handled, http: true),
                        mailbox: mailbox,
                        step: .acknowledgement(
                            id: id, requestID: requestID, isLast: number == requests.count - 1)))
            }
        }
        return true
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
        var headers = HTTPHeaders()
        if let token, !pending.isRenewal {
            headers.add(name: "authorization", value: "Bearer \(token.text)")
        }
        for part in parts(of: pending, headers) {
            context.write(wrapOutboundOut(part), promise: nil)
        }
        context.flush()
    }

    private func parts(
        of pending: PendingRequest, _ headers: HTTPHeaders
    ) -> [HTTPClientRequestPart] {
        let path =
            if let step = pending.step {
                FlowWire.path(at: relay) + step.path
            } else {
                (relay.path.hasSuffix("/") ? relay.path : relay.path + "/") + "api/frames"
            }
        if case .poll? = pending.step {
            return HTTPMessage.get(path, host: relay.hostHeader, headers: headers)
        }
        return HTTPMessage.post(
            to: path, host: relay.hostHeader, type: "application/json",
            ByteBuffer(bytes: pending.line), headers: headers)
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
            if let pending, let step = pending.step {
                answer(Array(body.readableBytesView), to: step, of: pending.mailbox, context)
            } else {
                answer(Array(body.readableBytesView), to: pending, context)
            }
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

    /// Takes the answer to a request of ``RelayProtocol/flow``.
    private func answer(
        _ bytes: [UInt8], to step: FlowStep, of mailbox: KeyID?, _ context: ChannelHandlerContext
    ) {
        let response = FlowWire.response(bytes)
        switch (step, response) {
        case (.poll, .messages(let messages, _)?):
            if let mailbox { deliverPolled(messages, of: mailbox, context) }
        // A session that has expired, or a relay that cannot answer now: the next connection logs in again.
        case (.poll, let response?) where response.isRefusal: context.close(promise: nil)
        case (.acknowledgement(let id, let requestID, let isLast), let response?):
            if isLast { emit(response.line(requestID: requestID), context) }
            guard let mailbox, polls[mailbox]?.open.remove(id) != nil else { return }
            if polls[mailbox]?.open.isEmpty == true { poll(mailbox) }
        case (.message(let requestID), .acked?):
            emit(Response.stored.line(requestID: requestID), context)
        case (.message(let requestID), let response?) where response.isRefusal:
            emit(response.line(requestID: requestID), context)
        default: refuse(context)
        }
    }

    /// Delivers the envelopes of an answer that were not in the answer before. The mailbox is empty when no
    /// envelope is new or waits for its acknowledgement.
    private func deliverPolled(
        _ messages: [Delivered], of mailbox: KeyID, _ context: ChannelHandlerContext
    ) {
        guard var poll = polls[mailbox] else { return }
        poll.isUnderWay = false
        var ids: Set<String> = []
        var fresh: [[UInt8]] = []
        for message in messages {
            guard let id = (try? JSON.object(parsing: message.envelope))?["id"]?.string,
                ids.insert(id).inserted, !poll.known.contains(id)
            else { continue }
            fresh.append(message.envelope)
            poll.open.insert(id)
        }
        let isEmpty = poll.open.isDisjoint(with: ids)
        poll.known = ids
        poll.unacknowledged += fresh.count
        let number = poll.sequence
        poll.sequence += Int64(fresh.count)
        polls[mailbox] = poll
        for (place, envelope) in fresh.enumerated() {
            let delivered = Delivered(sequence: number + Int64(place) + 1, envelope: envelope)
            emit(Response.newMessage(delivered).line(), context)
        }
        rest(mailbox, isEmpty: isEmpty, context)
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
        rest(mailbox, isEmpty: true, context)
    }

    /// Says once that a mailbox is empty, and polls it again later.
    private func rest(_ mailbox: KeyID, isEmpty: Bool, _ context: ChannelHandlerContext) {
        if isEmpty, polls[mailbox]?.hasSaidEmpty == false {
            polls[mailbox]?.hasSaidEmpty = true
            emit(Response.empty.line(), context)
        }
        polls[mailbox]?.next?.cancel()
        polls[mailbox]?.next = context.eventLoop.scheduleTask(in: .seconds(relay.pollSeconds)) {
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
        poll.next?.cancel()
        guard relay.form == .own else {
            return queue.append(PendingRequest(line: [], mailbox: mailbox, step: .poll))
        }
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
