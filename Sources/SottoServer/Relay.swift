import Dispatch
import Glibc
import NIOCore
import NIOPosix
public import Sotto
import SottoDatabase
import SottoWire
import Synchronization

/// A running relay.
public final class Relay: Sendable {
    private let group: MultiThreadedEventLoopGroup
    private let channel: any Channel
    private let registry: ConnectionRegistry
    private let services: Services
    private let tls: TLSCertificate?
    private let ticks: RepeatedTask
    private let sweeps: RepeatedTask
    let operations: Operations

    /// The address that the relay listens on, `host:port`.
    public let address: String

    /// Opens the store and listens. `onFailure` is called once, from any thread, if the store fails: the process must
    /// then end without sending further replies.
    public static func start(
        _ configuration: RelayConfiguration,
        onFailure: @escaping @Sendable (StoreError) -> Void
    ) throws(RelayError) -> Relay {
        let store: any Store
        do throws(StoreError) {
            var retention = Retention(
                minutes: configuration.ttlDays * 24 * 60,
                mailboxMessages: configuration.mailboxMessages,
                mailboxBytes: configuration.mailboxBytes)
            if !configuration.admission.isOpen {
                retention.strangerMinutes = Retention.strangerMinutes
            }
            store = try StoreLocation(configuration.store).open(retention)
            if configuration.admission.isOpen { try store.clearStrangerFlags() }
        } catch {
            throw .store(error)
        }
        return try Relay(configuration, store: store, onFailure: onFailure)
    }

    init(
        _ configuration: RelayConfiguration, store: any Store,
        onFailure: @escaping @Sendable (StoreError) -> Void
    ) throws(RelayError) {
        let registry = ConnectionRegistry(configuration, descriptors: Self.raiseDescriptorLimit())
        let hasFailed = Atomic(false)
        let services: Services
        do throws(StoreError) {
            services = try Services(configuration, store: store) { error in
                guard !hasFailed.exchange(true, ordering: .relaxed) else { return }
                registry.forEach { $0.abort() }
                onFailure(error)
            }
        } catch {
            throw .store(error)
        }
        (self.registry, self.services) = (registry, services)
        tls = try configuration.tls.map { files throws(RelayError) in try TLSCertificate(files) }
        group = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
        do {
            channel = try Self.listener(
                on: group, services, registry, tls, plain: configuration.plainConnections
            ).bind(host: configuration.listen.host, port: Int(configuration.listen.port)).wait()
        } catch {
            throw .listen(
                address: configuration.listen.name, code: (error as? IOError)?.errnoCode ?? 0)
        }
        services.names.listen(on: channel.localAddress)
        address = RelayNames.name(of: channel.localAddress) ?? configuration.listen.name
        let subscribers = services.subscribers
        let signals = services.signals
        store.watch(
            { subscribers.mailboxes }, onArrival: { subscribers.wake($0) },
            onSignal: { signals.receive($0) })
        let loop = group.next()
        let beat = TimeAmount.milliseconds(Int64(min(0.5, configuration.lineTimeout / 2) * 1000))
        ticks = loop.scheduleRepeatedTask(initialDelay: beat, delay: beat) { _ in
            let now = Monotonic.seconds()
            registry.forEach { $0.tick(now) }
        }
        sweeps = loop.scheduleRepeatedTask(initialDelay: .seconds(0), delay: .minutes(1)) { _ in
            services.writer.sweep()
            services.sweepBlobs()
            services.countDirectory()
        }
        operations = try Operations(
            configuration, group: group, services: services, registry: registry)
    }

    /// Returns the listener that creates a ``ClientConnection`` for each new connection.
    private static func listener(
        on group: MultiThreadedEventLoopGroup, _ services: Services,
        _ registry: ConnectionRegistry, _ tls: TLSCertificate?, plain: PlainConnections
    ) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.socketOption(.so_keepalive), value: 1)
            .childChannelOption(
                .writeBufferWaterMark, value: .init(low: 64 << 10, high: 256 << 10)
            )
            .childChannelInitializer { channel in
                let decision = registry.decide(about: channel.remoteAddress?.ipAddress)
                guard decision != .closed else { return channel.close() }
                let isServed = decision == .served
                let connection = ClientConnection(
                    channel: channel, services: services, isServed: isServed)
                services.policy.counters.add(.connections)
                registry.add(connection)
                channel.closeFuture.whenComplete { _ in registry.remove(connection) }
                return channel.eventLoop.makeCompletedFuture {
                    // The `busy` refusal is written at once, as a line, before the protocol is known.
                    let handler: any ChannelHandler =
                        isServed
                        ? ProtocolDetector(
                            to: connection, tls: tls,
                            acceptsPlain: plain.include(
                                channel.remoteAddress, to: channel.localAddress)) : connection
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
    }

    /// Reads the certificate and its key again. If that fails, it throws and the current ones stay in use.
    public func reloadCertificate() throws(RelayError) { try tls?.reload() }

    /// Replaces the operator's list of ids that may have a mailbox.
    public func replaceMembers(_ list: Set<KeyID>) {
        services.policy.admission.replace(list)
        services.writer.sweep()
    }

    /// The counters so far, as text for the log.
    public var summary: String { services.policy.counters.description }

    /// The minutes that the system's clock is ahead of the newest time in the store and not accepted, negative if it
    /// is behind, or `nil` if it agrees.
    public var clockError: Int64? { services.policy.clock.error }

    /// Shuts down in order: accepts no more connections, finishes the running commit and sends its replies, closes the
    /// connections and the store.
    public func stop() throws(RelayError) {
        operations.stop()
        ticks.cancel()
        sweeps.cancel()
        try? channel.close().wait()
        services.writer.finish()
        registry.forEach { $0.close() }
        waitForConnections(atMost: 2)
        registry.forEach { $0.abort() }
        waitForConnections(atMost: 10)
        // The writer and the reader send their results to the event loops, which must therefore stop after them.
        services.writer.finish()
        services.reader.sync {}
        try? services.verification.syncShutdownGracefully()
        try? services.blobThreads.syncShutdownGracefully()
        try? group.syncShutdownGracefully()
        // The last tasks of the event loops need an open store.
        services.writer.finish()
        services.reader.sync {}
        services.writer.storeClock()
        do throws(StoreError) { try services.store.close() } catch { throw .store(error) }
    }

    /// Waits until all connections have ended, for at most `seconds`.
    private func waitForConnections(atMost seconds: Double) {
        let deadline = Monotonic.seconds() + seconds
        while registry.count > 0, Monotonic.seconds() < deadline { usleep(2_000) }
    }

    /// Raises the limit of descriptors, one for each connection; the soft limit is often 1024. Returns the limit.
    private static func raiseDescriptorLimit() -> Int {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return .max }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
        getrlimit(resource, &limit)
        return Int(clamping: limit.rlim_cur)
    }
}
