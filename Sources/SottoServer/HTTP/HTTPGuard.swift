import NIOCore
import NIOHTTP1
import NIOWebSocket
import SottoWire

/// Guards the decoders of HTTP and WebSocket. It starts the line timeout when bytes arrive, limits the bytes that the
/// HTTP decoder buffers without output, and passes the bytes of a read on in slices.
///
/// The HTTP decoder keeps white space before a header's value, for instance, without counting it. The WebSocket decoder
/// decodes all that it has: one read can be 10,000 pings. A slice is at most 256 pings, and the next one waits until
/// the connection has been charged for them.
///
/// Used only on its event loop, which makes `@unchecked Sendable` safe.
final class HTTPGuard: ChannelDuplexHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The most bytes that the decoder gets at once.
    private static let sliceBytes = 1536

    private let connection: ClientConnection
    private let decoded: HTTPPartCount
    private var parts = 0
    private var bytes = 0
    private var isOver = false

    /// Bytes that were read and not passed on yet.
    private var held = ByteBuffer()
    private var isPassing = false
    /// Whether the next handler asked for more while bytes were passed on.
    private var isAsked = false
    /// Whether the connection was closing when the last slice was passed on.
    private var wasClosing = false

    /// Creates the guard of a connection, before the decoder whose output `decoded` counts.
    init(of connection: ClientConnection, _ decoded: HTTPPartCount) {
        self.connection = connection
        self.decoded = decoded
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        connection.noteBegun()
        var read = unwrapInboundIn(data)
        if held.readableBytes == 0 { held = read } else { held.writeBuffer(&read) }
    }

    func channelReadComplete(context: ChannelHandlerContext) { passOn(context) }

    func read(context: ChannelHandlerContext) {
        isAsked = true
        if !isPassing { passOn(context, onlyIfHeld: true) }
    }

    /// Passes on slices while the connection can handle them. Reads from the socket when none is left and the next
    /// handler has asked for more.
    private func passOn(_ context: ChannelHandlerContext, onlyIfHeld: Bool = false) {
        guard !isPassing else { return }
        isPassing = true
        if !onlyIfHeld || held.readableBytes > 0 {
            repeat {
                isAsked = false
                passSlices(context)
                connection.http?.hasMore = held.readableBytes > 0
                context.fireChannelReadComplete()
            } while isAsked && held.readableBytes > 0
        }
        isPassing = false
        guard isAsked, connection.http?.isAnswering != true else { return }
        isAsked = false
        context.read()
    }

    private func passSlices(_ context: ChannelHandlerContext) {
        while let slice = nextSlice() {
            guard connection.isHTTP else {
                context.fireChannelRead(wrapInboundOut(slice))
                continue
            }
            guard isWithinLimit(slice) else {
                isOver = true
                held.clear()
                return context.fireErrorCaught(HTTPParserError.headerOverflow)
            }
            // One for each read that the next handler asks for: the slice may end with the handshake of WebSocket.
            return context.fireChannelRead(wrapInboundOut(slice))
        }
    }

    /// Returns the next slice, or `nil` without one, or while it must wait.
    private func nextSlice() -> ByteBuffer? {
        guard held.readableBytes > 0 else { return nil }
        if connection.isClosing {
            // One slice, which probably has the client's close frame. The rest is dropped.
            guard !wasClosing else {
                held.clear()
                return nil
            }
            wasClosing = true
        } else if !connection.isHTTP, !connection.canWork {
            return nil
        }
        // The body of an upload needs no decoding.
        let most = max(Self.sliceBytes, connection.http?.expectedBytes ?? 0)
        return held.readSlice(length: min(held.readableBytes, most))
    }

    /// Whether the HTTP decoder may get another slice: it has not buffered more than a request since its last output.
    private func isWithinLimit(_ slice: ByteBuffer) -> Bool {
        if decoded.parts != parts {
            parts = decoded.parts
            bytes = 0
        }
        // A slice can contain the ends of requests, so only the bytes before it count.
        defer { bytes += slice.readableBytes }
        return bytes <= WireLimits.requestBytes
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

/// Counts the fragments of WebSocket messages (RFC 6455 §5.4) before they are joined, so that a message of many is
/// charged like many frames.
///
/// Used only on its event loop, which makes `@unchecked Sendable` safe.
final class FragmentCount: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    private let connection: ClientConnection

    /// Creates the counter of a connection.
    init(of connection: ClientConnection) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !unwrapInboundIn(data).fin { connection.noteEmptyFrame() }
        context.fireChannelRead(data)
    }
}
