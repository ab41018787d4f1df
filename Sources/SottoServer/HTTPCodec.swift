import NIOCore
import NIOHTTP1
import Sotto
import SottoNetwork
import SottoWire

/// Translates HTTP/1.1 requests to frames, and responses of the connection to HTTP responses. ``HTTPRoute`` lists the
/// requests.
///
/// A request with a foreign `Origin` is refused before its body is read. A header `Authorization: Bearer TOKEN` first
/// resumes a session. Used only on its event loop, which makes `@unchecked Sendable` safe.
final class HTTPCodec: ChannelDuplexHandler, RemovableChannelHandler, ClientCodec,
    @unchecked Sendable
{
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = HTTPServerResponsePart

    private enum State {
        case idle
        case body(HTTPRequestHead, ByteBuffer)
        /// Waits for `answers` answers of the connection; the last one is the response.
        case waiting(keepsAlive: Bool, answers: Int)
        /// A refused request whose response waits until the client has read the earlier responses.
        case stalled(HTTPRequestHead, HTTPRefusal)
        case over
    }

    private let connection: ClientConnection
    private var context: ChannelHandlerContext?
    private var state = State.idle
    private var isConnected = false
    /// The frames of the request that the connection has not taken yet.
    private var frames: [IncomingFrame] = []
    private var answers: [(response: Response, requestID: String?)] = []

    /// Creates the codec of a connection that is not in the pipeline yet.
    init(to connection: ClientConnection) {
        self.connection = connection
        connection.http = self
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        connection.http = nil
    }

    // MARK: Requests

    func next() -> FrameInput {
        frames.isEmpty ? .incomplete(hasBegun: false) : .frame(frames.removeFirst())
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (unwrapInboundIn(data), state) {
        case (.head(let head), .idle):
            guard connection.admitsOrigin(head.headers) else {
                return refuse(.foreignOrigin, context, hasBody: head.method != .HEAD)
            }
            guard Self.announcedBytes(head) <= WireLimits.requestBytes else {
                return refuse(.tooLarge, context)
            }
            if Self.awaitsContinue(head) {
                let head = HTTPResponseHead(version: .http1_1, status: .continue)
                context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
            }
            state = .body(head, ByteBuffer())
        case (.body(var part), .body(let head, var body)):
            guard body.readableBytes + part.readableBytes <= WireLimits.requestBytes else {
                return refuse(.tooLarge, context)
            }
            state = .over  // releases the buffer, so that it is not copied
            body.writeBuffer(&part)
            state = .body(head, body)
        case (.end, .body(let head, let body)): take(head, Array(body.readableBytesView), context)
        default: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        readMore(context)
        if isConnected { context.fireChannelReadComplete() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        answerRefused(context)
        readMore(context)
        context.fireChannelWritabilityChanged()
    }

    /// Reads more, unless an answer is pending or the client does not read its responses.
    private func readMore(_ context: ChannelHandlerContext) {
        switch state {
        case .waiting, .stalled: return
        case .idle, .body, .over: break
        }
        if context.channel.isWritable { context.read() }
    }

    private func take(_ head: HTTPRequestHead, _ body: [UInt8], _ context: ChannelHandlerContext) {
        do throws(HTTPRefusal) {
            frames = [try HTTPRoute.frame(head, body)]
        } catch {
            state = .stalled(head, error)
            return answerRefused(context)
        }
        if let token = Self.token(head) {
            frames.insert(IncomingFrame(.resume(token: token), to: "authorization"), at: 0)
        }
        state = .waiting(keepsAlive: head.isKeepAlive, answers: frames.count)
        if !isConnected {
            isConnected = true
            do {
                try context.pipeline.syncOperations.addHandler(connection, position: .after(self))
            } catch {
                return context.close(promise: nil)
            }
        }
        connection.receiveRequest()
        context.fireChannelReadComplete()
    }

    /// Answers a request that could not become a frame.
    private func answerRefused(_ context: ChannelHandlerContext) {
        guard case .stalled(let head, let refusal) = state, context.channel.isWritable else {
            return
        }
        respond(
            refusal.status, .error(Refusal(refusal.reason)), nil, keepsAlive: head.isKeepAlive,
            hasBody: head.method != .HEAD, context)
        // Resets the line timeout that HTTPGuard started.
        if isConnected { context.fireChannelRead(wrapInboundOut(ByteBuffer())) }
    }

    /// Returns the length of the body, in bytes, that the request announces, or 0.
    private static func announcedBytes(_ head: HTTPRequestHead) -> Int {
        head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
    }

    /// Whether the client waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1).
    private static func awaitsContinue(_ head: HTTPRequestHead) -> Bool {
        head.version.minor > 0
            && head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
    }

    private static func token(_ head: HTTPRequestHead) -> String? {
        guard let value = head.headers.first(name: "authorization") else { return nil }
        let words = value.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
        return String(words[1])
    }

    /// Ends the connection after input that is not HTTP; NIO has already answered it with 400.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError else { return context.fireErrorCaught(error) }
        state = .over
        end(context)
    }

    // MARK: Responses

    func add(_ response: Response, to requestID: String?) { answers.append((response, requestID)) }

    func flush(_: ChannelHandlerContext) {
        while let context, !answers.isEmpty {
            let (response, requestID) = answers.removeFirst()
            answer(response, requestID, context)
        }
    }

    private func answer(
        _ response: Response, _ requestID: String?, _ context: ChannelHandlerContext
    ) {
        guard case .waiting(let keepsAlive, let answers) = state else { return }
        let status = Self.status(of: response)
        // A refused token ends the request.
        guard answers == 1 || status != .ok else {
            state = .waiting(keepsAlive: keepsAlive, answers: answers - 1)
            return
        }
        respond(status, response, requestID, keepsAlive: keepsAlive && answers == 1, context)
    }

    private static func status(of response: Response) -> HTTPResponseStatus {
        switch response {
        case .error(let refusal), .rejected(let refusal), .deferred(let refusal):
            HTTPResponseStatus(statusCode: Int(refusal.code))
        default: .ok
        }
    }

    private func refuse(
        _ reason: Reason, _ context: ChannelHandlerContext, hasBody: Bool = true
    ) {
        respond(
            HTTPResponseStatus(statusCode: Int(reason.code)), .error(Refusal(reason)), nil,
            keepsAlive: false, hasBody: hasBody, context)
    }

    private func respond(
        _ status: HTTPResponseStatus, _ response: Response, _ requestID: String?,
        keepsAlive: Bool, hasBody: Bool = true, _ context: ChannelHandlerContext
    ) {
        state = keepsAlive ? .idle : .over
        let parts = HTTPMessage.response(
            status, type: "application/json",
            ByteBuffer(bytes: response.line(requestID: requestID)), keepsAlive: keepsAlive,
            hasBody: hasBody)
        for part in parts { context.write(wrapOutboundOut(part), promise: nil) }
        context.flush()
        if keepsAlive { readMore(context) } else { end(context) }
    }

    private func end(_ context: ChannelHandlerContext) {
        if isConnected { connection.close() } else { context.close(mode: .output, promise: nil) }
    }
}
