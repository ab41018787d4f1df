import Glibc
import NIOCore
import NIOPosix
import SottoWire

/// One connection to a relay: lines go out, events come in, on NIO's thread.
final class RelayLink: Sendable {
    /// What a link tells.
    enum Event: Sendable {
        /// The relay said something.
        case response(Response, requestID: String?)
        /// The connection ended, or the relay said what is no response.
        case closed(ClientError)
    }

    private let channel: any Channel

    private init(channel: any Channel) { self.channel = channel }

    /// The one thread of a client.
    static func makeGroup() -> MultiThreadedEventLoopGroup {
        MultiThreadedEventLoopGroup(numberOfThreads: 1)
    }

    /// Connects within 10 s, and calls `done` with the link or the reason on some thread.
    static func connect(
        to relay: RelayURL, group: MultiThreadedEventLoopGroup,
        onEvent: @escaping @Sendable (Event) -> Void,
        done: @escaping @Sendable (Result<RelayLink, ClientError>) -> Void
    ) {
        let name = relay.description
        ClientBootstrap(group: group)
            .connectTimeout(.seconds(10))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        LinkHandler(relay: name, onEvent: onEvent))
                }
            }
            .connect(host: relay.host, port: Int(relay.port))
            .whenComplete { result in
                switch result {
                case .success(let channel): done(.success(RelayLink(channel: channel)))
                case .failure(let error):
                    done(.failure(.unreachable(relay: name, cause: cause(error))))
                }
            }
    }

    /// Sends lines, which end in line feeds.
    func write(_ lines: [UInt8]) {
        channel.writeAndFlush(ByteBuffer(bytes: lines), promise: nil)
    }

    /// Ends the connection after what was written.
    func close() { channel.close(promise: nil) }

    private static func cause(_ error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            if let first = error.connectionErrors.first { return cause(first.error) }
            return "no such host"
        case let error as IOError:
            var buffer = [CChar](repeating: 0, count: 256)
            strerror_r(error.errnoCode, &buffer, buffer.count)
            let text = buffer.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
            return text.prefix(1).lowercased() + text.dropFirst()
        case ChannelError.connectTimeout: return "no answer within 10 seconds"
        default: return "the connection failed"
        }
    }
}

/// Cuts what comes into lines, and keeps the line alive: a ping each minute, and an end when nothing has
/// come for a minute and a half. It belongs to its event loop, which is why it may call itself Sendable.
private final class LinkHandler: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let relay: String
    private let onEvent: @Sendable (RelayLink.Event) -> Void
    private var splitter = LineSplitter(limit: WireLimits.responseBytes)
    private var isClosed = false
    private var lastHeard = NIODeadline.now()
    private var beat: RepeatedTask?
    private var context: ChannelHandlerContext?

    init(relay: String, onEvent: @escaping @Sendable (RelayLink.Event) -> Void) {
        self.relay = relay
        self.onEvent = onEvent
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
        guard let context else { return }
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

    func channelInactive(context: ChannelHandlerContext) { close(.lost(relay: relay), context) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        close(.lost(relay: relay), context)
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
