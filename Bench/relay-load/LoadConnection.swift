import Glibc
import NIOCore
import NIOPosix
import SottoDatabase

/// One connection that sends on demand and reports answers.
///
/// Used only on its event loop, which makes `@unchecked Sendable` safe.
final class LoadConnection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Called with the times, in seconds, of sends that were answered.
    var onStored: ([Double]) -> Void = { _ in }
    /// The number of sends without an answer.
    var pending: Int { starts.count - answered }

    private var dialect: any Dialect
    private let ready: EventLoopPromise<Void>
    private var isReady = false
    private var context: ChannelHandlerContext?
    private var received = ByteBuffer()
    private var starts: [Double] = []
    private var answered = 0

    /// Creates a connection that fulfils `ready` when it can send.
    init(_ dialect: any Dialect, ready: EventLoopPromise<Void>) {
        self.dialect = dialect
        self.ready = ready
    }

    /// Sends one message for each of `starts`, the times from which the answers are measured.
    func send(from starts: [Double]) {
        guard let context else { return }
        var out = context.channel.allocator.buffer(capacity: starts.count * 1300)
        for _ in starts { dialect.writeSend(to: &out) }
        self.starts += starts
        context.writeAndFlush(wrapOutboundOut(out), promise: nil)
    }

    func channelActive(context: ChannelHandlerContext) {
        self.context = context
        let opening = ByteBuffer(bytes: dialect.opening())
        context.writeAndFlush(wrapOutboundOut(opening), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var read = unwrapInboundIn(data)
        received.writeBuffer(&read)
        do {
            try take(context)
        } catch {
            fail(error)
        }
        received.discardReadBytes()
    }

    private func take(_ context: ChannelHandlerContext) throws {
        let now = Monotonic.seconds()
        var times: [Double] = []
        while let message = try dialect.message(from: &received) {
            if !isReady {
                if let answer = try dialect.answer(toOpening: message) {
                    let buffer = ByteBuffer(bytes: answer)
                    context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
                } else {
                    isReady = true
                    ready.succeed()
                }
                continue
            }
            guard dialect.isStored(message), pending > 0 else {
                throw LoadError.unexpected(String(buffer: message))
            }
            times.append(now - starts[answered])
            answered += 1
        }
        if answered == starts.count {
            starts.removeAll(keepingCapacity: true)
            answered = 0
        }
        if !times.isEmpty { onStored(times) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.context = nil
        fail(LoadError.unexpected("the connection was closed"))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(error) }

    /// Ends the program: without one of its connections the load would be another one.
    private func fail(_ error: any Error) {
        guard isReady else { return ready.fail(error) }
        print("relay-load: \(error)")
        exit(1)
    }
}

/// Connections that are open and logged in, all on one event loop.
struct Pool {
    /// The number of connections that are opened at once, so that none waits longer than a relay allows.
    private static let atOnce = 100

    let loop: any EventLoop
    let connections: [LoadConnection]

    init(_ target: Target, count: Int) throws {
        Self.raiseDescriptorLimit()
        let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()
        self.loop = loop
        var connections: [LoadConnection] = []
        while connections.count < count {
            let next = (0..<min(Self.atOnce, count - connections.count)).map { _ in
                Self.open(target, loop)
            }
            for future in next { connections.append(try future.wait()) }
        }
        self.connections = connections
    }

    private static func open(
        _ target: Target, _ loop: any EventLoop
    ) -> EventLoopFuture<LoadConnection> {
        let ready = loop.makePromise(of: Void.self)
        let connection = LoadConnection(target.dialect(), ready: ready)
        return ClientBootstrap(group: loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandlers(target.security() + [connection])
                }
            }
            .connect(host: target.host, port: target.port)
            .flatMap { _ in ready.futureResult.map { connection } }
    }

    /// Raises the limit of descriptors, one for each connection; the soft limit is often 1024.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
    }
}
