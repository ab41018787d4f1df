import NIOCore
import SottoWire

/// Splits received bytes into lines, and closes a connection without a sign of life, see ``LinkPulse``. Reads nothing
/// while too many events wait. Used only on its event loop, so it may be Sendable.
final class LinkHandler: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let relay: String
    private let onEvent: @Sendable (RelayLink.Event) -> Void
    private let isFull: @Sendable () -> Bool
    private var splitter = LineSplitter(limit: WireLimits.responseBytes)
    private var isClosed = false
    private var isPaused = false
    private var pulse: LinkPulse
    private var beat: Scheduled<Void>?
    private var context: ChannelHandlerContext?

    init(
        relay: String, pulse: LinkPulse,
        onEvent: @escaping @Sendable (RelayLink.Event) -> Void,
        isFull: @escaping @Sendable () -> Bool
    ) {
        self.relay = relay
        self.pulse = pulse
        self.onEvent = onEvent
        self.isFull = isFull
    }

    /// Begins on a connection that is open already: the handler of WebSocket is added after the upgrade.
    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard self.context == nil else { return }
        self.context = context
        pulse.heard(at: .now())
        beat(context)
    }

    /// Takes the next step of the pulse, and waits for the one after it. While the reading is paused, silence means
    /// nothing.
    private func beat(_ context: ChannelHandlerContext) {
        if isPaused { pulse.heard(at: .now()) }
        let next: NIODeadline
        switch pulse.step(at: .now()) {
        case .lost: return close(.lost(relay: relay), context)
        case .wait(let time): next = time
        case .ping(let time):
            next = time
            let ping = ByteBuffer(bytes: Request.ping.line(requestID: "ping"))
            context.writeAndFlush(wrapOutboundOut(ping), promise: nil)
        }
        beat = context.eventLoop.scheduleTask(deadline: next) {
            if let context = self.context { self.beat(context) }
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        pulse.heard(at: .now())
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
        isPaused = false
        pulse.heard(at: .now())
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
