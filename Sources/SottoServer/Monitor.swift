import Dispatch
import NIOCore
import NIOHTTP1
import NIOPosix
import SottoNetwork
import SottoWire
import Synchronization

/// A separate port for monitoring: `GET /healthz` and `GET /metrics`.
///
/// It shares only the event loops with the clients' port, so a relay at its connection limit still answers here.
final class Monitor: Sendable {
    /// The most connections at once; the other descriptors are for clients.
    static let connectionLimit = 64

    private let channel: any Channel
    private let worker = MonitorWorker()

    /// The address of the monitor, `host:port`.
    let address: String

    /// Listens on an address, and answers with these metrics.
    init(_ address: RelayURL, group: MultiThreadedEventLoopGroup, metrics: Metrics)
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
                    try pipeline.addHandler(MonitorHandler(metrics: metrics, worker: worker))
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

    /// Stops listening and answering. Afterwards it uses no event loop.
    func stop() {
        try? channel.close().wait()
        worker.stop()
    }
}

/// Reads the metrics on a separate queue: a file system that hangs must not block an event loop.
private final class MonitorWorker: Sendable {
    private let queue = DispatchQueue(label: "relay.monitor")
    private let isStopped = Mutex(false)

    /// Runs `body` on the queue, unless ``stop()`` was called.
    func run(_ body: @escaping @Sendable () -> Void) {
        isStopped.withLock { if !$0 { queue.async(execute: body) } }
    }

    /// Waits at most two seconds for running work, and starts no more.
    func stop() {
        isStopped.withLock { $0 = true }
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        _ = done.wait(timeout: .now() + 2)
    }
}

/// Counts the open connections.
private final class OpenConnections: Sendable {
    private let count = Atomic(0)

    /// Counts a connection while it is open. Returns false if the count is above the limit.
    func add(_ channel: any Channel, limit: Int) -> Bool {
        let isAdmitted = count.add(1, ordering: .relaxed).newValue <= limit
        channel.closeFuture.whenComplete { _ in
            self.count.subtract(1, ordering: .relaxed)
        }
        return isAdmitted
    }
}

/// Answers one request to a ``Monitor``, and closes the connection.
///
/// Used only on its event loop, which makes `@unchecked Sendable` safe.
private final class MonitorHandler: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let metrics: Metrics
    private let worker: MonitorWorker
    private var head: HTTPRequestHead?

    init(metrics: Metrics, worker: MonitorWorker) {
        self.metrics = metrics
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
            return write("only GET and HEAD\n", .methodNotAllowed, to: channel, isHead: false)
        }
        let isHead = head.method == .HEAD
        switch head.uri.prefix(while: { $0 != "?" }) {
        case "/healthz":
            let health = metrics.health
            write(
                health.text + "\n", health == .good ? .ok : .serviceUnavailable, to: channel,
                isHead: isHead)
        case "/metrics":
            let metrics = metrics
            worker.run {
                let text = metrics.text
                channel.eventLoop.execute {
                    self.write(text, .ok, to: channel, isHead: isHead)
                }
            }
        default:
            write("not found; use /healthz or /metrics\n", .notFound, to: channel, isHead: isHead)
        }
    }

    private func write(
        _ text: String, _ status: HTTPResponseStatus, to channel: any Channel, isHead: Bool
    ) {
        let parts = HTTPMessage.response(
            status, type: "text/plain; version=0.0.4; charset=utf-8", ByteBuffer(string: text),
            keepsAlive: false, hasBody: !isHead)
        for part in parts.dropLast() { channel.write(part, promise: nil) }
        channel.writeAndFlush(parts.last!).whenComplete { _ in channel.close(promise: nil) }
    }
}
