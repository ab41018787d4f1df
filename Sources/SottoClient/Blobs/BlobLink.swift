import NIOCore
import NIOHTTP1
import NIOPosix
import Sotto
import SottoDatabase
import SottoWire

/// A connection for blobs: HTTP/1.1 requests to `/api/blobs`. Several may be in flight. Responses are received in the
/// order of the requests.
final class BlobLink: Sendable {
    /// A response of the relay.
    struct Response: Sendable {
        let status: Int
        /// The number of bytes that the relay has of a blob that is not complete.
        let uploadOffset: Int64?
        /// The length of the body that the header announces.
        let length: Int64?
        let body: [UInt8]
    }

    enum Event: Sendable {
        case response(Response)
        case closed(ClientError)
    }

    let relay: RelayURL
    private let channel: any Channel
    private let events: EventQueue<Event>

    private init(_ relay: RelayURL, _ channel: any Channel, _ events: EventQueue<Event>) {
        (self.relay, self.channel, self.events) = (relay, channel, events)
    }

    /// Connects within `timeout` seconds.
    static func open(
        to relay: RelayURL, group: MultiThreadedEventLoopGroup, timeout: Double
    ) throws(ClientError) -> BlobLink {
        let events = EventQueue<Event>()
        let connected = EventQueue<Result<any Channel, ClientError>>()
        let name = relay.description
        RelayLink.connect(to: relay, group: group) { plan, channel, ready in
            try plan.open(
                channel, ready: ready,
                blobs: BlobLinkHandler(relay: name) { events.put($0) })
        } done: {
            connected.put($0)
        }
        guard let result = connected.take(timeout: timeout).first else {
            throw .unreachable(relay: name, cause: "no answer")
        }
        return BlobLink(relay, try result.get(), events)
    }

    /// Sends a request about a blob. `query` follows the id.
    func send(
        _ method: HTTPMethod, _ id: [UInt8], query: String = "", headers: [(String, String)] = [],
        body: [UInt8] = []
    ) {
        let path = relay.path.hasSuffix("/") ? relay.path : relay.path + "/"
        var all: HTTPHeaders = ["host": relay.hostHeader]
        if method == .PUT { all.add(name: "content-length", value: "\(body.count)") }
        for (name, value) in headers { all.add(name: name, value: value) }
        let head = HTTPRequestHead(
            version: .http1_1, method: method, uri: path + "api/blobs/" + hex(id) + query,
            headers: all)
        let channel = channel
        channel.eventLoop.execute {
            channel.write(HTTPClientRequestPart.head(head), promise: nil)
            if !body.isEmpty {
                channel.write(
                    HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
            }
            channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        }
    }

    /// Returns the next response. Throws if the connection ends, or after `timeout` seconds without one.
    func response(timeout: Double) throws(ClientError) -> Response {
        switch events.takeOne(timeout: timeout) {
        case .response(let response)?: return response
        case .closed(let error)?: throw error
        case nil: throw .lost(relay: relay.description)
        }
    }

    func close() { channel.close(promise: nil) }
}

/// Collects the responses of a ``BlobLink``. Used only on its event loop, so it may be Sendable.
final class BlobLinkHandler: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = HTTPClientResponsePart

    /// The most bytes of a response's body.
    private static let bodyLimit = WireLimits.responseBytes

    private let relay: String
    private let onEvent: @Sendable (BlobLink.Event) -> Void
    private var head: HTTPResponseHead?
    private var body: [UInt8] = []
    private var isClosed = false

    init(relay: String, onEvent: @escaping @Sendable (BlobLink.Event) -> Void) {
        (self.relay, self.onEvent) = (relay, onEvent)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            (self.head, body) = (head, [])
            body.reserveCapacity(min(number("content-length").map { Int($0) } ?? 0, Self.bodyLimit))
        case .body(let part):
            body += part.readableBytesView
            if body.count > Self.bodyLimit { close(.notARelay(relay: relay), context) }
        case .end:
            guard let head, !isClosed else { return }
            onEvent(
                .response(
                    BlobLink.Response(
                        status: Int(head.status.code), uploadOffset: number("upload-offset"),
                        length: number("content-length"), body: body)))
            body = []
        }
    }

    private func number(_ name: String) -> Int64? {
        head?.headers.first(name: name).flatMap { Int64($0) }
    }

    func channelInactive(context: ChannelHandlerContext) { close(.lost(relay: relay), context) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The relay closes the connection within a response if the rest of the blob is gone.
        let isCut = error as? HTTPParserError == .invalidEOFState
        close(isCut ? .lost(relay: relay) : ClientError.of(error, relay: relay), context)
    }

    private func close(_ reason: ClientError, _ context: ChannelHandlerContext) {
        guard !isClosed else { return }
        isClosed = true
        onEvent(.closed(reason))
        context.close(promise: nil)
    }
}
