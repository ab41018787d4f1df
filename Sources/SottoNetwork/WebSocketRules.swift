public import NIOCore
public import NIOWebSocket

/// The reason for ending a WebSocket connection, with the code of its close frame (RFC 6455 §7.4.1).
public struct WebSocketViolation: Error, Sendable, Equatable {
    /// The code of the close frame.
    public let code: UInt16

    /// 1002: a protocol error.
    public static let protocolError = WebSocketViolation(code: 1002)
    /// 1009: a message over the limit.
    public static let tooLong = WebSocketViolation(code: 1009)

    /// Translates an error of the decoder, the aggregator or ``WebSocketRules``; returns `nil` for other errors.
    init?(_ error: any Error) {
        switch error {
        case let violation as WebSocketViolation: self = violation
        case NIOWebSocketError.invalidFrameLength: self = .tooLong
        case NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge,
            NIOWebSocketFrameAggregator.Error.tooManyFragments:
            self = .tooLong
        case is NIOWebSocketError, is NIOWebSocketFrameAggregator.Error: self = .protocolError
        default: return nil
        }
    }

    private init(code: UInt16) { self.code = code }
}

/// Checks the rules for a client's frames that NIO's decoder does not check: a mask (RFC 6455 §5.1), no reserved bit
/// or opcode (§5.2), and in a close frame no data or a code that may be sent (§7.4).
///
/// After the first invalid frame it passes on an error and no further frames. Used only on its event loop, which makes
/// `@unchecked Sendable` safe.
public final class WebSocketRules: ChannelInboundHandler, @unchecked Sendable {
    /// Frames are read.
    public typealias InboundIn = WebSocketFrame
    /// Valid frames are passed on.
    public typealias InboundOut = WebSocketFrame

    private var isBroken = false

    /// Creates the rules of one connection. Add them before the aggregator, which removes the masks.
    public init() {}

    /// Passes a valid frame on, or an error.
    public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isBroken else { return }
        guard Self.permit(unwrapInboundIn(data)) else {
            isBroken = true
            return context.fireErrorCaught(WebSocketViolation.protocolError)
        }
        context.fireChannelRead(data)
    }

    private static func permit(_ frame: WebSocketFrame) -> Bool {
        guard frame.maskKey != nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return false }
        switch frame.opcode {
        case .text, .binary, .continuation, .ping, .pong: return true
        case .connectionClose:
            let data = frame.unmaskedData
            guard data.readableBytes > 0 else { return true }
            guard let code = data.getInteger(at: data.readerIndex, as: UInt16.self) else {
                return false
            }
            switch code {
            case 1000...1003, 1007...1014, 3000...4999: return true
            default: return false
            }
        default: return false
        }
    }
}
