import NIOCore
import SottoWire

/// Splits received bytes into lines, and keeps the connection alive: sends a ping every minute, and closes the
/// connection if nothing arrived for 90 seconds. Reads nothing while too many events wait. Used only on its event loop, so it may be Sendable.
final class LinkHandler: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let relay: String
    private let onEvent: @Sendable (RelayLink.Event) -> Void
    private let isFull: @Sendable () -> Bool
    private var splitter = LineSplitter(limit: WireLimits.responseBytes)
    private var isClosed = false
    private var isPaused = false
    private var lastHeard = NIODeadline.now()
    private var beat: RepeatedTask?
    private var context: ChannelHandlerContext?

    init(
        relay: String, onEvent: @escaping @Sendable (RelayLink.Event) -> Void,
        isFull: @escaping @Sendable () -> Bool
    ) {
        self.relay = relay
        self.onEvent = onEvent
        self.isFull = isFull
    }

    func channelActive(context: ChannelHandlerContext) {
        lastHeard = .now()
        self.context = context
        beat = context.eventLoop.scheduleRepeatedTask(
            initialDelay: .seconds(30), delay: .seconds(30)
        ) { _ in self.keepAlive() }
        context.fireChannelActive()
    }

    private func keepAlive() {
        guard let context, !isPaused else { return }
        guard NIODeadline.now() - lastHeard < .seconds(90) else {
            return close(.lost(relay: relay), context)
        }
        let ping = ByteBuffer(bytes: Request.ping.line(requestID: "ping"))
        context.writeAndFlush(wrapOutboundOut(ping), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lastHeard = .now()
        unwrapInboundIn(data).withUnsafeReadableBytes { splitter.append($0) }
        while !isClosed {
            switch splitter.next() {
            case .incomplete: return
            case .tooLong: close(.notARelay(relay: relay), context)
            case .line(let line):
                guard let frame = try? Frame(parsing: line), let response = Response(frame) else {
                    return close(.notARelay(relay: relay), context)
                }
                if case .pong = response { continue }
                onEvent(.response(response, requestID: frame.requestID))
            }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if !isPaused, isFull() { pause(context) }
        context.fireChannelReadComplete()
    }

    /// Stops reading until the waiting events are taken.
    private func pause(_ context: ChannelHandlerContext) {
        isPaused = true
        context.channel.setOption(.autoRead, value: false).whenSuccess { self.resume() }
    }

    private func resume() {
        guard let context, !isClosed else { return }
        guard !isFull() else {
            context.eventLoop.scheduleTask(in: .milliseconds(20)) { self.resume() }
            return
        }
        (isPaused, lastHeard) = (false, .now())
        context.channel.setOption(.autoRead, value: true).whenFailure { _ in }
    }

    func channelInactive(context: ChannelHandlerContext) { close(.lost(relay: relay), context) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        close(error as? ClientError ?? .lost(relay: relay), context)
    }

    private func close(_ reason: ClientError, _ context: ChannelHandlerContext) {
        guard !isClosed else { return }
        isClosed = true
        beat?.cancel()
        beat = nil
        self.context = nil
        onEvent(.closed(reason))
        context.close(promise: nil)
    }
}
