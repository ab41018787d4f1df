import NIOCore
import NIOHTTP1
import SottoWire

/// What stands before the decoders of HTTP and WebSocket: it notes when bytes come that are no whole line yet, and lets
/// through only so many of which the decoder makes nothing. White space before a header's value, for instance, it keeps
/// without counting.
///
/// Belongs to its event loop, which is why it may call itself Sendable.
final class HTTPGuard: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connection: ClientConnection
    private let decoded: HTTPPartCount
    private var parts = 0
    private var bytes = 0
    private var isOver = false

    /// The guard of a connection, before the decoder whose output `decoded` counts.
    init(of connection: ClientConnection, _ decoded: HTTPPartCount) {
        self.connection = connection
        self.decoded = decoded
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        connection.noteBegun()
        guard connection.isOfRequests else { return context.fireChannelRead(data) }
        if decoded.parts != parts {
            parts = decoded.parts
            bytes = 0
        }
        // One read may be longer, and full of requests: what counts is what came before it.
        guard bytes <= WireLimits.requestBytes else {
            isOver = true
            return context.fireErrorCaught(HTTPParserError.headerOverflow)
        }
        bytes += unwrapInboundIn(data).readableBytes
        context.fireChannelRead(data)
    }
}

/// Counts what a decoder makes: heads, pieces of bodies, ends.
///
/// Belongs to its event loop, which is why it may call itself Sendable.
final class HTTPPartCount: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = NIOAny

    private(set) var parts = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        parts += 1
        context.fireChannelRead(data)
    }
}
