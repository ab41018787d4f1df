import NIOCore
import NIOHTTP1
import Sotto
import SottoNetwork
import SottoWire

/// Translates HTTP/1.1 requests to frames, and responses of the connection to HTTP responses. ``HTTPRoute`` lists the
/// requests.
///
/// A request with a foreign `Origin` is refused before its body is read. A header `Authorization: Bearer TOKEN` first
/// resumes a session.
///
/// A client may send requests before it has the answers to earlier ones (RFC 9112 §9.3.2). The answers have the order
/// of the requests. Sends are served at once, so that one commit has several of them. Any other request waits until the
/// earlier ones are answered.
///
/// Used only on its event loop, which makes `@unchecked Sendable` safe.
final class HTTPCodec: ChannelDuplexHandler, RemovableChannelHandler, ClientCodec,
    @unchecked Sendable
{
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = HTTPServerResponsePart

    /// A part of a request, or the place of a syntax error.
    private enum Input {
        case part(HTTPServerRequestPart)
        case error
    }

    private enum State {
        case idle
        case body(HTTPRequestHead, ByteBuffer)
        /// A request, or the reason for refusing it, that waits for the answers to the earlier ones.
        case held(HTTPRequestHead, Result<IncomingFrame, HTTPRefusal>)
        case upload(HTTPUpload)
        case download(HTTPDownload)
        /// No more requests are served.
        case over
    }

    /// A request that the connection has and whose response is not written yet.
    private struct Pending {
        let number: Int
        let form: RelayProtocol
        let isSend: Bool
        /// Whether the connection stays open after the response.
        var keepsAlive: Bool
        /// The number of frames without an answer; the answer to the last one is the response.
        var answers: Int
        var response: (Response, requestID: String?)?

        /// Takes an answer. A refused token ends the request.
        mutating func take(_ answer: Response, _ requestID: String?) {
            guard response == nil else { return }
            let isRefused = HTTPCodec.status(of: answer) != .ok
            guard answers == 1 || isRefused else { return answers -= 1 }
            keepsAlive = keepsAlive && answers == 1
            response = (answer, requestID)
        }
    }

    private let connection: ClientConnection
    private var context: ChannelHandlerContext?
    private var state = State.idle
    private var isConnected = false
    /// Input that waits until it can be taken.
    private var input = CircularBuffer<Input>()
    private var isTaking = false
    /// Whether ``HTTPGuard`` holds more input that was read.
    var hasMore = false
    /// The protocol of the request that is read.
    private var form = RelayProtocol.own
    /// The frames that the connection has not taken yet.
    private var frames: [IncomingFrame] = []
    /// The requests without a response, in their order.
    private var pending = CircularBuffer<Pending>()
    private var lastNumber = 0
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
        guard !connection.isClosing else { return }
        input.append(.part(unwrapInboundIn(data)))
        takeInput(context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if mayRead(context) {
            context.read()
            // The changes of several slices are submitted together.
            if hasMore { return }
        }
        context.flush()
        if isConnected { context.fireChannelReadComplete() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        takeInput(context)
        context.flush()
        read(context: context)
        context.fireChannelWritabilityChanged()
    }

    func read(context: ChannelHandlerContext) { if mayRead(context) { context.read() } }

    /// Whether requests wait for their answers. Meanwhile nothing is read from the socket.
    var isAnswering: Bool { !pending.isEmpty && !connection.isClosing }

    /// Whether more may be read: no input waits, no answer for which the next request must wait, and the client reads its
    /// responses.
    private func mayRead(_ context: ChannelHandlerContext) -> Bool {
        if connection.isClosing { return true }
        switch state {
        case .held, .download: return false
        case .upload(let upload) where upload.isFull || !input.isEmpty: return false
        case .idle where !(input.isEmpty && servesOnlySends): return false
        case .idle, .body, .upload, .over: return context.channel.isWritable
        }
    }

    /// Whether all requests without a response are sends. Nothing follows another request.
    private var servesOnlySends: Bool { pending.last?.isSend != false }

    private func takeInput(_ context: ChannelHandlerContext) {
        guard !isTaking else { return }
        isTaking = true
        defer { isTaking = false }
        while true {
            if case .held(let head, let frame) = state, pending.isEmpty {
                take(head, frame, context)
            } else if let next = input.first, canTake(next, context) {
                input.removeFirst()
                take(next, context)
            } else {
                return
            }
        }
    }

    private func canTake(_ next: Input, _ context: ChannelHandlerContext) -> Bool {
        switch (next, state) {
        case (_, .over): true
        case (.part(.head(let head)), .idle):
            context.channel.isWritable && connection.canWork
                && (pending.isEmpty || servesOnlySends && Self.maySend(head))
        // A read can have the end of an upload and the request after it.
        case (.part(.head), _): false
        case (.error, .idle), (.error, .body): pending.isEmpty
        case (_, .held), (_, .download): false
        default: true
        }
    }

    /// Whether a request may be a send, and nothing in its head can make the relay refuse it.
    private static func maySend(_ head: HTTPRequestHead) -> Bool {
        head.method == .POST && HTTPRoute.sends.contains(head.uri)
            && (1...WireLimits.requestBytes).contains(announcedBytes(head))
            && !["authorization", "origin", "expect"].contains { head.headers.contains(name: $0) }
    }

    private func take(_ next: Input, _ context: ChannelHandlerContext) {
        switch (next, state) {
        case (.part(.head(let head)), .idle): begin(head, context)
        case (.part(.body(var part)), .upload(var upload)):
            state = .over  // releases the buffer, so that it is not copied
            upload.receive(&part)
            continueUpload(upload, context)
        case (.part(.body(var part)), .body(let head, var body)):
            guard body.readableBytes + part.readableBytes <= WireLimits.requestBytes else {
                return refuse(.tooLarge, context)
            }
            state = .over  // releases the buffer, so that it is not copied
            body.writeBuffer(&part)
            state = .body(head, body)
        case (.part(.end), .body(let head, let body)):
            do throws(HTTPRefusal) {
                let frame = try HTTPRoute.frame(head, Array(body.readableBytesView))
                state = .held(head, .success(frame))
                if frame.isSend, head.token == nil { take(head, .success(frame), context) }
            } catch {
                state = .held(head, .failure(error))
            }
        case (.error, .over), (.error, .download): break
        case (.error, _):
            respond(
                .badRequest, .error(Refusal(.badFrame)), nil, form, keepsAlive: false, context)
        default: break
        }
    }

    /// Takes the head of a request.
    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        form = HTTPRoute.form(of: head)
        guard connection.admitsOrigin(head.headers) else {
            return refuse(.foreignOrigin, context, hasBody: head.method != .HEAD)
        }
        let blob: BlobHTTP?
        do throws(HTTPRefusal) { blob = try BlobHTTP(head) } catch {
            return respond(
                error.status, .error(Refusal(error.reason)), nil, form, keepsAlive: false,
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
    }

    /// Passes a complete request on, or refuses it.
    private func take(
        _ head: HTTPRequestHead, _ frame: Result<IncomingFrame, HTTPRefusal>,
        _ context: ChannelHandlerContext
    ) {
        switch frame {
        case .success(let frame):
            let login = head.token.map {
                IncomingFrame(.resume(token: $0), to: "authorization")
            }
            ask(
                [login, frame].compactMap(\.self), isSend: frame.isSend && login == nil,
                keepsAlive: head.isKeepAlive, context)
        case .failure(let refusal):
            state = .idle
            respond(
                refusal.status, .error(Refusal(refusal.reason)), nil, form,
                keepsAlive: head.isKeepAlive, hasBody: head.method != .HEAD, context)
            // Resets the line timeout that HTTPGuard started.
            if isConnected { context.fireChannelRead(wrapInboundOut(ByteBuffer())) }
        }
    }

    /// Gives the frames of a request to the connection.
    private func ask(
        _ frames: [IncomingFrame], isSend: Bool = false, keepsAlive: Bool,
        _ context: ChannelHandlerContext
    ) {
        lastNumber += 1
        state = keepsAlive ? .idle : .over
        pending.append(
            Pending(
                number: lastNumber, form: form, isSend: isSend, keepsAlive: keepsAlive,
                answers: frames.count))
        for var frame in frames {
            frame.number = lastNumber
            self.frames.append(frame)
        }
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
            let frame = IncomingFrame(.deleteBlob(id: id, key: key), to: HTTPRoute.requestID)
            ask([frame], keepsAlive: head.isKeepAlive, context)
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
        if let piece { ask(.putBlob(piece), context) } else { read(context: context) }
    }

    private func answer(
        _ upload: HTTPUpload, _ response: Response, _ context: ChannelHandlerContext
    ) {
        var upload = upload
        state = .over
        if upload.take(response) { return continueUpload(upload, context) }
        state = .idle
        // The rest of a refused body is not read.
        respond(
            upload.isStored(response) ? Self.status(of: response) : .conflict, response, nil, form,
            keepsAlive: upload.keepsAlive && upload.isDone, context)
    }

    private func answer(
        _ download: HTTPDownload, _ response: Response, _ context: ChannelHandlerContext
    ) {
        var download = download
        state = .idle
        switch response {
        case .blob(let blob):
            guard blob.isComplete, let range = BlobHTTP.range(download.range, of: blob.size) else {
                return respond(
                    blob.isComplete ? .rangeNotSatisfiable : .notFound,
                    .error(Refusal(blob.isComplete ? .badFields : .noBlob)), nil, form,
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
                Self.status(of: response), response, nil, form, keepsAlive: download.keepsAlive,
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

    /// Returns the length of the body, in bytes, that the request announces, or 0.
    private static func announcedBytes(_ head: HTTPRequestHead) -> Int {
        head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
    }

    /// Whether the client waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1).
    private static func awaitsContinue(_ head: HTTPRequestHead) -> Bool {
        head.version.minor > 0
            && head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
    }

    /// Refuses input that is not HTTP, after the responses to the earlier requests.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError else { return context.fireErrorCaught(error) }
        input.append(.error)
        takeInput(context)
    }

    // MARK: Responses

    func add(_ response: Response, to requestID: String?) { answers.append((response, requestID)) }

    func flush(_: ChannelHandlerContext) {
        guard let context else { return }
        repeat {
            let taken = answers
            answers = []
            for (response, requestID) in taken { answer(response, requestID, context) }
            takeInput(context)
        } while !answers.isEmpty
        context.flush()
        read(context: context)
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
        // Only the last request can be unreadable; its answer has no id. An id has no space.
        let words = requestID?.split(separator: " ") ?? ["\(lastNumber)"]
        let number = Int(words[0])
        guard let place = pending.firstIndex(where: { $0.number == number }) else { return }
        pending[place].take(response, words.count > 1 ? String(words[1]) : nil)
        while let first = pending.first, let (response, requestID) = first.response {
            pending.removeFirst()
            respond(
                Self.status(of: response), response, requestID, first.form,
                keepsAlive: first.keepsAlive, context)
        }
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
            HTTPResponseStatus(statusCode: Int(reason.code)), .error(Refusal(reason)), nil, form,
            keepsAlive: false, hasBody: hasBody, context)
    }

    private func respond(
        _ status: HTTPResponseStatus, _ response: Response, _ requestID: String?,
        _ form: RelayProtocol, keepsAlive: Bool, hasBody: Bool = true, headers: HTTPHeaders = [:],
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
        context.write(wrapOutboundOut(.end(nil)), promise: nil)
        guard !keepsAlive else { return }
        state = .over
        context.flush()
        if isConnected { connection.close() } else { context.close(mode: .output, promise: nil) }
    }
}
