import NIOCore
import NIOHTTP1
import Sotto
import SottoWire

/// Translates HTTP/1.1 requests to frames, and the answers of the connection to HTTP responses.
///
/// | request | frame |
/// |---|---|
/// | `POST /api/messages` | `send`; the body is an envelope |
/// | `GET /api/messages/poll?max=&after=&dead=` | `fetch` |
/// | `POST /api/messages/ack` | `ack`; the body is `{"ids","status"}` or `{"messageId","status"}` |
/// | `POST /api/frames` | the body |
///
/// A request with a foreign `Origin` is refused before its body is read. A header `Authorization: Bearer TOKEN` first
/// resumes a session. Used only on its event loop, which makes `@unchecked Sendable` safe.
final class HTTPFront: ChannelDuplexHandler, RemovableChannelHandler, @unchecked Sendable {
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
    private var state = State.idle
    private var isConnected = false

    /// Creates the front of a connection that is not in the pipeline yet.
    init(to connection: ClientConnection) {
        self.connection = connection
        connection.isHTTP = true
    }

    // MARK: Requests

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
        let frame: [UInt8]
        do throws(HTTPRefusal) {
            frame = try HTTPRoute.frame(head, body)
        } catch {
            state = .stalled(head, error)
            return answerRefused(context)
        }
        var lines = ByteBuffer()
        var answers = 1
        if let token = Self.token(head) {
            answers = 2
            lines.writeBytes(Request.resume(token: token).line(requestID: "authorization"))
        }
        lines.writeBytes(frame)
        lines.writeInteger(UInt8(ascii: "\n"))
        state = .waiting(keepsAlive: head.isKeepAlive, answers: answers)
        if !isConnected {
            isConnected = true
            do {
                try context.pipeline.syncOperations.addHandler(connection, position: .after(self))
            } catch {
                return context.close(promise: nil)
            }
        }
        connection.beginRequest()
        context.fireChannelRead(wrapInboundOut(lines))
        context.fireChannelReadComplete()
    }

    /// Answers a request that could not become a frame.
    private func answerRefused(_ context: ChannelHandlerContext) {
        guard case .stalled(let head, let refusal) = state, context.channel.isWritable else {
            return
        }
        respond(
            refusal.status, refusal.frame, keepsAlive: head.isKeepAlive,
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

    func write(
        context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
    ) {
        for line in unwrapOutboundIn(data).readableBytesView.split(separator: UInt8(ascii: "\n")) {
            answer(Array(line), context)
        }
        promise?.succeed()
    }

    private func answer(_ line: [UInt8], _ context: ChannelHandlerContext) {
        guard case .waiting(let keepsAlive, let answers) = state else { return }
        let status = Self.status(of: line)
        // A refused token ends the request.
        guard answers == 1 || status != .ok else {
            state = .waiting(keepsAlive: keepsAlive, answers: answers - 1)
            return
        }
        respond(status, line, keepsAlive: keepsAlive && answers == 1, context)
    }

    private static func status(of line: [UInt8]) -> HTTPResponseStatus {
        // Only refusals are parsed; a page of envelopes is long.
        guard ["error", "rejected", "deferred"].contains(where: { Frame.begins(line, type: $0) })
        else { return .ok }
        guard let frame = try? Frame(parsing: line) else { return .internalServerError }
        let code = frame.payload["code"]?.integer.flatMap { Int(exactly: $0) } ?? 400
        return HTTPResponseStatus(statusCode: (400...599).contains(code) ? code : 400)
    }

    private func refuse(
        _ reason: Reason, _ context: ChannelHandlerContext, hasBody: Bool = true
    ) {
        respond(
            HTTPResponseStatus(statusCode: Int(reason.code)),
            Response.error(Refusal(reason)).line(), keepsAlive: false, hasBody: hasBody, context)
    }

    private func respond(
        _ status: HTTPResponseStatus, _ line: [UInt8], keepsAlive: Bool, hasBody: Bool = true,
        _ context: ChannelHandlerContext
    ) {
        state = keepsAlive ? .idle : .over
        let line = line.last == UInt8(ascii: "\n") ? line : line + [UInt8(ascii: "\n")]
        var headers = HTTPHeaders([
            ("content-type", "application/json"), ("content-length", String(line.count)),
            ("cache-control", "no-store"),
        ])
        if !keepsAlive { headers.add(name: "connection", value: "close") }
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if hasBody {
            let body = ByteBuffer(bytes: line)
            context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        if keepsAlive { readMore(context) } else { end(context) }
    }

    private func end(_ context: ChannelHandlerContext) {
        if isConnected { connection.close() } else { context.close(mode: .output, promise: nil) }
    }
}

/// The refusal of a request that is not a frame.
struct HTTPRefusal: Error {
    let status: HTTPResponseStatus
    let frame: [UInt8]

    init(_ status: HTTPResponseStatus, _ reason: Reason) {
        self.status = status
        frame = Response.error(Refusal(reason)).line()
    }
}

/// Translates an HTTP request to a frame.
enum HTTPRoute {
    /// Returns the frame's line, without a line feed.
    static func frame(_ head: HTTPRequestHead, _ body: [UInt8]) throws(HTTPRefusal) -> [UInt8] {
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = parts.count > 1 ? String(parts[1]) : ""
        switch (head.method, String(parts[0])) {
        case (.POST, "/api/messages"):
            return try isObject(body) ? sendLine(body) : line(body)
        case (.GET, "/api/messages/poll"): return line("fetch", try poll(query))
        case (.POST, "/api/messages/ack"):
            guard try isObject(body), let object = object(body) else { return line(body) }
            return line("ack", ack(object))
        case (.POST, "/api/frames"): return line(body)
        case (_, "/api/messages"), (_, "/api/messages/poll"), (_, "/api/messages/ack"),
            (_, "/api/frames"):
            throw HTTPRefusal(.methodNotAllowed, .unknownType)
        default: throw HTTPRefusal(.notFound, .unknownType)
        }
    }

    private static func line(_ type: String, _ payload: JSONObject) -> [UInt8] {
        Array(Frame(type: type, requestID: "http", payload: payload).line.dropLast())
    }

    /// Returns a body as a line. In JSON a line feed is white space or an error, and so is the carriage return that
    /// replaces it.
    private static func line(_ body: [UInt8]) -> [UInt8] {
        body.map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: "\r") : $0 }
    }

    /// Returns whether a JSON body is one object. Throws for a body with too many values to be parsed.
    private static func isObject(_ body: [UInt8]) throws(HTTPRefusal) -> Bool {
        let outline = FrameOutline(of: body, limit: WireLimits.frameValues)
        guard !outline.isOverLimit else { throw HTTPRefusal(.payloadTooLarge, .tooLarge) }
        return outline.isOneObject
    }

    /// Returns the frame that sends an envelope; its braces are balanced.
    private static func sendLine(_ envelope: [UInt8]) -> [UInt8] {
        Array(Request.sendLine(line(envelope), requestID: "http").dropLast())
    }

    /// Returns the object in a body, or `nil`. A body without one is sent on: the connection refuses it and counts it.
    private static func object(_ body: [UInt8]) -> JSONObject? {
        try? JSON.object(parsing: body)
    }

    private static func poll(_ query: String) throws(HTTPRefusal) -> JSONObject {
        var payload: JSONObject = [:]
        for parameter in query.split(separator: "&") {
            let pair = parameter.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, payload[String(pair[0])] == nil else {
                throw HTTPRefusal(.badRequest, .badFields)
            }
            switch (pair[0], Int64(pair[1])) {
            case ("max", let number?), ("after", let number?):
                payload[String(pair[0])] = .integer(number)
            case ("dead", _) where ["true", "false"].contains(pair[1]):
                payload["dead"] = .bool(pair[1] == "true")
            default: throw HTTPRefusal(.badRequest, .badFields)
            }
        }
        return payload
    }

    /// Returns the payload of an `ack` frame; `messageId` is Message Flow's form for one message.
    private static func ack(_ body: JSONObject) -> JSONObject {
        var payload: JSONObject = [:]
        payload["ids"] = body["ids"] ?? body["messageId"].map { .array([$0]) }
        payload["status"] = body["status"]
        return payload
    }
}
