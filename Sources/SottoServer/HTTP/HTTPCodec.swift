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
        case upload(HTTPUpload)
        case download(HTTPDownload)
        /// A refused request whose response waits until the client has read the earlier responses.
        case stalled(HTTPRequestHead, HTTPRefusal)
        case over
    }

    private let connection: ClientConnection
    private var context: ChannelHandlerContext?
    private var state = State.idle
    private var isConnected = false
    /// The protocol of the request.
    private var form = RelayProtocol.own
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
            form = HTTPRoute.form(of: head)
            guard connection.admitsOrigin(head.headers) else {
                return refuse(.foreignOrigin, context, hasBody: head.method != .HEAD)
            }
            let blob: BlobHTTP?
            do throws(HTTPRefusal) { blob = try BlobHTTP(head) } catch {
                return respond(
                    error.status, .error(Refusal(error.reason)), nil, keepsAlive: false,
                    hasBody: head.method != .HEAD, context)
            }
            if blob == nil, Self.announcedBytes(head) > WireLimits.requestBytes {
                return refuse(.tooLarge, context)
            }
            if Self.awaitsContinue(head) {
                let head = HTTPResponseHead(version: .http1_1, status: .continue)
                context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
            }
            if let blob { begin(blob, head, context) } else { state = .body(head, ByteBuffer()) }
        case (.body(var part), .upload(var upload)):
            state = .over  // releases the buffer, so that it is not copied
            upload.receive(&part)
            continueUpload(upload, context)
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
        case .waiting, .stalled, .download: return
        case .upload(let upload) where upload.isFull: return
        case .idle, .body, .upload, .over: break
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
        if let token = head.token {
            frames.insert(IncomingFrame(.resume(token: token), to: "authorization"), at: 0)
        }
        state = .waiting(keepsAlive: head.isKeepAlive, answers: frames.count)
        deliver(context)
    }

    /// Lets the connection take the frames.
    private func deliver(_ context: ChannelHandlerContext) {
        if !isConnected {
            isConnected = true
            do {
                try context.pipeline.syncOperations.addHandler(connection, position: .after(self))
            } catch {
                return context.close(promise: nil)
            }
        }
        connection.receiveRequest(as: form)
        context.fireChannelReadComplete()
    }

    // MARK: Blobs

    /// The bytes of the body of an upload that were not received yet.
    var expectedBytes: Int {
        if case .upload(let upload) = state { upload.expected } else { 0 }
    }

    private func begin(
        _ blob: BlobHTTP, _ head: HTTPRequestHead, _ context: ChannelHandlerContext
    ) {
        switch blob {
        case .upload(let piece, let count):
            state = .upload(HTTPUpload(piece, count: count, keepsAlive: head.isKeepAlive))
        case .download(let id, let range, let isHead):
            let download = HTTPDownload(
                id: id, range: range, isHead: isHead, keepsAlive: head.isKeepAlive)
            state = .download(download)
            ask(download.request, context)
        case .delete(let id, let key):
            state = .waiting(keepsAlive: head.isKeepAlive, answers: 1)
            ask(.deleteBlob(id: id, key: key), context)
        }
    }

    private func ask(_ request: Request, _ context: ChannelHandlerContext) {
        frames = [IncomingFrame(request, to: HTTPRoute.requestID)]
        deliver(context)
    }

    /// Passes the next piece of an upload on.
    private func continueUpload(_ upload: HTTPUpload, _ context: ChannelHandlerContext) {
        var upload = upload
        let piece = upload.nextPiece()
        state = .upload(upload)
        if let piece { ask(.putBlob(piece), context) } else { readMore(context) }
    }

    private func answer(
        _ upload: HTTPUpload, _ response: Response, _ context: ChannelHandlerContext
    ) {
        var upload = upload
        state = .over
        if upload.take(response) { return continueUpload(upload, context) }
        // The rest of a refused body is not read.
        respond(
            upload.isStored(response) ? Self.status(of: response) : .conflict, response, nil,
            keepsAlive: upload.keepsAlive && upload.isDone, context)
    }

    private func answer(
        _ download: HTTPDownload, _ response: Response, _ context: ChannelHandlerContext
    ) {
        var download = download
        switch response {
        case .blob(let blob):
            guard blob.isComplete, let range = BlobHTTP.range(download.range, of: blob.size) else {
                return respond(
                    blob.isComplete ? .rangeNotSatisfiable : .notFound,
                    .error(Refusal(blob.isComplete ? .badFields : .noBlob)), nil,
                    keepsAlive: download.keepsAlive, hasBody: !download.isHead,
                    headers: blob.isComplete
                        ? ["content-range": "bytes */\(blob.size)"]
                        : ["upload-offset": "\(blob.have)"], context)
            }
            context.write(
                wrapOutboundOut(.head(Self.head(of: blob, range, download))), promise: nil)
            download.left = download.isHead ? range.upperBound..<range.upperBound : range
        case .blobData(let bytes):
            context.write(
                wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: bytes)))), promise: nil)
            download.left = download.left.map { $0.dropFirst(bytes.count) }
        default:
            // The blob is gone, or the client is over its rate.
            guard download.left == nil else {
                state = .over
                return context.close(promise: nil)
            }
            return respond(
                Self.status(of: response), response, nil, keepsAlive: download.keepsAlive,
                hasBody: !download.isHead, context)
        }
        guard download.left?.isEmpty == true else {
            state = .download(download)
            context.flush()
            return ask(download.request, context)
        }
        finish(keepsAlive: download.keepsAlive, context)
    }

    private static func head(
        of blob: BlobState, _ range: Range<Int64>, _ download: HTTPDownload
    ) -> HTTPResponseHead {
        var headers: HTTPHeaders = [
            "content-type": "application/octet-stream", "cache-control": "no-store",
            "accept-ranges": "bytes", "content-length": "\(range.count)",
        ]
        let isWhole = range.count == blob.size
        if !isWhole {
            headers.add(
                name: "content-range",
                value: "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(blob.size)")
        }
        if !download.keepsAlive { headers.add(name: "connection", value: "close") }
        return HTTPResponseHead(
            version: .http1_1, status: isWhole ? .ok : .partialContent, headers: headers)
    }

    // MARK: Refusals

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
        switch state {
        case .upload(let upload) where upload.isWaiting:
            return answer(upload, response, context)
        case .download(let download): return answer(download, response, context)
        default: break
        }
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
        keepsAlive: Bool, hasBody: Bool = true, headers: HTTPHeaders = [:],
        _ context: ChannelHandlerContext
    ) {
        let body =
            form == .flow ? FlowWire.answer(response) : response.line(requestID: requestID)
        let parts = HTTPMessage.response(
            status, type: "application/json", ByteBuffer(bytes: body), keepsAlive: keepsAlive,
            hasBody: hasBody, headers: headers)
        for part in parts.dropLast() { context.write(wrapOutboundOut(part), promise: nil) }
        finish(keepsAlive: keepsAlive, context)
    }

    /// Ends a response.
    private func finish(keepsAlive: Bool, _ context: ChannelHandlerContext) {
        state = keepsAlive ? .idle : .over
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        if keepsAlive { readMore(context) } else { end(context) }
    }

    private func end(_ context: ChannelHandlerContext) {
        if isConnected { connection.close() } else { context.close(mode: .output, promise: nil) }
    }
}
