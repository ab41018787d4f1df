import NIOCore
import NIOHTTP1
import SottoWire

/// Guards the decoders of HTTP and WebSocket: it starts the line timeout when bytes arrive, and limits the bytes that
/// the decoder buffers without output. The decoder keeps white space before a header's value, for instance, without
/// counting it.
///
/// Used only on its event loop, which makes `@unchecked Sendable` safe.
final class HTTPGuard: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connection: ClientConnection
    private let decoded: HTTPPartCount
    private var parts = 0
    private var bytes = 0
    private var isOver = false

    /// Creates the guard of a connection, before the decoder whose output `decoded` counts.
    init(of connection: ClientConnection, _ decoded: HTTPPartCount) {
        self.connection = connection
        self.decoded = decoded
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        connection.noteBegun()
        guard connection.isHTTP else { return context.fireChannelRead(data) }
        if decoded.parts != parts {
            parts = decoded.parts
            bytes = 0
        }
        // One read may be longer and contain many requests, so only the bytes before it count.
        guard bytes <= WireLimits.requestBytes else {
            isOver = true
            return context.fireErrorCaught(HTTPParserError.headerOverflow)
        }
        bytes += unwrapInboundIn(data).readableBytes
        context.fireChannelRead(data)
    }
}

/// Counts the output of a decoder: heads, pieces of bodies, ends.
///
/// Used only on its event loop, which makes `@unchecked Sendable` safe.
final class HTTPPartCount: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = NIOAny

    private(set) var parts = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        parts += 1
        context.fireChannelRead(data)
    }
}
