import NIOCore
import NIOHTTP1
import Sotto
import SottoWire

/// HTTP/1.1 requests to frames, and the frames that answer them to responses.
///
/// | request | frame |
/// |---|---|
/// | `POST /api/messages` | `send`; the body is an envelope |
/// | `GET /api/messages/poll?max=&after=&dead=` | `fetch` |
/// | `POST /api/messages/ack` | `ack`; the body is `{"ids","status"}` or `{"messageId","status"}` |
/// | `POST /api/frames` | the body |
///
/// A header `Authorization: Bearer TOKEN` resumes a session first. Belongs to its event loop, which is why it may call
/// itself Sendable.
final class HTTPFront: ChannelDuplexHandler, RemovableChannelHandler, @unchecked Sendable {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = HTTPServerResponsePart

    private enum State {
        case idle
        case body(HTTPRequestHead, ByteBuffer)
        /// So many answers of the connection are to come; the last one is the response.
        case waiting(keepsAlive: Bool, answers: Int)
        case over
    }

    private let connection: ClientConnection
    private var state = State.idle
    private var isConnected = false

    /// The front of a connection that is not in the pipeline yet.
    init(to connection: ClientConnection) {
        self.connection = connection
        connection.isOfRequests = true
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (unwrapInboundIn(data), state) {
        case (.head(let head), .idle):
            connection.noteBegun()
            state = .body(head, ByteBuffer())
        case (.body(var part), .body(let head, var body)):
            guard body.readableBytes + part.readableBytes <= WireLimits.requestBytes else {
                return refuse(.tooLarge, context)
            }
            state = .over  // so that the buffer is not copied
            body.writeBuffer(&part)
            state = .body(head, body)
        case (.end, .body(let head, let body)): take(head, Array(body.readableBytesView), context)
        default: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if case .waiting = state {} else { context.read() }
        if isConnected { context.fireChannelReadComplete() }
    }

    private func take(_ head: HTTPRequestHead, _ body: [UInt8], _ context: ChannelHandlerContext) {
        let frame: [UInt8]
        do throws(HTTPRefusal) {
            frame = try HTTPRoute.frame(head, body)
        } catch {
            return respond(error.status, error.frame, keepsAlive: head.isKeepAlive, context)
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

    private static func token(_ head: HTTPRequestHead) -> String? {
        guard let value = head.headers.first(name: "authorization") else { return nil }
        let words = value.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
        return String(words[1])
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
        // A token that does not serve ends the matter.
        guard answers == 1 || status != .ok else {
            state = .waiting(keepsAlive: keepsAlive, answers: answers - 1)
            return
        }
        respond(status, line, keepsAlive: keepsAlive && answers == 1, context)
    }

    private static func status(of line: [UInt8]) -> HTTPResponseStatus {
        // Only refusals are parsed: a page of mail is long.
        guard ["error", "rejected", "deferred"].contains(where: { Frame.begins(line, type: $0) })
        else { return .ok }
        guard let frame = try? Frame(parsing: line) else { return .internalServerError }
        let code = frame.payload["code"]?.integer.flatMap { Int(exactly: $0) } ?? 400
        return HTTPResponseStatus(statusCode: (400...599).contains(code) ? code : 400)
    }

    private func refuse(_ reason: Reason, _ context: ChannelHandlerContext) {
        respond(
            HTTPResponseStatus(statusCode: Int(reason.code)),
            Response.error(Refusal(reason)).line(), keepsAlive: false, context)
    }

    private func respond(
        _ status: HTTPResponseStatus, _ line: [UInt8], keepsAlive: Bool,
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
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: line)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        if keepsAlive {
            context.read()
        } else if isConnected {
            connection.close()
        } else {
            context.close(mode: .output, promise: nil)
        }
    }
}

/// Why a request is no frame.
struct HTTPRefusal: Error {
    let status: HTTPResponseStatus
    let frame: [UInt8]

    init(_ status: HTTPResponseStatus, _ reason: Reason) {
        self.status = status
        frame = Response.error(Refusal(reason)).line()
    }
}

/// The frame that an HTTP request stands for.
enum HTTPRoute {
    /// The frame's line, without a line feed.
    static func frame(_ head: HTTPRequestHead, _ body: [UInt8]) throws(HTTPRefusal) -> [UInt8] {
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = parts.count > 1 ? String(parts[1]) : ""
        switch (head.method, String(parts[0])) {
        case (.POST, "/api/messages"): return line("send", ["envelope": .object(try object(body))])
        case (.GET, "/api/messages/poll"): return line("fetch", try poll(query))
        case (.POST, "/api/messages/ack"): return line("ack", try ack(try object(body)))
        case (.POST, "/api/frames"):
            return body.map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: " ") : $0 }
        case (_, "/api/messages"), (_, "/api/messages/poll"), (_, "/api/messages/ack"),
            (_, "/api/frames"):
            throw HTTPRefusal(.methodNotAllowed, .unknownType)
        default: throw HTTPRefusal(.notFound, .unknownType)
        }
    }

    private static func line(_ type: String, _ payload: JSONObject) -> [UInt8] {
        Array(Frame(type: type, requestID: "http", payload: payload).line.dropLast())
    }

    private static func object(_ body: [UInt8]) throws(HTTPRefusal) -> JSONObject {
        guard let object = try? JSON.object(parsing: body) else {
            throw HTTPRefusal(.badRequest, .badJSON)
        }
        return object
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

    /// Also Message Flow's form, of one message.
    private static func ack(_ body: JSONObject) throws(HTTPRefusal) -> JSONObject {
        var payload: JSONObject = [:]
        payload["ids"] = body["ids"] ?? body["messageId"].map { .array([$0]) }
        payload["status"] = body["status"]
        return payload
    }
}
