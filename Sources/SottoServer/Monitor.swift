import Dispatch
import NIOCore
import NIOHTTP1
import NIOPosix
import SottoWire
import Synchronization

/// A port of its own for whoever watches a relay: `GET /healthz` and `GET /metrics`.
///
/// It shares nothing with the port of the clients but the event loops, so a full relay can still be asked.
final class Monitor: Sendable {
    /// The most connections at once: descriptors are for the clients.
    static let connectionLimit = 64

    private let channel: any Channel
    private let worker = MonitorWorker()

    /// The address that it listens on, `host:port`.
    let address: String

    /// Listens on an address, and answers with these figures.
    init(_ address: RelayURL, group: MultiThreadedEventLoopGroup, figures: Figures)
        throws(RelayError)
    {
        let worker = worker
        let open = OpenConnections()
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                guard open.add(channel, limit: Self.connectionLimit) else {
                    return channel.close()
                }
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
                    try pipeline.addHandler(MonitorHandler(figures: figures, worker: worker))
                    let limit = channel.eventLoop.scheduleTask(in: .seconds(10)) {
                        channel.close(promise: nil)
                    }
                    channel.closeFuture.whenComplete { _ in limit.cancel() }
                }
            }
        do {
            channel = try bootstrap.bind(host: address.host, port: Int(address.port)).wait()
        } catch {
            throw .listen(address: address.name, code: (error as? IOError)?.errnoCode ?? 0)
        }
        self.address = RelayNames.name(of: channel.localAddress) ?? address.name
    }

    /// Stops listening and answering. After this it uses no event loop.
    func stop() {
        try? channel.close().wait()
        worker.stop()
    }
}

/// Reads the metrics on a separate queue: a file system that hangs must not keep an event loop waiting.
private final class MonitorWorker: Sendable {
    private let queue = DispatchQueue(label: "relay.monitor")
    private let isStopped = Mutex(false)

    /// Runs `body` on the queue, unless ``stop()`` was called.
    func run(_ body: @escaping @Sendable () -> Void) {
        isStopped.withLock { if !$0 { queue.async(execute: body) } }
    }

    /// Waits for the work that has begun, at most two seconds, and begins no more.
    func stop() {
        isStopped.withLock { $0 = true }
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        _ = done.wait(timeout: .now() + 2)
    }
}

/// How many connections are open.
private final class OpenConnections: Sendable {
    private let count = Atomic(0)

    /// Counts a connection as long as it is open, unless there are as many as may be.
    func add(_ channel: any Channel, limit: Int) -> Bool {
        let isWelcome = count.add(1, ordering: .relaxed).newValue <= limit
        channel.closeFuture.whenComplete { _ in
            self.count.subtract(1, ordering: .relaxed)
        }
        return isWelcome
    }
}

/// One question to a ``Monitor``, its answer, and the end of the connection.
///
/// Everything in it belongs to its event loop, which is why it may call itself Sendable.
private final class MonitorHandler: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let figures: Figures
    private let worker: MonitorWorker
    private var head: HTTPRequestHead?

    init(figures: Figures, worker: MonitorWorker) {
        self.figures = figures
        self.worker = worker
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body: break
        case .end:
            guard let head else { return }
            self.head = nil
            answer(head, context.channel)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func answer(_ head: HTTPRequestHead, _ channel: any Channel) {
        guard [.GET, .HEAD].contains(head.method) else {
            return write("only GET\n", .methodNotAllowed, to: channel, isHead: false)
        }
        let isHead = head.method == .HEAD
        switch head.uri.prefix(while: { $0 != "?" }) {
        case "/healthz":
            let health = figures.health
            write(
                health.text + "\n", health == .good ? .ok : .serviceUnavailable, to: channel,
                isHead: isHead)
        case "/metrics":
            let figures = figures
            worker.run {
                let text = figures.text
                channel.eventLoop.execute {
                    self.write(text, .ok, to: channel, isHead: isHead)
                }
            }
        default: write("/healthz or /metrics\n", .notFound, to: channel, isHead: isHead)
        }
    }

    private func write(
        _ text: String, _ status: HTTPResponseStatus, to channel: any Channel, isHead: Bool
    ) {
        let headers: HTTPHeaders = [
            "Content-Type": "text/plain; version=0.0.4; charset=utf-8",
            "Content-Length": "\(text.utf8.count)", "Cache-Control": "no-store",
            "Connection": "close",
        ]
        channel.write(
            HTTPServerResponsePart.head(
                HTTPResponseHead(version: .http1_1, status: status, headers: headers)),
            promise: nil)
        if !isHead {
            channel.write(
                HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: text))), promise: nil)
        }
        channel.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { _ in
            channel.close(promise: nil)
        }
    }
}
