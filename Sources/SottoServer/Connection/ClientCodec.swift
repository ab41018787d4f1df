import NIOCore
import SottoWire

/// The next input of a client.
enum FrameInput {
    /// A frame.
    case frame(IncomingFrame)
    /// A line over the limit; nothing after it is read.
    case tooLong
    /// No complete frame; one may have begun.
    case incomplete(hasBegun: Bool)
}

/// Translates a client's bytes to frames, and responses to bytes: ``LineCodec`` or ``HTTPCodec``.
///
/// The connection takes the frames one by one, when it can work; until then they wait here as bytes.
protocol ClientCodec: AnyObject {
    /// Returns the next frame.
    func next() -> FrameInput
    /// Adds a response to the output. A push answers no request.
    func add(_ response: Response, to requestID: String?)
    /// Sends the output. `context` is that of the connection's handler.
    func flush(_ context: ChannelHandlerContext)
}

/// Newline-delimited JSON. WebSocket uses it too, because `WebSocketLines` translates each message to a line.
final class LineCodec: ClientCodec {
    /// The login of the handshake of a connection with ``RelayProtocol/flow``; `nil` on other connections.
    var flow: FlowHandshake?

    private var splitter = LineSplitter(limit: WireLimits.requestBytes)
    private var out = ByteBuffer()

    /// Adds bytes that were read.
    func receive(_ bytes: ByteBuffer) {
        bytes.withUnsafeReadableBytes { splitter.append($0) }
    }

    func next() -> FrameInput {
        if let frame = flow?.next() { return .frame(frame) }
        switch splitter.next() {
        case .line(let line): return .frame(IncomingFrame(line, as: flow == nil ? .own : .flow))
        case .tooLong: return .tooLong
        case .incomplete: return .incomplete(hasBegun: splitter.hasPartialLine)
        }
    }

    func add(_ response: Response, to requestID: String?) {
        guard flow?.shows(response, to: requestID) ?? true else { return }
        if flow != nil, case .newMessage(let delivered) = response {
            out.writeBytes(FlowWire.push(delivered.envelope))
        } else {
            out.writeBytes(response.line(requestID: requestID))
        }
    }

    func flush(_ context: ChannelHandlerContext) {
        guard out.readableBytes > 0 else { return }
        let lines = out
        out = ByteBuffer()
        context.writeAndFlush(NIOAny(lines), promise: nil)
    }
}
