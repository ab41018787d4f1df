public import NIOCore
public import NIOWebSocket

/// What ends a WebSocket connection, with the code that its close frame says (RFC 6455 §7.4.1).
public struct WebSocketViolation: Error, Sendable, Equatable {
    /// The code.
    public let code: UInt16

    /// Against the protocol: 1002.
    public static let protocolError = WebSocketViolation(code: 1002)
    /// A message over the limit: 1009.
    public static let tooLong = WebSocketViolation(code: 1009)

    /// What an error of the decoder, the aggregator or ``WebSocketRules`` means; `nil` for one that is none of theirs.
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

/// What a server demands of each frame and its decoder does not: a mask (RFC 6455 §5.1), no reserved bit or opcode (§5.2),
/// and in a close frame nothing or a code that may be sent (§7.4).
///
/// The first frame that is otherwise is the last one: an error goes on in its place. Belongs to its event loop, which is why
/// it may call itself Sendable.
public final class WebSocketRules: ChannelInboundHandler, @unchecked Sendable {
    /// Frames come in.
    public typealias InboundIn = WebSocketFrame
    /// Those that keep to the rules go on.
    public typealias InboundOut = WebSocketFrame

    private var isBroken = false

    /// The rules of one connection; they stand before the aggregator, which takes the masks away.
    public init() {}

    /// Hands a frame on, or the error that it is.
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
