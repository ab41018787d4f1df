public import NIOCore
public import NIOWebSocket
import Sotto

/// Translates between lines and WebSocket messages (RFC 6455): each line is sent as one text message, and each
/// received message becomes one line.
///
/// In JSON, line feeds occur only between tokens. A line feed in a message becomes a carriage return, which is white
/// space too and equally forbidden in strings. A server answers a violation of the protocol with a close frame and
/// passes the error, a ``WebSocketViolation``, on; the handler that receives it closes the connection. Used only on its
/// event loop, which makes `@unchecked Sendable` safe.
public final class WebSocketLines: ChannelDuplexHandler, @unchecked Sendable {
    /// Frames are read.
    public typealias InboundIn = WebSocketFrame
    /// Lines are passed on.
    public typealias InboundOut = ByteBuffer
    /// Lines are written.
    public typealias OutboundIn = ByteBuffer
    /// Frames are sent.
    public typealias OutboundOut = WebSocketFrame

    private let isClient: Bool
    private var outgoing = OutgoingLines()
    private var isClosing = false
    /// The data of the last ping in this read. One pong answers all pings of a read (§5.5.3).
    private var ping: ByteBuffer?

    /// Creates the handler of a client, which masks its frames (§5.3), or of a server.
    public init(isClient: Bool) { self.isClient = isClient }

    // MARK: In

    /// Passes a message on as a line, and answers control frames.
    public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard !isClosing || frame.opcode == .connectionClose else { return }
        switch frame.opcode {
        case .text, .binary, .continuation:
            var line = frame.unmaskedData
            line.withUnsafeMutableReadableBytes { bytes in
                for place in bytes.indices where bytes[place] == UInt8(ascii: "\n") {
                    bytes[place] = UInt8(ascii: "\r")
                }
            }
            line.writeInteger(UInt8(ascii: "\n"))
            context.fireChannelRead(wrapInboundOut(line))
        case .ping: ping = frame.unmaskedData
        case .connectionClose:
            // The answer is a close frame with the received code (§5.5.1).
            if !isClosing {
                isClosing = true
                send(.connectionClose, frame.unmaskedData, context)
                context.flush()
            }
            context.close(promise: nil)
        default: break
        }
        // An empty buffer tells the next handler that the frame is complete, which ends its line timeout.
        if frame.opcode == .ping || frame.opcode == .pong {
            context.fireChannelRead(wrapInboundOut(ByteBuffer()))
        }
    }

    /// Answers the pings of a read.
    public func channelReadComplete(context: ChannelHandlerContext) {
        if let data = ping, !isClosing {
            send(.pong, data, context)
            context.flush()
        }
        ping = nil
        context.fireChannelReadComplete()
    }

    /// Sends a close frame with the code of a protocol violation, and passes the error on.
    public func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !isClient, let violation = WebSocketViolation(error) else {
            return context.fireErrorCaught(error)
        }
        guard !isClosing else { return }
        isClosing = true
        send(.connectionClose, ByteBuffer(integer: violation.code), context)
        context.flush()
        context.fireErrorCaught(violation)
    }

    // MARK: Out

    /// Sends each line as a text message.
    public func write(
        context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
    ) {
        // After its close frame an endpoint sends nothing (§5.5.1).
        guard !isClosing else {
            promise?.succeed()
            return
        }
        for line in outgoing.take(unwrapOutboundIn(data)) { send(.text, line, context) }
        promise?.succeed()
    }

    /// Sends a close frame (§7.1.2), and closes.
    public func close(
        context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?
    ) {
        if !isClosing, context.channel.isActive, mode != .input {
            isClosing = true
            // 1000 is a normal closure (§7.4.1).
            send(.connectionClose, ByteBuffer(bytes: [0x03, 0xE8]), context)
            context.flush()
        }
        context.close(mode: mode, promise: promise)
    }

    private func send(
        _ opcode: WebSocketOpcode, _ data: ByteBuffer, _ context: ChannelHandlerContext
    ) {
        var key: WebSocketMaskingKey?
        if isClient { key = WebSocketMaskingKey(randomBytes(4)) }
        let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: key, data: data)
        context.write(wrapOutboundOut(frame), promise: nil)
    }
}
