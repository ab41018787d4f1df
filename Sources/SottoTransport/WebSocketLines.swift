public import NIOCore
public import NIOWebSocket
import Sotto

/// Between lines and WebSocket (RFC 6455): each line goes out as one text message, and each message comes in as one
/// line.
///
/// JSON has line feeds between its tokens only. One in a message becomes a carriage return, which is white space as well, and
/// as little allowed in a string. What a server is sent against the protocol is answered by a close frame; the error, a
/// ``WebSocketViolation``, goes on, and whoever gets it closes. Belongs to its event loop, which is why it may call
/// itself Sendable.
public final class WebSocketLines: ChannelDuplexHandler, @unchecked Sendable {
    /// Frames come in.
    public typealias InboundIn = WebSocketFrame
    /// Lines go on.
    public typealias InboundOut = ByteBuffer
    /// Lines come to be sent.
    public typealias OutboundIn = ByteBuffer
    /// Frames go out.
    public typealias OutboundOut = WebSocketFrame

    private let isClient: Bool
    private var rest = ByteBuffer()
    private var isClosing = false
    /// What the last ping of this read said. One pong answers all pings of a read (§5.5.3).
    private var ping: ByteBuffer?

    /// The handler of a client, which masks what it sends (§5.3), or of a server.
    public init(isClient: Bool) { self.isClient = isClient }

    // MARK: In

    /// Hands a message on as a line, and answers what is the protocol's own.
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
            // Answered in kind (§5.5.1), with the code that came.
            if !isClosing {
                isClosing = true
                send(.connectionClose, frame.unmaskedData, context)
                context.flush()
            }
            context.close(promise: nil)
        default: break
        }
        // Nothing more, but whole: whoever waits for the end of what has begun need not.
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

    /// Says to the other side what it did wrong.
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
        // After its close frame an endpoint says nothing (§5.5.1).
        guard !isClosing else {
            promise?.succeed()
            return
        }
        var lines = unwrapOutboundIn(data)
        rest.writeBuffer(&lines)
        while let feed = rest.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
            let line = rest.readSlice(length: feed - rest.readerIndex) ?? ByteBuffer()
            rest.moveReaderIndex(forwardBy: 1)
            send(.text, line, context)
        }
        rest.discardReadBytes()
        promise?.succeed()
    }

    /// Says goodbye (§7.1.2), and closes.
    public func close(
        context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?
    ) {
        if !isClosing, context.channel.isActive, mode != .input {
            isClosing = true
            // 1000, a normal end (§7.4.1).
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
